// The strip interpreter and its elementary functions, on every tier this CPU runs.
#include "tactics/kernels/fast/program_strip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tactics/kernels/kernel.h"

namespace planwright {
namespace {

struct Tier {
  const char* name;
  bool (*is_strip_program)(const PwInstr*, int);
  StripProgram (*strip_program)(const PwInstr*, int);
  void (*run_strip)(const StripProgram&, const StripOperand*, const float*, const StripOutput*, int, float*);
  void (*run_tile)(const StripProgram&, const StripOperand*, const float*, const StripOutput*, const StripTile&,
                   float*);
};

std::vector<Tier> tiers() {
  std::vector<Tier> list = {{"baseline", tier_baseline::is_strip_program, tier_baseline::strip_program,
                             tier_baseline::run_strip, tier_baseline::run_tile}};
  if (__builtin_cpu_supports("x86-64-v3")) {
    list.push_back(
        {"avx2", tier_avx2::is_strip_program, tier_avx2::strip_program, tier_avx2::run_strip, tier_avx2::run_tile});
  }
  if (__builtin_cpu_supports("x86-64-v4")) {
    list.push_back({"avx512", tier_avx512::is_strip_program, tier_avx512::strip_program, tier_avx512::run_strip,
                    tier_avx512::run_tile});
  }
  return list;
}

PwInstr load(int dst, int operand) {
  PwInstr instr;
  instr.dst = static_cast<uint8_t>(dst);
  instr.operand = static_cast<uint8_t>(operand);
  return instr;
}
PwInstr constant(int dst, double value) {
  PwInstr instr;
  instr.op = PwOp::kConst;
  instr.dst = static_cast<uint8_t>(dst);
  instr.imm_f = value;
  return instr;
}
PwInstr compute(PwOp op, int dst, int a, int b = 0, int c = 0) {
  PwInstr instr;
  instr.op = op;
  instr.dst = static_cast<uint8_t>(dst);
  instr.a = static_cast<uint8_t>(a);
  instr.b = static_cast<uint8_t>(b);
  instr.c = static_cast<uint8_t>(c);
  return instr;
}
PwInstr store(int output, int a) {
  PwInstr instr = compute(PwOp::kStore, 0, a);
  instr.operand = static_cast<uint8_t>(output);
  return instr;
}

class Registers {
 public:
  Registers() : bytes_(kStripRegisterBytes / sizeof(float) + 16) {}
  float* get() {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + ((64 - address % 64) % 64) / sizeof(float);
  }

 private:
  std::vector<float> bytes_;
};

std::vector<float> run(const Tier& tier, const std::vector<PwInstr>& program,
                       const std::vector<std::vector<float>>& inputs, int length) {
  const StripProgram strip = tier.strip_program(program.data(), static_cast<int>(program.size()));
  std::vector<StripOperand> operands;
  for (const auto& input : inputs) operands.push_back({input.data(), input.size() == 1 ? 0 : 1});
  // A canary behind the strip.
  std::vector<float> result(static_cast<size_t>(length) + 1, 12345.0f);
  const StripOutput output = {result.data(), 1};
  Registers registers;
  tier.run_strip(strip, operands.data(), nullptr, &output, length, registers.get());
  EXPECT_EQ(result.back(), 12345.0f) << tier.name;
  result.pop_back();
  return result;
}

std::vector<float> run1(const Tier& tier, PwOp op, const std::vector<float>& x) {
  std::vector<float> result;
  for (size_t at = 0; at < x.size(); at += kStripLength) {
    const std::vector<float> part(x.begin() + static_cast<ptrdiff_t>(at),
                                  x.begin() + static_cast<ptrdiff_t>(std::min(x.size(), at + kStripLength)));
    const auto y = run(tier, {load(0, 0), compute(op, 1, 0), store(0, 1)}, {part}, static_cast<int>(part.size()));
    result.insert(result.end(), y.begin(), y.end());
  }
  return result;
}

// |got - want| in units of the last place of `want` (of the smallest normal number near zero).
double ulps(float got, double want) {
  const float nearest = static_cast<float>(want);
  if (got == nearest || (std::isnan(got) && std::isnan(nearest))) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return 1e9;
  const double magnitude = std::max(std::abs(want), static_cast<double>(std::numeric_limits<float>::min()));
  return std::abs(got - want) / std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

struct Function {
  PwOp op;
  double (*exact)(double);
  float low, high;
  double bound;
};

TEST(StripTest, FunctionsStayWithinTheirErrorBounds) {
  const Function functions[] = {
      {PwOp::kExp, [](double x) { return std::exp(x); }, -104.5f, 89.5f, 2.0},
      {PwOp::kLog, [](double x) { return std::log(x); }, 0.0f, 10.0f, 2.0},
      {PwOp::kErf, [](double x) { return std::erf(x); }, -4.5f, 4.5f, 2.0},
      {PwOp::kTanh, [](double x) { return std::tanh(x); }, -10.0f, 10.0f, 2.5},
      {PwOp::kSigmoid, [](double x) { return 1.0 / (1.0 + std::exp(-x)); }, -87.0f, 20.0f, 3.0},
  };
  for (const Tier& tier : tiers()) {
    for (const Function& f : functions) {
      std::vector<float> x;
      for (int i = 0; i <= 200000; ++i) x.push_back(f.low + (f.high - f.low) * (static_cast<float>(i) / 200000.0f));
      // And over all magnitudes.
      for (uint32_t bits = 0; bits < 0x7f800000u; bits += 65521) {
        float value;
        std::memcpy(&value, &bits, 4);
        x.push_back(value);
        if (f.low < 0) x.push_back(-value);
      }
      const std::vector<float> y = run1(tier, f.op, x);
      double worst = 0, at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        // Below 2^-126 a sigmoid is 0 here.
        if (f.op == PwOp::kSigmoid && x[i] < -87.0f) continue;
        const double error = ulps(y[i], f.exact(static_cast<double>(x[i])));
        if (error > worst) worst = error, at = x[i];
      }
      EXPECT_LE(worst, f.bound) << tier.name << " op " << static_cast<int>(f.op) << " at " << at;
    }
  }
}

TEST(StripTest, FunctionsKeepInfinitiesAndNan) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {inf, -inf, nan, 0.0f, -0.0f, -1.0f, 200.0f, -200.0f, 1e-40f};
  const std::pair<PwOp, float (*)(float)> functions[] = {
      {PwOp::kExp, std::exp},
      {PwOp::kLog, std::log},
      {PwOp::kErf, std::erf},
      {PwOp::kTanh, std::tanh},
      {PwOp::kSigmoid, [](float v) { return 1.0f / (1.0f + std::exp(-v)); }},
      {PwOp::kSqrt, std::sqrt},
      {PwOp::kFloor, std::floor},
      {PwOp::kCeil, std::ceil},
      {PwOp::kRoundEven, std::nearbyint},
      {PwOp::kAbs, std::fabs},
      {PwOp::kSign, [](float v) { return v > 0   ? 1.0f
                                         : v < 0 ? -1.0f
                                                 : v; }},
      {PwOp::kReciprocal, [](float v) { return 1.0f / v; }},
      {PwOp::kNeg, [](float v) { return -v; }},
      {PwOp::kIsNan, [](float v) { return std::isnan(v) ? 1.0f : 0.0f; }},
      {PwOp::kNot, [](float v) { return v == 0 ? 1.0f : 0.0f; }},
      {PwOp::kAtan, std::atan},
      {PwOp::kSinh, std::sinh},
  };
  for (const Tier& tier : tiers()) {
    for (const auto& [op, exact] : functions) {
      const std::vector<float> y = run1(tier, op, x);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_LE(ulps(y[i], exact(x[i])), 2)
            << tier.name << " op " << static_cast<int>(op) << " of " << x[i] << ": " << y[i];
      }
    }
  }
}

TEST(StripTest, BinaryOperatorsFollowTheCLibrary) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1.5f, -7.0f, nan,  3.0f, 0.0f, 2.0f, -5.5f, 7.0f, 1.0f,
                                0.0f, 4.0f,  9.0f, 2.0f, 1.0f, 2.0f, 3.0f,  8.0f};
  const std::vector<float> b = {0.5f, 3.0f, 1.0f, nan,  5.0f, 2.0f, 2.0f, -3.0f, 0.0f,
                                0.0f, 0.5f, 2.0f, 3.0f, 1.0f, 4.0f, 9.0f, 3.0f};
  const std::pair<PwOp, float (*)(float, float)> functions[] = {
      {PwOp::kAdd, [](float x, float y) { return x + y; }},
      {PwOp::kSub, [](float x, float y) { return x - y; }},
      {PwOp::kMul, [](float x, float y) { return x * y; }},
      {PwOp::kDiv, [](float x, float y) { return x / y; }},
      {PwOp::kMin, [](float x, float y) { return std::isnan(x)   ? x
                                                 : std::isnan(y) ? y
                                                                 : std::fmin(x, y); }},
      {PwOp::kMax, [](float x, float y) { return std::isnan(x)   ? x
                                                 : std::isnan(y) ? y
                                                                 : std::fmax(x, y); }},
      {PwOp::kPow, std::pow},
      {PwOp::kModTrunc, std::fmod},
      {PwOp::kModFloor, [](float x, float y) { return y == 0 ? std::fmod(x, y) : x - y * std::floor(x / y); }},
      {PwOp::kEqual, [](float x, float y) { return x == y ? 1.0f : 0.0f; }},
      {PwOp::kLess, [](float x, float y) { return x < y ? 1.0f : 0.0f; }},
      {PwOp::kLessEqual, [](float x, float y) { return x <= y ? 1.0f : 0.0f; }},
      {PwOp::kAnd, [](float x, float y) { return x != 0 && y != 0 ? 1.0f : 0.0f; }},
      {PwOp::kOr, [](float x, float y) { return x != 0 || y != 0 ? 1.0f : 0.0f; }},
      {PwOp::kXor, [](float x, float y) { return (x != 0) != (y != 0) ? 1.0f : 0.0f; }},
  };
  for (const Tier& tier : tiers()) {
    for (const auto& [op, exact] : functions) {
      const auto y = run(tier, {load(0, 0), load(1, 1), compute(op, 2, 0, 1), store(0, 2)}, {a, b}, 17);
      for (size_t i = 0; i < a.size(); ++i) {
        const float want = exact(a[i], b[i]);
        EXPECT_TRUE(y[i] == want || (std::isnan(y[i]) && std::isnan(want)))
            << tier.name << " op " << static_cast<int>(op) << " of " << a[i] << ", " << b[i] << ": " << y[i];
      }
    }
  }
}

TEST(StripTest, IsInfTellsTheSigns) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Tier& tier : tiers()) {
    for (int signs = 0; signs < 4; ++signs) {
      PwInstr is_inf = compute(PwOp::kIsInf, 1, 0);
      is_inf.operand = static_cast<uint8_t>(signs);
      const auto y = run(tier, {load(0, 0), is_inf, store(0, 1)}, {{inf, -inf, 1.0f}}, 3);
      EXPECT_EQ(y, (std::vector<float>{signs & 1 ? 1.0f : 0.0f, signs & 2 ? 1.0f : 0.0f, 0.0f})) << tier.name;
    }
  }
}

// silu(x * scale + bias) with a broadcast scale, at every length, so that all tails are seen.
TEST(StripTest, EveryLengthAndBroadcast) {
  const std::vector<PwInstr> program = {load(0, 0),
                                        load(1, 1),
                                        load(2, 2),
                                        compute(PwOp::kMulAdd, 3, 0, 1, 2),
                                        compute(PwOp::kSigmoid, 4, 3),
                                        compute(PwOp::kMul, 0, 3, 4),
                                        constant(1, 2.0),
                                        compute(PwOp::kMul, 2, 1, 1),
                                        compute(PwOp::kAdd, 0, 0, 2),
                                        store(0, 0)};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-4, 4);
  for (const Tier& tier : tiers()) {
    ASSERT_TRUE(tier.is_strip_program(program.data(), static_cast<int>(program.size())));
    for (int length = 1; length <= kStripLength; length += length < 70 ? 1 : 31) {
      std::vector<float> x(static_cast<size_t>(length)), bias(static_cast<size_t>(length));
      for (float& v : x) v = uniform(random);
      for (float& v : bias) v = uniform(random);
      const auto y = run(tier, program, {x, {0.75f}, bias}, length);
      for (size_t i = 0; i < x.size(); ++i) {
        const double t = static_cast<double>(x[i]) * 0.75 + bias[i];
        EXPECT_NEAR(y[i], t / (1 + std::exp(-t)) + 4, 3e-6) << tier.name << " length " << length;
      }
    }
  }
}

TEST(StripTest, StridedOperandsAndOutputs) {
  for (const Tier& tier : tiers()) {
    std::vector<float> x(300), y(200, -1.0f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const std::vector<PwInstr> program = {load(0, 0), compute(PwOp::kNeg, 1, 0), store(0, 1)};
    const StripOperand operand = {x.data(), 3};
    const StripOutput output = {y.data(), 2};
    Registers registers;
    tier.run_strip(tier.strip_program(program.data(), 3), &operand, nullptr, &output, 100, registers.get());
    for (size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(y[2 * i], -x[3 * i]) << tier.name;
      EXPECT_EQ(y[2 * i + 1], -1.0f) << tier.name;
    }
  }
}

// Two outputs, the first in place of the operand that the second still needs.
TEST(StripTest, OutputInPlaceOfAnOperandReadLater) {
  for (const Tier& tier : tiers()) {
    std::vector<float> x(64), y(64);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const std::vector<PwInstr> program = {load(0, 0), compute(PwOp::kNeg, 1, 0), store(0, 1), store(1, 0)};
    const StripOperand operand = {x.data(), 1};
    const StripOutput outputs[] = {{x.data(), 1}, {y.data(), 1}};
    Registers registers;
    tier.run_strip(tier.strip_program(program.data(), 4), &operand, nullptr, outputs, 64, registers.get());
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(x[i], -static_cast<float>(i)) << tier.name;
      EXPECT_EQ(y[i], static_cast<float>(i)) << tier.name;
    }
  }
}

// The strip was written over the constant's vector while it was still being read.
TEST(StripTest, ResultInTheRegisterOfAConstantOperand) {
  for (const Tier& tier : tiers()) {
    const std::vector<float> x(kStripLength, 1.0f);
    const auto y =
        run(tier, {load(0, 0), constant(1, 3), compute(PwOp::kAdd, 1, 0, 1), store(0, 1)}, {x}, kStripLength);
    EXPECT_EQ(y, std::vector<float>(kStripLength, 4.0f)) << tier.name;
  }
}

TEST(StripTest, AnEmptyProgramStoresTheAccumulator) {
  for (const Tier& tier : tiers()) {
    std::vector<float> accumulator(64), y(40, -1.0f);
    for (size_t i = 0; i < accumulator.size(); ++i) accumulator[i] = static_cast<float>(i);
    const StripOutput output = {y.data(), 1};
    Registers registers;
    tier.run_strip(tier.strip_program(nullptr, 0), nullptr, accumulator.data(), &output, 40, registers.get());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], accumulator[i]) << tier.name;
  }
}

TEST(StripTest, AccumulatorIsRead) {
  for (const Tier& tier : tiers()) {
    PwInstr acc = compute(PwOp::kAcc, 0, 0);
    const std::vector<PwInstr> program = {acc, constant(1, 0.0), compute(PwOp::kMax, 2, 0, 1), store(0, 2)};
    alignas(64) float sums[32];
    for (int i = 0; i < 32; ++i) sums[i] = static_cast<float>(i - 10);
    std::vector<float> y(20, 99.0f);
    const StripOutput output = {y.data(), 1};
    Registers registers;
    tier.run_strip(tier.strip_program(program.data(), 4), nullptr, sums, &output, 19, registers.get());
    for (int i = 0; i < 19; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], std::max(0.0f, sums[i])) << tier.name;
    EXPECT_EQ(y[19], 99.0f) << tier.name;
  }
}

// acc + bias + residual over a tile of rows that lie apart, as an epilogue sees them.
TEST(StripTest, TileOfRows) {
  constexpr int kRows = 5, kPitch = 32;
  for (const Tier& tier : tiers()) {
    for (int columns = 17; columns <= kPitch; ++columns) {
      const PwInstr acc = compute(PwOp::kAcc, 0, 0);
      const std::vector<PwInstr> program = {
          acc, load(1, 0), compute(PwOp::kAdd, 2, 0, 1), load(3, 1), compute(PwOp::kAdd, 4, 2, 3), store(0, 4)};
      alignas(64) float sums[kRows * kPitch];
      for (int i = 0; i < kRows * kPitch; ++i) sums[i] = static_cast<float>(i);
      std::vector<float> bias(static_cast<size_t>(columns)), x(kRows * 100), y(kRows * 200, -1.0f);
      for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(1000 * i);
      for (size_t i = 0; i < x.size(); ++i) x[i] = 0.5f + static_cast<float>(i % 7);
      const float* rows[kRows];
      float* out[kRows];
      for (int r = 0; r < kRows; ++r)
        rows[r] = &x[static_cast<size_t>(r * 100)], out[r] = &y[static_cast<size_t>(r * 200)];
      const StripOperand operands[] = {{bias.data(), 1}, {nullptr, 1, rows, 3}};
      const StripOutput output = {nullptr, 1, out, 2};
      Registers registers;
      tier.run_tile(tier.strip_program(program.data(), 6), operands, sums, &output, {kRows, columns, kPitch},
                    registers.get());
      for (int r = 0; r < kRows; ++r) {
        EXPECT_EQ(out[r][1], -1.0f);
        EXPECT_EQ(out[r][columns + 2], -1.0f);
        for (int i = 0; i < columns; ++i) {
          EXPECT_EQ(out[r][i + 2], sums[r * kPitch + i] + bias[static_cast<size_t>(i)] + rows[r][i + 3]) << tier.name;
        }
      }
    }
  }
}

TEST(StripTest, RefusesWhatIsNotFloat) {
  PwInstr integer = compute(PwOp::kAdd, 0, 0, 0);
  integer.type = PwClass::kInt;
  const PwInstr shift = compute(PwOp::kShiftLeft, 0, 0, 0);
  PwInstr half = compute(PwOp::kNarrow, 0, 0);
  half.operand = static_cast<uint8_t>(DType::kF16);
  for (const Tier& tier : tiers()) {
    EXPECT_FALSE(tier.is_strip_program(&integer, 1)) << tier.name;
    EXPECT_FALSE(tier.is_strip_program(&shift, 1)) << tier.name;
    EXPECT_FALSE(tier.is_strip_program(&half, 1)) << tier.name;
  }
}

}  // namespace
}  // namespace planwright
