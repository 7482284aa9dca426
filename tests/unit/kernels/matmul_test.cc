// MatMul of constant and of computed matrices against the reference, for every tile of every tier this CPU runs.
#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> matmul_kernels() { return family_of(OpKind::kMatMul, "matmul_f32_"); }

Dims output_dims(const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims dims(rank);
  for (size_t i = 1; i <= rank; ++i) {
    const int64_t of_a = i <= a.size() ? a[a.size() - i] : 1, of_b = i <= b.size() ? b[b.size() - i] : 1;
    dims[rank - i] = i == 1 ? b.back() : i == 2 ? a[a.size() - 2] : std::max(of_a, of_b);
  }
  return dims;
}

KernelCase matmul_case(Rng& rng, const Dims& a, const Dims& b) {
  return KernelCase::of(OpKind::kMatMul,
                        {TestTensor::random(rng, DType::kF32, a), TestTensor::random(rng, DType::kF32, b)},
                        {TestTensor(DType::kF32, output_dims(a, b))});
}

// Strides in which the last axis is contiguous and the others lie in any order with gaps.
Dims contiguous_rows(Rng& rng, const Dims& dims) {
  std::vector<int> order;
  for (int axis = 0; axis + 1 < static_cast<int>(dims.size()); ++axis) order.push_back(axis);
  std::shuffle(order.begin(), order.end(), rng);
  order.push_back(static_cast<int>(dims.size()) - 1);
  return strides_of(dims, order, random_int(rng, 0, 5));
}

bool is_constant(const KernelDescriptor& kernel) { return kernel.packed_inputs != 0; }

TEST(MatMulTest, ThereAreKernelsForEveryTier) { EXPECT_GE(matmul_kernels().size(), 4u); }

// A batch of none has rows and columns all the same; listing its tactics once divided by its length.
TEST(MatMulTest, OfNoMatrices) {
  const KernelCase c =
      KernelCase::of(OpKind::kMatMul, {TestTensor(DType::kF32, {0, 2, 3}), TestTensor(DType::kF32, {0, 3, 4})},
                     {TestTensor(DType::kF32, {0, 2, 4})});
  int taken = 0;
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    if (!validate_case(*kernel, c).ok()) continue;
    ++taken;
    std::vector<TensorView> views;
    TacticParams list[8];
    if (kernel->tactics != nullptr) {
      EXPECT_GE(kernel->tactics(c.args(&views), list, 8), 1) << kernel->name;
    }
    EXPECT_TRUE(run_kernel(*kernel, c).ok()) << kernel->name;
  }
  EXPECT_GT(taken, 0);
}

TEST(MatMulTest, RandomShapesAndStrides) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    for (int i = 0; i < 80; ++i) {
      const int64_t m = random_int(rng, 1, 40), k = random_int(rng, 1, 50), n = random_int(rng, 1, 90);
      Dims a = {m, k}, b = {k, n};
      for (int64_t batch = random_int(rng, 0, 2); batch > 0; --batch) {
        const int64_t dim = random_int(rng, 1, 3);
        if (random_int(rng, 0, 3) != 0) a.insert(a.begin(), random_int(rng, 0, 3) == 0 ? 1 : dim);
        if (a.size() > b.size() && random_int(rng, 0, 1) == 0) {
          b.insert(b.begin(), random_int(rng, 0, 1) == 0 ? 1 : a[a.size() - b.size() - 1]);
        }
      }
      KernelCase c = matmul_case(rng, a, b);
      c.inputs[0] = TestTensor::random(rng, DType::kF32, a, contiguous_rows(rng, a));
      if (!is_constant(*kernel)) c.inputs[1] = TestTensor::random(rng, DType::kF32, b, random_strides(rng, b));
      const Dims y = c.outputs[0].dims();
      c.outputs[0] = TestTensor(DType::kF32, y, contiguous_rows(rng, y));
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(random_int(rng, 0, 5))], static_cast<int>(y.size()) - 1,
                   &c);
      const TacticParams tactic = {
          {static_cast<int32_t>(random_int(rng, 0, 3)), static_cast<int32_t>(random_int(rng, 0, 2))}};
      SCOPED_TRACE(describe(c));
      expect_like_reference(*kernel, c, kContractionTolerance, tactic, 1 + i % 2);
    }
  }
}

TEST(MatMulTest, EveryTailOfColumnsAndRows) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    for (int64_t n = 1; n <= 70; ++n) {
      KernelCase c = matmul_case(rng, {1 + n % 43, 3}, {3, n});
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(n % 7)], 1, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

// K of every remainder for the tiles that keep several sums, down to none at all.
TEST(MatMulTest, EveryDepthOfFewRows) {
  Rng rng(3);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    for (int64_t k = 0; k <= 9; ++k) {
      for (int64_t m = 1; m <= 7; ++m) {
        expect_like_reference(*kernel, matmul_case(rng, {m, k}, {k, 5 + 9 * m}), kContractionTolerance);
      }
    }
  }
}

TEST(MatMulTest, EveryEpilogue) {
  Rng rng(4);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      SCOPED_TRACE(epilogue.name);
      KernelCase c = matmul_case(rng, {2, 13, 40}, {40, 75});
      add_epilogue(rng, epilogue, 2, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

// softmax's mask in front: a [B, 1, 1, N] operand varies along the batch and the columns, not along the rows.
TEST(MatMulTest, MaskAlongBatchAndColumns) {
  Rng rng(5);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    KernelCase c = matmul_case(rng, {2, 3, 9, 8}, {2, 3, 8, 21});
    c.with_program({pw_acc(0), pw_const(1, 0.125), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(1, 0),
                    pw_compute(PwOp::kAdd, 0, 0, 1), pw_store(0, 0)},
                   {TestTensor::random(rng, DType::kF32, {2, 1, 1, 21})});
    expect_like_reference(*kernel, c, kContractionTolerance);
  }
}

TEST(MatMulTest, SameBitsOnAnyThreads) {
  Rng rng(6);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    for (const Dims& a : {Dims{200, 150}, Dims{1, 300}, Dims{4, 60, 100}}) {
      Dims b = {a.back(), 210};
      if (a.size() == 3) b.insert(b.begin(), 4);
      KernelCase c = matmul_case(rng, a, b);
      add_epilogue(rng, named_epilogues()[5], static_cast<int>(a.size()) - 1, &c);
      for (const int32_t panels : {0, 1}) expect_same_bits_on_any_threads(*kernel, c, {{0, panels}});
    }
  }
}

TEST(MatMulTest, RefusesWhatItCannotDo) {
  Rng rng(7);
  for (const KernelDescriptor* kernel : matmul_kernels()) {
    KernelCase c = matmul_case(rng, {5, 6}, {6, 7});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, c, {{0, -1}}).code(), StatusCode::kInvalid);
    // A transposed A.
    c.inputs[0] = TestTensor::random(rng, DType::kF32, {5, 6}, {1, 5});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = matmul_case(rng, {5, 6}, {6, 7});
    c.outputs[0] = TestTensor(DType::kF32, {5, 7}, {1, 5});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = matmul_case(rng, {5, 6}, {6, 7});
    c.inputs[1] = c.inputs[1].dense_as(DType::kF16);
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = matmul_case(rng, {5, 6}, {6, 7});
    c.inputs[1] = TestTensor::random(rng, DType::kF32, {8, 7});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace planwright::testing
