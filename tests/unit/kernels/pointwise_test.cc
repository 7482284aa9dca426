// Pointwise kernels: programs that are interpreted, run as straight code, or mix types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/kernel_generator.h"

namespace planwright::testing {
namespace {

KernelCase pointwise(Rng& rng) {
  const Dims out = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 300)};
  const auto operand = [&] {
    Dims dims = out;
    for (int64_t& dim : dims) dim = random_int(rng, 0, 2) == 0 ? 1 : dim;
    return TestTensor::random(rng, DType::kF32, dims, random_strides(rng, dims));
  };
  KernelCase c;
  c.op = OpKind::kPointwise;
  c.outputs = {TestTensor(DType::kF32, out, random_strides(rng, out))};
  c.with_program({pw_load(0, 0), pw_load(1, 1), pw_load(2, 2), pw_compute(PwOp::kMul, 3, 0, 1),
                  pw_compute(PwOp::kAdd, 4, 3, 2), pw_compute(PwOp::kTanh, 5, 4), pw_store(0, 5)},
                 {operand(), operand(), operand()});
  return c;
}

// The programs that straight code runs, and some that it nearly does; an operand may be NaN.
KernelCase straight_pointwise(Rng& rng) {
  const Dims out = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 30)};
  const auto operand = [&] {
    Dims dims = out;
    for (int64_t& dim : dims) dim = random_int(rng, 0, 3) == 0 ? 1 : dim;
    TestTensor tensor = TestTensor::random(rng, DType::kF32, dims, image_strides(rng, dims), -4, 4);
    tensor.map([&](double x) { return random_int(rng, 0, 30) == 0 ? std::nan("") : x; });
    return tensor;
  };
  const PwOp ops[] = {PwOp::kAdd, PwOp::kSub, PwOp::kMul};
  std::vector<PwInstr> program = {pw_load(0, 0), pw_load(1, 1), pw_load(2, 2), pw_const(3, -1), pw_const(4, 2)};
  int value = 0;
  for (int next = 1; next <= 2 && coin(rng); ++next) {
    const bool swapped = coin(rng);
    program.push_back(pw_compute(ops[random_int(rng, 0, 2)], 5, swapped ? next : value, swapped ? value : next));
    value = 5;
  }
  if (value == 0 && coin(rng)) {
    program.push_back(pw_compute(PwOp::kMulAdd, 5, 0, 1, 2));
    value = 5;
  }
  for (int i = 0; i < 2 && coin(rng); ++i) {
    const bool is_max = coin(rng);
    program.push_back(pw_compute(is_max ? PwOp::kMax : PwOp::kMin, 6, value, is_max ? 3 : 4));
    value = 6;
  }
  program.push_back(pw_store(0, value));
  KernelCase c;
  c.op = OpKind::kPointwise;
  c.outputs = {TestTensor(DType::kF32, out, image_strides(rng, out))};
  return c.with_program(program, {operand(), operand(), operand()});
}

// Random instructions on registers of three classes, loaded from and stored to random types.
class RandomProgram {
 public:
  RandomProgram(Rng& rng, const Dims& dims) : rng_(rng), dims_(dims) {
    for (int i = 0; i < 3; ++i) load();
    for (int i = 0; i < 8; ++i) compute();
    for (int i = 0; i < 2; ++i) store(i);
  }

  KernelCase take() {
    KernelCase c = KernelCase::of(OpKind::kPointwise, {}, outputs_);
    return c.with_program(program_, operands_);
  }

 private:
  static constexpr DType kTypes[] = {DType::kF32, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                                     DType::kU8,  DType::kU16, DType::kU32, DType::kU64, DType::kBool};
  struct Value {
    int index;
    PwClass type;
  };

  DType random_type() { return kTypes[random_int(rng_, 0, 9)]; }
  int next() { return static_cast<int>(values_.size()); }
  const Value& any() { return values_[static_cast<size_t>(random_int(rng_, 0, next() - 1))]; }

  // Any register in the class; what is not is converted.
  int any_as(PwClass type) {
    const Value value = any();
    if (value.type == type) return value.index;
    PwInstr convert = pw_compute(PwOp::kConvert, next(), value.index, 0, 0, type);
    convert.from = value.type;
    return add(convert);
  }
  int add(const PwInstr& instr) {
    program_.push_back(instr);
    values_.push_back({instr.dst, instr.type});
    return instr.dst;
  }

  void load() {
    const DType type = random_type();
    Dims dims = dims_;
    for (int64_t& dim : dims) dim = coin(rng_) ? dim : 1;
    operands_.push_back(
        TestTensor::random(rng_, type, dims, random_strides(rng_, dims), is_unsigned(type) ? 0 : -3, 3));
    add(pw_load(next(), static_cast<int>(operands_.size()) - 1, class_of(type)));
  }
  void compute() {
    const PwOp everywhere[] = {PwOp::kNeg,      PwOp::kAbs,   PwOp::kSign,  PwOp::kNot,       PwOp::kAdd,
                               PwOp::kSub,      PwOp::kMul,   PwOp::kMin,   PwOp::kMax,       PwOp::kModTrunc,
                               PwOp::kModFloor, PwOp::kEqual, PwOp::kLess,  PwOp::kLessEqual, PwOp::kAnd,
                               PwOp::kOr,       PwOp::kXor,   PwOp::kSelect};
    const PwOp integers[] = {PwOp::kDiv,    PwOp::kBitNot, PwOp::kBitAnd,    PwOp::kBitOr,
                             PwOp::kBitXor, PwOp::kMulAdd, PwOp::kShiftLeft, PwOp::kShiftRight};
    const PwClass type = any().type;
    if (random_int(rng_, 0, 5) == 0) {
      add(pw_const(next(), static_cast<double>(random_int(rng_, type == PwClass::kUint ? 0 : -2, 3)), type));
      return;
    }
    const bool of_integers = type != PwClass::kFloat && random_int(rng_, 0, 2) == 0;
    const PwOp op = of_integers ? integers[random_int(rng_, 0, 7)] : everywhere[random_int(rng_, 0, 17)];
    const int a = any_as(type), b = any_as(type), c = any_as(type);
    // Now and then over an operand.
    const int dst = coin(rng_) ? next() : a;
    program_.push_back(pw_compute(op, dst, a, b, c, type));
    if (dst != a) values_.push_back({dst, type});
  }
  void store(int output) {
    const DType type = random_type();
    const int value = any_as(class_of(type));
    program_.push_back(pw_store(output, value, class_of(type)));
    outputs_.emplace_back(type, dims_, random_strides(rng_, dims_));
  }

  Rng& rng_;
  Dims dims_;
  std::vector<PwInstr> program_;
  std::vector<Value> values_;
  std::vector<TestTensor> operands_, outputs_;
};

KernelCase mixed_pointwise(Rng& rng) {
  while (true) {
    const KernelCase c =
        RandomProgram(rng, {random_int(rng, 1, 4), random_int(rng, 1, 300), random_int(rng, 1, 5)}).take();
    if (std::all_of(c.program.begin(), c.program.end(), [](const PwInstr& i) { return i.dst < kMaxPwRegisters; })) {
      return c;
    }
  }
}

// They read bytes, shorts and words as C++ numbers, which elements of these types are not.
TEST(PointwiseTypes, MinifloatsAndSubByteIntegersAreTheReferences) {
  for (int i = static_cast<int>(DType::kF8E4M3FN); i < kDTypeCount; ++i) {
    const DType type = static_cast<DType>(i);
    const PwClass held = class_of(type);
    const DType wide = held == PwClass::kFloat ? DType::kF32 : held == PwClass::kInt ? DType::kI64 : DType::kU64;
    const auto conversion = [&](DType from, DType to, bool narrows) {
      KernelCase c;
      c.op = OpKind::kPointwise;
      c.outputs = {TestTensor(to, {4})};
      std::vector<PwInstr> program = {pw_load(0, 0, held), pw_compute(PwOp::kNeg, 0, 0, 0, 0, held)};
      if (narrows) {
        program.push_back(pw_compute(PwOp::kNarrow, 0, 0, 0, 0, held));
        program.back().operand = static_cast<uint8_t>(type);
      }
      program.push_back(pw_store(0, 0, held));
      c.with_program(program, {TestTensor::of(from, {4}, {1, 0, 1, 0})});
      return c;
    };
    for (const KernelCase& c :
         {conversion(type, wide, false), conversion(wide, type, false), conversion(wide, wide, true)}) {
      for (const KernelDescriptor* kernel : kernels_of(OpKind::kPointwise)) {
        EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported) << kernel->name << ": " << name_of(type);
      }
    }
  }
}

class Pointwise : public ::testing::TestWithParam<Generator> {};

TEST_P(Pointwise, AgreeWithTheReferenceOnRandomCases) { expect_agreement_on_random_cases(GetParam()); }
TEST_P(Pointwise, StayInBoundsOnHostileCases) { expect_hostile_cases_stay_in_bounds(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Programs, Pointwise,
    ::testing::Values(Generator{"Interpreted", OpKind::kPointwise, pointwise, {1e-6, 1e-6, 0}, {"pointwise_f32"}},
                      Generator{"Straight", OpKind::kPointwise, straight_pointwise, {1e-6, 1e-6, 0}, {"pointwise_f32"}},
                      Generator{"Mixed", OpKind::kPointwise, mixed_pointwise, {}, {"pointwise_mixed"}}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace planwright::testing
