// What every kernel's validate() begins with.
#include "tactics/kernels/kernel.h"

#include <gtest/gtest.h>

#include "tests/support/kernel_harness.h"

namespace planwright {
namespace {

using testing::KernelCase;
using testing::TestTensor;

StatusCode code_of(const KernelCase& c) {
  std::vector<TensorView> storage;
  return validate_common(c.args(&storage)).code();
}

StatusCode code_of(KernelArgs args) { return validate_common(args).code(); }

KernelCase matmul() {
  return KernelCase::of(OpKind::kMatMul, {TestTensor(DType::kF32, {2, 3}), TestTensor(DType::kF32, {3, 4})},
                        {TestTensor(DType::kF32, {2, 4})});
}

TEST(TensorView, IsDenseWhateverTheStridesOfSingleAxes) {
  TensorView view = TestTensor(DType::kF32, {2, 1, 3}).view();
  EXPECT_TRUE(is_dense(view));
  view.strides[1] = 77;
  EXPECT_TRUE(is_dense(view));
  view.strides[0] = 4;
  EXPECT_FALSE(is_dense(view));
  view.dims[2] = 0;
  EXPECT_TRUE(is_dense(view)) << "nothing has no gaps";
  EXPECT_EQ(element_count(view), 0);
}

TEST(TensorView, BroadcastStridesAreZeroWhereItRepeats) {
  const TensorView operand = TestTensor(DType::kF32, {3, 1, 5}).view();
  const TensorView output = TestTensor(DType::kF32, {2, 3, 4, 5}).view();
  int64_t strides[kMaxRank];
  broadcast_strides(operand, output, strides);
  EXPECT_EQ(strides[0], 0);
  EXPECT_EQ(strides[1], 5);
  EXPECT_EQ(strides[2], 0);
  EXPECT_EQ(strides[3], 1);
}

TEST(ValidateCommon, TakesAWellFormedCase) { EXPECT_EQ(code_of(matmul()), StatusCode::kOk); }

TEST(ValidateCommon, RefusesViewsThatMemoryCannotHold) {
  std::vector<TensorView> storage;
  const KernelArgs args = matmul().args(&storage);
  const auto with = [&](void (*change)(TensorView&)) {
    std::vector<TensorView> changed = storage;
    KernelArgs copy = args;
    change(changed[0]);
    copy.inputs = changed.data();
    copy.outputs = changed.data() + 2;
    return code_of(copy);
  };
  EXPECT_EQ(with([](TensorView& v) { v.rank = 9; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.rank = -1; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.dims[0] = -1; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.strides[0] = -3; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.dtype = static_cast<DType>(kDTypeCount); }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.strides[0] = INT64_MAX / 2; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.dims[0] = v.dims[1] = int64_t{1} << 40; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](TensorView& v) { v.absent = true; }), StatusCode::kInvalid);
}

TEST(ValidateCommon, DimsOverflowEvenNextToAZero) {
  std::vector<TensorView> storage;
  KernelArgs args = KernelCase::of(OpKind::kCopy, {TestTensor(DType::kF32, {0, 1, 1})}, {TestTensor(DType::kF32, {0})})
                        .args(&storage);
  storage[0].dims[1] = storage[0].dims[2] = int64_t{1} << 40;
  EXPECT_EQ(code_of(args), StatusCode::kInvalid);
}

TEST(ValidateCommon, RefusesAnOutputThatOverlapsItself) {
  KernelCase c = matmul();
  c.outputs[0] = TestTensor(DType::kF32, {2, 4}, {0, 1});
  EXPECT_EQ(code_of(c), StatusCode::kInvalid);
}

TEST(ValidateCommon, RefusesWrongCounts) {
  KernelCase c = matmul();
  c.core_inputs = 1;
  EXPECT_EQ(code_of(c), StatusCode::kInvalid);
  c = matmul();
  c.outputs.clear();
  EXPECT_EQ(code_of(c), StatusCode::kInvalid);
  c = matmul().with_scalars({1});
  EXPECT_EQ(code_of(c), StatusCode::kInvalid);
  c = matmul().with(GatherParams{});
  EXPECT_EQ(code_of(c), StatusCode::kInvalid);
  c = matmul();
  c.op = static_cast<OpKind>(kOpKindCount);
  EXPECT_EQ(code_of(c), StatusCode::kInvalid);
}

TEST(ValidateCommon, ChecksTheEpilogueAndItsOperands) {
  const std::vector<PwInstr> add_bias = {testing::pw_acc(0), testing::pw_load(1, 0),
                                         testing::pw_compute(PwOp::kAdd, 0, 0, 1), testing::pw_store(0, 0)};
  EXPECT_EQ(code_of(matmul().with_program(add_bias, {TestTensor(DType::kF32, {4})})), StatusCode::kOk);
  EXPECT_EQ(code_of(matmul().with_program(add_bias, {TestTensor(DType::kF32, {2, 1})})), StatusCode::kOk);
  EXPECT_EQ(code_of(matmul().with_program(add_bias, {TestTensor(DType::kF32, {3})})), StatusCode::kInvalid);
  EXPECT_EQ(code_of(matmul().with_program(add_bias, {TestTensor(DType::kF32, {1, 2, 4})})), StatusCode::kInvalid);
  EXPECT_EQ(code_of(matmul().with_program(add_bias, {})), StatusCode::kInvalid);
  EXPECT_EQ(code_of(matmul().with_program({}, {TestTensor(DType::kF32, {4})})), StatusCode::kInvalid)
      << "operands that no program reads";
  KernelCase copy = KernelCase::of(OpKind::kCopy, {TestTensor(DType::kF32, {4})}, {TestTensor(DType::kF32, {4})});
  EXPECT_EQ(code_of(copy.with_program({testing::pw_acc(0), testing::pw_store(0, 0)}, {})), StatusCode::kInvalid)
      << "Copy takes no epilogue";
}

TEST(ValidateCommon, OnlyOptionalOperandsMayBeAbsent) {
  const auto layer_norm = [](TestTensor x, TestTensor scale) {
    return KernelCase::of(OpKind::kLayerNorm, {std::move(x), std::move(scale), TestTensor(DType::kF32, {4})},
                          {TestTensor(DType::kF32, {2, 4}), TestTensor()})
        .with(LayerNormParams{.axis = 1});
  };
  EXPECT_EQ(code_of(layer_norm(TestTensor(DType::kF32, {2, 4}), TestTensor())), StatusCode::kOk);
  EXPECT_EQ(code_of(layer_norm(TestTensor(), TestTensor(DType::kF32, {4}))), StatusCode::kInvalid);
}

}  // namespace
}  // namespace planwright
