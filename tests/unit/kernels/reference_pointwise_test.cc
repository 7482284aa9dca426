// The scalar evaluator of programs, through the reference Pointwise kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tactics/kernels/registry.h"
#include "tests/support/kernel_harness.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::KernelCase;
using testing::pw_compute;
using testing::pw_const;
using testing::pw_load;
using testing::pw_store;
using testing::TestTensor;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

DType type_of(PwClass type) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kI64, DType::kU64};
  return kTypes[static_cast<int>(type)];
}

TestTensor list(DType type, const std::vector<double>& elements) {
  return TestTensor::of(type, {static_cast<int64_t>(elements.size())}, elements);
}

// op(a[i]) or op(a[i], b[i]) in class `type`.
std::vector<double> compute(PwOp op, PwClass type, const std::vector<double>& a, const std::vector<double>& b = {},
                            int operand = 0) {
  const DType dtype = type_of(type);
  std::vector<TestTensor> operands = {list(dtype, a)};
  std::vector<PwInstr> program = {pw_load(0, 0, type)};
  if (!b.empty()) {
    operands.push_back(list(dtype, b));
    program.push_back(pw_load(1, 1, type));
  }
  PwInstr instr = pw_compute(op, 2, 0, 1, 0, type);
  instr.operand = static_cast<uint8_t>(operand);
  program.push_back(instr);
  program.push_back(pw_store(0, 2, type));
  KernelCase c = KernelCase::of(OpKind::kPointwise, {}, {TestTensor(dtype, {static_cast<int64_t>(a.size())})});
  c.with_program(program, operands);
  EXPECT_TRUE(run_kernel(reference_kernel(OpKind::kPointwise), c).ok()) << last_error();
  return c.outputs[0].elements();
}

// Elements of `from` loaded in class `type` and stored as `to`.
std::vector<double> convert(DType from, PwClass type, DType to, const std::vector<double>& elements) {
  KernelCase c = KernelCase::of(OpKind::kPointwise, {}, {TestTensor(to, {static_cast<int64_t>(elements.size())})});
  c.with_program({pw_load(0, 0, type), pw_store(0, 0, type)}, {list(from, elements)});
  EXPECT_TRUE(run_kernel(reference_kernel(OpKind::kPointwise), c).ok()) << last_error();
  return c.outputs[0].elements();
}

void expect_same(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "at " << i << ": " << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected[i]) << "at " << i;
    }
  }
}

TEST(ReferencePointwise, FloatArithmetic) {
  expect_same(compute(PwOp::kAdd, PwClass::kFloat, {1, -2, kInf}, {0.5, 2, -kInf}), {1.5, 0, kNan});
  expect_same(compute(PwOp::kDiv, PwClass::kFloat, {1, -1, 0}, {0, 0, 0}), {kInf, -kInf, kNan});
  expect_same(compute(PwOp::kMin, PwClass::kFloat, {1, kNan, 3}, {2, 1, kNan}), {1, kNan, kNan});
  expect_same(compute(PwOp::kMax, PwClass::kFloat, {1, kNan, 3}, {2, 1, kNan}), {2, kNan, kNan});
  expect_same(compute(PwOp::kModFloor, PwClass::kFloat, {5.5, -5.5, 5.5, -5.5}, {3, 3, -3, -3}),
              {2.5, 0.5, -0.5, -2.5});
  expect_same(compute(PwOp::kModTrunc, PwClass::kFloat, {5.5, -5.5, 5.5, -5.5}, {3, 3, -3, -3}),
              {2.5, -2.5, 2.5, -2.5});
  expect_same(compute(PwOp::kRoundEven, PwClass::kFloat, {0.5, 1.5, 2.5, -0.5, -1.5}), {0, 2, 2, 0, -2});
  expect_same(compute(PwOp::kSign, PwClass::kFloat, {-3, 0, 7, kNan}), {-1, 0, 1, kNan});
  expect_same(compute(PwOp::kIsNan, PwClass::kFloat, {kNan, kInf, 0}), {1, 0, 0});
}

TEST(ReferencePointwise, InfinitiesAreCountedByTheirSign) {
  expect_same(compute(PwOp::kIsInf, PwClass::kFloat, {kInf, -kInf, 1}, {}, 3), {1, 1, 0});
  expect_same(compute(PwOp::kIsInf, PwClass::kFloat, {kInf, -kInf, 1}, {}, 1), {1, 0, 0});
  expect_same(compute(PwOp::kIsInf, PwClass::kFloat, {kInf, -kInf, 1}, {}, 2), {0, 1, 0});
}

TEST(ReferencePointwise, FunctionsAreRoundedOnce) {
  const std::vector<std::pair<PwOp, double (*)(double)>> functions = {
      {PwOp::kSqrt, std::sqrt},   {PwOp::kExp, std::exp},   {PwOp::kErf, std::erf},     {PwOp::kTanh, std::tanh},
      {PwOp::kSin, std::sin},     {PwOp::kCos, std::cos},   {PwOp::kTan, std::tan},     {PwOp::kAtan, std::atan},
      {PwOp::kSinh, std::sinh},   {PwOp::kCosh, std::cosh}, {PwOp::kAsinh, std::asinh}, {PwOp::kLog, std::log},
      {PwOp::kAsin, std::asin},   {PwOp::kAcos, std::acos}, {PwOp::kAtanh, std::atanh}, {PwOp::kAcosh, std::acosh},
      {PwOp::kFloor, std::floor}, {PwOp::kCeil, std::ceil},
  };
  for (const auto& [op, function] : functions) {
    for (const float x : {0.0f, 0.3f, -0.7f, 1.0f, 4.25f}) {
      const float expected = static_cast<float>(function(static_cast<double>(x)));
      SCOPED_TRACE(std::string(name_of(op)) + " of " + std::to_string(x));
      expect_same(compute(op, PwClass::kFloat, {x}), {expected});
    }
  }
  expect_same(compute(PwOp::kSigmoid, PwClass::kFloat, {0, 100, -1000}), {0.5, 1, 0});
}

TEST(ReferencePointwise, IntegersWrapAndDivideTowardZero) {
  const double least = -0x1p63;
  expect_same(compute(PwOp::kSub, PwClass::kInt, {least}, {1}), {0x1p63});  // 2^63 - 1 rounds up in a double
  expect_same(compute(PwOp::kDiv, PwClass::kInt, {7, -7, 7, -7, 5, least}, {2, 2, -2, -2, 0, -1}),
              {3, -3, -3, 3, 0, least});
  expect_same(compute(PwOp::kModTrunc, PwClass::kInt, {7, -7, 7, 5, least}, {3, 3, -3, 0, -1}), {1, -1, 1, 0, 0});
  expect_same(compute(PwOp::kModFloor, PwClass::kInt, {7, -7, 7, -7}, {3, 3, -3, -3}), {1, 2, -2, -1});
  expect_same(compute(PwOp::kAbs, PwClass::kInt, {-5, 5, least}), {5, 5, least});
  expect_same(compute(PwOp::kDiv, PwClass::kUint, {7, 9}, {2, 0}), {3, 0});
  expect_same(compute(PwOp::kPow, PwClass::kInt, {3, -2, 2, 1, -1, 5}, {4, 3, -1, -7, -3, 0}), {81, -8, 0, 1, -1, 1});
}

TEST(ReferencePointwise, ShiftsPastTheWidthGiveZero) {
  expect_same(compute(PwOp::kShiftLeft, PwClass::kUint, {1, 1, 1}, {3, 63, 64}), {8, 0x1p63, 0});
  expect_same(compute(PwOp::kShiftRight, PwClass::kUint, {256, 0x1p63, 1}, {4, 63, 200}), {16, 1, 0});
  expect_same(compute(PwOp::kBitXor, PwClass::kUint, {12}, {10}), {6});
  expect_same(compute(PwOp::kBitNot, PwClass::kInt, {0, -1}), {-1, 0});
}

TEST(ReferencePointwise, ComparisonsAndLogicGiveOnesAndZeros) {
  expect_same(compute(PwOp::kLess, PwClass::kFloat, {1, 2, kNan}, {2, 2, 1}), {1, 0, 0});
  expect_same(compute(PwOp::kLessEqual, PwClass::kFloat, {1, 2, 3}, {2, 2, 2}), {1, 1, 0});
  expect_same(compute(PwOp::kEqual, PwClass::kInt, {1, 2}, {2, 2}), {0, 1});
  expect_same(compute(PwOp::kAnd, PwClass::kFloat, {0, 5, -1}, {1, 0, 2}), {0, 0, 1});
  expect_same(compute(PwOp::kXor, PwClass::kFloat, {0, 5, 5}, {1, 0, 2}), {1, 1, 0});
  expect_same(compute(PwOp::kNot, PwClass::kUint, {0, 3}), {1, 0});
}

TEST(ReferencePointwise, StoresRoundFloatsToNearestEvenAndWrapIntegers) {
  expect_same(convert(DType::kF32, PwClass::kFloat, DType::kBF16, {1 + 0x1p-8, 1 + 0x3p-8, 1 + 0x1p-8 + 0x1p-20}),
              {1, 1 + 0x1p-6, 1 + 0x1p-7});
  expect_same(convert(DType::kF32, PwClass::kFloat, DType::kF16, {65519, 65520, 0x1p-25, 0x1.8p-25}),
              {65504, kInf, 0, 0x1p-24});
  expect_same(convert(DType::kI64, PwClass::kInt, DType::kI8, {127, 128, -129, 256}), {127, -128, 127, 0});
  expect_same(convert(DType::kI64, PwClass::kInt, DType::kU16, {-1, 65536}), {65535, 0});
  expect_same(convert(DType::kF32, PwClass::kFloat, DType::kBool, {0, -0.0, 0.25, kNan}), {0, 0, 1, 1});
  expect_same(convert(DType::kBool, PwClass::kFloat, DType::kF32, {0, 1}), {0, 1});
}

TEST(ReferencePointwise, ADoubleIsRoundedOnceToSixteenBits) {
  // Rounded to float first this would lie exactly between two bf16 values, and then go the wrong way.
  expect_same(convert(DType::kF64, PwClass::kDouble, DType::kBF16, {1 + 0x1p-8 + 0x1p-40, 1 + 0x3p-8 - 0x1p-40}),
              {1 + 0x1p-7, 1 + 0x1p-7});
}

TEST(ReferencePointwise, FloatToIntegerTruncatesAndSaturates) {
  expect_same(convert(DType::kF32, PwClass::kFloat, DType::kI64, {1.9, -1.9, 1e30, -1e30, kNan}),
              {1, -1, 0x1p63, -0x1p63, 0});
  expect_same(convert(DType::kF32, PwClass::kFloat, DType::kU64, {1.9, -0.5, -7, 1e30}), {1, 0, 0, 0x1p64});
}

TEST(ReferencePointwise, NarrowMakesValuesRepresentable) {
  expect_same(compute(PwOp::kNarrow, PwClass::kInt, {300, -129}, {}, static_cast<int>(DType::kI8)), {44, 127});
  expect_same(compute(PwOp::kNarrow, PwClass::kFloat, {1 + 0x1p-9, 3}, {}, static_cast<int>(DType::kBF16)), {1, 3});
  expect_same(compute(PwOp::kNarrow, PwClass::kFloat, {0.5, 0}, {}, static_cast<int>(DType::kBool)), {1, 0});
}

TEST(ReferencePointwise, OperandsBroadcastAndOutputsShareTheProgram) {
  // out0 = a + b, out1 = select(a < b, a, 7), with a [2,1], b [3] and strided outputs.
  KernelCase c = KernelCase::of(OpKind::kPointwise, {},
                                {TestTensor(DType::kF32, {2, 3}, {1, 2}), TestTensor(DType::kF32, {2, 3}, {5, 1})});
  c.with_program({pw_load(0, 0), pw_load(1, 1), pw_compute(PwOp::kAdd, 2, 0, 1), pw_store(0, 2), pw_const(3, 7),
                  pw_compute(PwOp::kLess, 4, 0, 1), pw_compute(PwOp::kSelect, 5, 4, 0, 3), pw_store(1, 5)},
                 {TestTensor::of(DType::kF32, {2, 1}, {1, 2}), TestTensor::of(DType::kF32, {3}, {1, 2, 3})});
  ASSERT_TRUE(run_kernel(reference_kernel(OpKind::kPointwise), c).ok()) << last_error();
  testing::expect_elements(c.outputs[0], {2, 3, 4, 3, 4, 5});
  testing::expect_elements(c.outputs[1], {7, 1, 1, 7, 7, 2});
}

TEST(ReferencePointwise, ScalarsAndEmptyTensors) {
  for (const Dims& dims : {Dims{}, Dims{0, 3}, Dims{2, 0}}) {
    KernelCase c = KernelCase::of(OpKind::kPointwise, {}, {TestTensor(DType::kF32, dims)});
    c.with_program({pw_load(0, 0), pw_store(0, 0)}, {TestTensor::of(DType::kF32, {}, {3})});
    ASSERT_TRUE(run_kernel(reference_kernel(OpKind::kPointwise), c).ok()) << last_error();
    testing::expect_elements(c.outputs[0], std::vector<double>(static_cast<size_t>(c.outputs[0].count()), 3));
  }
}

TEST(ReferencePointwise, MulAddIsRoundedOnce) {
  // (1 + e)(1 - e) - 1 = -e^2, which vanishes when the product is rounded first.
  const double e = 0x1p-20;
  KernelCase c = KernelCase::of(OpKind::kPointwise, {}, {TestTensor(DType::kF32, {1})});
  c.with_program({pw_load(0, 0), pw_load(1, 1), pw_const(2, -1), pw_compute(PwOp::kMulAdd, 3, 0, 1, 2), pw_store(0, 3)},
                 {list(DType::kF32, {1 + e}), list(DType::kF32, {1 - e})});
  ASSERT_TRUE(run_kernel(reference_kernel(OpKind::kPointwise), c).ok()) << last_error();
  testing::expect_elements(c.outputs[0], {-e * e});
}

}  // namespace
}  // namespace planwright
