// Products by integers with scales against the reference, for every tile of every tier this CPU runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/contraction_cases.h"
#include "tests/support/hostile_cases.h"

namespace planwright::testing {
namespace {

constexpr char kPieces[] = "block_matmul_f32_pieces_";

std::vector<const KernelDescriptor*> exact_kernels() {
  std::vector<const KernelDescriptor*> list = family_of(OpKind::kBlockMatMul, "block_matmul_f32_");
  std::erase_if(list, [](const KernelDescriptor* kernel) { return std::string(kernel->name).starts_with(kPieces); });
  return list;
}

KernelCase product(Rng& rng, const Dims& a, int64_t n, DType dtype, int64_t block) {
  const int64_t k = a.back(), most = dtype == DType::kI4 ? 7 : 127;
  Dims y = a;
  y.back() = n;
  KernelCase c =
      KernelCase::of(OpKind::kBlockMatMul,
                     {TestTensor::random(rng, DType::kF32, a),
                      TestTensor::random(rng, dtype, {k, n}, static_cast<double>(-most - 1), static_cast<double>(most)),
                      TestTensor::random(rng, DType::kF32, {(k + block - 1) / block, n}, -0.02, 0.02)},
                     {TestTensor(DType::kF32, y)});
  return c.with(BlockMatMulParams{block});
}

// Random columns, block, epilogue and tactic; case `i` of them.
void expect_right(Rng& rng, const KernelDescriptor& kernel, const Dims& a, DType dtype, int i) {
  const auto& epilogues = named_epilogues();
  KernelCase c = product(rng, a, random_int(rng, 1, 150), dtype,
                         i % 5 == 0 ? random_int(rng, 1, 100) : int64_t{1} << random_int(rng, 0, 7));
  add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], static_cast<int>(a.size()) - 1, &c);
  const TacticParams tactic = {
      {static_cast<int32_t>(random_int(rng, 0, 3)), static_cast<int32_t>(random_int(rng, 0, 2))}};
  SCOPED_TRACE(describe(c));
  expect_like_reference(kernel, c, kContractionTolerance, tactic, 1 + i % 2);
}

TEST(BlockMatMulTest, ThereAreKernelsForEveryTier) { EXPECT_GE(exact_kernels().size(), 4u); }

TEST(BlockMatMulTest, RandomShapes) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : exact_kernels()) {
    for (int i = 0; i < 200; ++i) {
      Dims a = {i % 3 == 0 ? 1 : random_int(rng, 1, 40), random_int(rng, 0, 90)};
      if (i % 4 == 0) a.insert(a.begin(), random_int(rng, 1, 3));
      expect_right(rng, *kernel, a, i % 2 == 0 ? DType::kI4 : DType::kI8, i);
    }
  }
}

// One row of A, which is multiplied without making floats of the weights, and two, which are not.
TEST(BlockMatMulTest, EveryTailOfColumnsAndDepth) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : exact_kernels()) {
    for (int64_t n = 1; n <= 70; ++n) {
      for (const DType dtype : {DType::kI4, DType::kI8}) {
        SCOPED_TRACE(n);
        expect_like_reference(*kernel, product(rng, {1 + n % 2, n % 37}, n, dtype, 16), kContractionTolerance);
      }
    }
  }
}

// Rows of A that are apart, and columns of y that follow on one another all the same.
TEST(BlockMatMulTest, RowsWithGaps) {
  Rng rng(3);
  for (const KernelDescriptor* kernel : exact_kernels()) {
    for (const int64_t rows : {1, 9}) {
      KernelCase c = product(rng, {2, rows, 40}, 33, DType::kI4, 32);
      c.inputs[0] = TestTensor::random(rng, DType::kF32, {2, rows, 40}, {41 * rows + 3, 41, 1});
      c.outputs[0] = TestTensor(DType::kF32, {2, rows, 33}, {35 * rows, 35, 1});
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

TEST(BlockMatMulTest, SameBitsOnAnyThreads) {
  Rng rng(4);
  for (const KernelDescriptor* kernel : exact_kernels()) {
    for (const int64_t rows : {1, 200}) {
      KernelCase c = product(rng, {rows, 300}, 210, DType::kI4, 64);
      add_epilogue(rng, named_epilogues()[5], 1, &c);
      for (const int32_t panels : {0, 1}) expect_same_bits_on_any_threads(*kernel, c, {{0, panels}});
    }
  }
}

TEST(BlockMatMulTest, RefusesWhatItCannotDo) {
  Rng rng(5);
  for (const KernelDescriptor* kernel : exact_kernels()) {
    const KernelCase good = product(rng, {5, 32}, 7, DType::kI8, 16);
    EXPECT_EQ(validate_case(*kernel, good).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, good, {{-1}}).code(), StatusCode::kInvalid);
    KernelCase c = good;
    c.inputs[0] = TestTensor::random(rng, DType::kF32, {5, 32}, {1, 5});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = good;
    c.inputs[2] = c.inputs[2].dense_as(DType::kF64);
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = good;
    c.with(BlockMatMulParams{8});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
    c.with(BlockMatMulParams{0});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
    c = good;
    c.inputs[1] = c.inputs[1].dense_as(DType::kF32);
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
  }
}

// ---- A in pieces of eight bits

std::vector<const KernelDescriptor*> piece_kernels() { return family_of(OpKind::kBlockMatMul, kPieces); }

TEST(BlockMatMulTest, PiecesOfRandomShapes) {
  Rng rng(11);
  for (const KernelDescriptor* kernel : piece_kernels()) {
    for (int i = 0; i < 400; ++i) {
      Dims a = {random_int(rng, 1, 4), random_int(rng, 0, 90)};
      if (i % 4 == 0) a.insert(a.begin(), random_int(rng, 1, 2));
      expect_right(rng, *kernel, a, i % 3 == 0 ? DType::kI8 : DType::kI4, i);
    }
  }
}

// As floats do: within a few roundings of the largest element of its block, however long the row.
TEST(BlockMatMulTest, PiecesTellAsMuchAsFloats) {
  Rng rng(12);
  for (const KernelDescriptor* kernel : piece_kernels()) {
    for (const double scale : {1.0, 1e-25, 1e25}) {
      KernelCase c = product(rng, {1, 4096}, 64, scale == 1 ? DType::kI8 : DType::kI4, 32);
      c.inputs[0].map([&](double x) { return x * scale; });
      c.inputs[2].map([](double) { return 1.0; });
      // Column j is one element of the row alone.
      const auto row_of = [](int64_t column) { return 61 * column; };
      std::vector<double> ones(4096 * 64);
      for (int64_t j = 0; j < 64; ++j) ones[static_cast<size_t>(row_of(j) * 64 + j)] = 1;
      c.inputs[1].set_elements(ones);
      ASSERT_TRUE(run_kernel(*kernel, c).ok());
      const std::vector<double> x = c.inputs[0].elements(), y = c.outputs[0].elements();
      for (int64_t j = 0; j < 64; ++j) {
        const int64_t row = row_of(j);
        double largest = 0;
        for (int64_t k = row / 32 * 32; k < row / 32 * 32 + 32; ++k) {
          largest = std::max(largest, std::abs(x[static_cast<size_t>(k)]));
        }
        EXPECT_NEAR(y[static_cast<size_t>(j)], x[static_cast<size_t>(row)], largest * 0x1p-22);
      }
    }
  }
}

TEST(BlockMatMulTest, PiecesOfWhatIsNotFiniteOrTiny) {
  Rng rng(13);
  for (const KernelDescriptor* kernel : piece_kernels()) {
    for (const double strange : {HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-35, -3e38}) {
      KernelCase c = product(rng, {3, 70}, 50, strange > 0 ? DType::kI4 : DType::kI8, 32);
      int64_t i = 0;
      c.inputs[0].map([&](double x) { return ++i == 70 + 40 ? strange : std::abs(strange) < 1 ? x * 1e-34 : x; });
      SCOPED_TRACE(strange);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

// Where it met a weight of 0, what the others lost beside it was all that was left: 1e-3 of the output.
TEST(BlockMatMulTest, AnOutlierCostsTheOthersNothing) {
  Rng rng(16);
  for (const KernelDescriptor* kernel : piece_kernels()) {
    for (const double outlier : {1e2, 1e4, 1e6, 3e38}) {
      for (const DType dtype : {DType::kI4, DType::kI8}) {
        KernelCase c = product(rng, {2, 256}, 40, dtype, 64);
        int64_t i = 0, k = 0;
        // Two in one block.
        const auto is_outlier = [](int64_t row) { return row == 5 || row == 60; };
        c.inputs[0].map([&](double x) { return i++ >= 256 && is_outlier(i - 1 - 256) ? outlier : x; });
        c.inputs[1].map([&](double w) { return is_outlier(k++ / 40) ? 0 : w; });
        SCOPED_TRACE(outlier);
        expect_like_reference(*kernel, c, {.relative = 4e-6, .absolute = 5e-5, .dot_factor = 0});
      }
    }
  }
}

TEST(BlockMatMulTest, PiecesWithGapsAndOnAnyThreads) {
  Rng rng(14);
  for (const KernelDescriptor* kernel : piece_kernels()) {
    KernelCase c = product(rng, {2, 3, 40}, 33, DType::kI4, 32);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, {2, 3, 40}, {41 * 3 + 3, 41, 1});
    c.outputs[0] = TestTensor(DType::kF32, {2, 3, 33}, {35 * 3, 35, 1});
    expect_like_reference(*kernel, c, kContractionTolerance);
    for (const int64_t rows : {1, 7}) {
      KernelCase large = product(rng, {rows, 300}, 210, DType::kI4, 64);
      add_epilogue(rng, named_epilogues()[5], 1, &large);
      for (const int32_t panels : {0, 1}) expect_same_bits_on_any_threads(*kernel, large, {{0, panels}});
    }
  }
}

TEST(BlockMatMulTest, PiecesOfFewRowsOnly) {
  Rng rng(15);
  for (const KernelDescriptor* kernel : piece_kernels()) {
    EXPECT_EQ(validate_case(*kernel, product(rng, {8, 32}, 7, DType::kI4, 16)).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, product(rng, {9, 32}, 7, DType::kI4, 16)).code(), StatusCode::kUnsupported);
    EXPECT_EQ(validate_case(*kernel, product(rng, {3, 3, 32}, 7, DType::kI4, 16)).code(), StatusCode::kUnsupported);
    EXPECT_EQ(validate_case(*kernel, product(rng, {1, 32769}, 7, DType::kI8, 32769)).code(), StatusCode::kUnsupported);
    expect_like_reference(*kernel, product(rng, {1, 32768}, 7, DType::kI8, 32768), kContractionTolerance);
  }
}

// In bf16 weights are rounded once more.
TEST(BlockMatMulTest, InBf16) {
  Rng rng(6);
  const auto& epilogues = named_epilogues();
  for (const KernelDescriptor* kernel : kernels_of(OpKind::kBlockMatMul)) {
    if (kernel->precision != Precision::kBf16) continue;
    for (int i = 0; i < 60; ++i) {
      KernelCase c = product(rng, {random_int(rng, 1, 40), random_int(rng, 1, 90)}, random_int(rng, 1, 90),
                             i % 2 == 0 ? DType::kI4 : DType::kI8, int64_t{1} << random_int(rng, 0, 7));
      // Scales that are powers of two keep weights exact, and A of few bits products.
      c.inputs[2].map([](double scale) { return scale < 0 ? -0x1p-6 : 0x1p-7; });
      c.inputs[0].map([](double x) { return std::nearbyint(x * 64) / 64; });
      add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], 1, &c);
      SCOPED_TRACE(describe(c));
      expect_like_reference(*kernel, c, kContractionTolerance, {}, 1 + i % 2);
    }
  }
}

// What a hostile engine makes of such cases, too.
TEST(BlockMatMulTest, WhatValidatePassesStaysInBounds) {
  Rng rng(7);
  const auto& epilogues = named_epilogues();
  for (const KernelDescriptor* kernel : kernels_of(OpKind::kBlockMatMul)) {
    int passed = 0;
    for (int i = 0; i < 1500; ++i) {
      KernelCase c = product(rng, {i % 3 == 0 ? 1 : random_int(rng, 1, 40), random_int(rng, 1, 40)}, 33,
                             i % 2 == 0 ? DType::kI4 : DType::kI8, random_int(rng, 1, 40));
      add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], 1, &c);
      if (!change_hostilely(rng, *kernel, &c)) continue;
      ++passed;
      EXPECT_TRUE(run_kernel(*kernel, c).ok()) << last_error();
      if (HasFailure()) return;
    }
    EXPECT_GT(passed, 30) << kernel->name;
  }
}

}  // namespace
}  // namespace planwright::testing
