// Kernels that move elements, against the reference kernels, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/support/kernel_harness.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::KernelCase;
using testing::random_int;
using testing::Rng;
using testing::TestTensor;

constexpr DType kTypes[] = {DType::kF32, DType::kI64, DType::kU8, DType::kF16};

DType random_type(Rng& rng) { return kTypes[random_int(rng, 0, 3)]; }

Dims random_dims(Rng& rng, int rank, int64_t most) {
  Dims dims;
  for (int i = 0; i < rank; ++i) dims.push_back(random_int(rng, 0, 5) == 0 ? 1 : random_int(rng, 1, most));
  return dims;
}

// Dense, channels-last or anything.
Dims some_strides(Rng& rng, const Dims& dims) {
  switch (random_int(rng, 0, 2)) {
    case 0: return testing::dense_strides(dims);
    case 1: return dims.size() > 2 ? testing::channels_last_strides(dims) : testing::dense_strides(dims);
    default: return testing::random_strides(rng, dims);
  }
}

TestTensor some_tensor(Rng& rng, DType type, const Dims& dims) {
  return TestTensor::random(rng, type, dims, some_strides(rng, dims), 0, 100);
}
TestTensor some_output(Rng& rng, DType type, const Dims& dims) {
  return TestTensor(type, dims, some_strides(rng, dims));
}

// Runs the case on every kernel that takes it; returns how many did.
int check(const KernelCase& c) {
  int taken = 0;
  for (const KernelDescriptor* kernel : testing::kernels_of(c.op)) {
    if (!testing::validate_case(*kernel, c).ok()) continue;
    ++taken;
    testing::expect_like_reference(*kernel, c, {});
    testing::expect_same_bits_on_any_threads(*kernel, c);
  }
  return taken;
}

TEST(MovementTest, CopiesBetweenAnyStrides) {
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    const DType type = random_type(rng);
    const Dims dims = random_dims(rng, static_cast<int>(random_int(rng, 0, 5)), 9);
    const KernelCase c = KernelCase::of(OpKind::kCopy, {some_tensor(rng, type, dims)}, {some_output(rng, type, dims)});
    EXPECT_GE(check(c), 1);
  }
}

// Sides past the tile's 64, of 4-byte elements, so that the vector kernels take them.
TEST(MovementTest, TransposesBetweenRowMajorAndChannelsLast) {
  Rng rng(2);
  const Dims shapes[] = {{2, 12, 20, 33}, {1, 64, 9, 15}, {1, 130, 7, 11}, {3, 8, 4, 4}, {1, 67, 1, 129}};
  for (const Dims& dims : shapes) {
    for (const bool to_channels_last : {false, true}) {
      const Dims rows = testing::dense_strides(dims), channels = testing::channels_last_strides(dims);
      const KernelCase c = KernelCase::of(
          OpKind::kCopy, {TestTensor::random(rng, DType::kI32, dims, to_channels_last ? rows : channels, -1e6, 1e6)},
          {TestTensor(DType::kI32, dims, to_channels_last ? channels : rows)});
      EXPECT_GE(check(c), 2) << testing::describe(c);
    }
  }
}

TEST(MovementTest, TransposesByEveryPermutation) {
  Rng rng(3);
  const Dims dims = {5, 7, 3, 17};
  TransposeParams params;
  int order[] = {0, 1, 2, 3};
  do {
    std::copy(order, order + 4, params.perm);
    Dims out;
    for (const int axis : order) out.push_back(dims[static_cast<size_t>(axis)]);
    EXPECT_GE(check(KernelCase::of(OpKind::kTranspose, {some_tensor(rng, DType::kF32, dims)},
                                   {some_output(rng, DType::kF32, out)})
                        .with(params)),
              1);
  } while (std::next_permutation(order, order + 4));
}

TEST(MovementTest, SlicesForwardsAndBackwards) {
  Rng rng(4);
  for (int i = 0; i < 150; ++i) {
    const DType type = random_type(rng);
    const Dims dims = random_dims(rng, 3, 20);
    Dims out;
    std::vector<int64_t> starts, steps;
    for (const int64_t dim : dims) {
      const int64_t step = random_int(rng, 0, 1) == 0 ? 1 : random_int(rng, 0, 1) == 0 ? -1 : random_int(rng, -3, 3);
      const int64_t start = random_int(rng, 0, dim - 1);
      const int64_t most = step > 0 ? (dim - 1 - start) / step + 1 : step < 0 ? start / -step + 1 : 3;
      out.push_back(random_int(rng, 1, most));
      starts.push_back(start);
      steps.push_back(step);
    }
    starts.insert(starts.end(), steps.begin(), steps.end());
    EXPECT_GE(check(KernelCase::of(OpKind::kSlice, {some_tensor(rng, type, dims)}, {some_output(rng, type, out)})
                        .with(SliceParams{})
                        .with_scalars(starts)),
              1);
  }
}

TEST(MovementTest, ExpandsAndTiles) {
  Rng rng(5);
  for (int i = 0; i < 100; ++i) {
    const DType type = random_type(rng);
    const Dims out = random_dims(rng, 4, 9);
    Dims in(out.begin() + random_int(rng, 0, 2), out.end());
    for (int64_t& dim : in) dim = random_int(rng, 0, 1) == 0 ? 1 : dim;
    EXPECT_GE(check(KernelCase::of(OpKind::kExpand, {some_tensor(rng, type, in)}, {some_output(rng, type, out)})), 1);
    const Dims tile = random_dims(rng, 4, 5);
    Dims tiled = tile;
    for (int64_t& dim : tiled) dim *= random_int(rng, 1, 3);
    EXPECT_GE(check(KernelCase::of(OpKind::kTile, {some_tensor(rng, type, tile)}, {some_output(rng, type, tiled)})), 1);
  }
}

TEST(MovementTest, ConcatenatesInputsOfAnyStrides) {
  Rng rng(6);
  for (int i = 0; i < 100; ++i) {
    const DType type = random_type(rng);
    Dims out = random_dims(rng, 4, 8);
    ConcatParams params;
    params.axis = static_cast<int32_t>(random_int(rng, 0, 3));
    int64_t& joined = out[static_cast<size_t>(params.axis)];
    joined = 0;
    std::vector<TestTensor> inputs;
    for (int64_t input = random_int(rng, 1, 4); input > 0; --input) {
      Dims dims = out;
      dims[static_cast<size_t>(params.axis)] = random_int(rng, 0, 5);
      joined += dims[static_cast<size_t>(params.axis)];
      inputs.push_back(some_tensor(rng, type, dims));
    }
    EXPECT_GE(check(KernelCase::of(OpKind::kConcat, inputs, {some_output(rng, type, out)}).with(params)), 1);
  }
}

TEST(MovementTest, ReshapesWhereAxesCanBeCut) {
  Rng rng(7);
  const std::pair<Dims, Dims> pairs[] = {{{4, 6, 5}, {24, 5}},    {{2, 6}, {4, 3}},     {{8, 9}, {2, 4, 3, 3}},
                                         {{30}, {5, 1, 6}},       {{1, 12, 1}, {3, 4}}, {{6, 4}, {8, 3}},
                                         {{2, 3, 4}, {4, 3, 2}},  {{}, {1, 1}},         {{0, 3}, {3, 0}},
                                         {{3, 64, 10}, {192, 10}}};
  int taken = 0;
  for (int i = 0; i < 20; ++i) {
    for (const auto& [in, out] : pairs) {
      const DType type = random_type(rng);
      const KernelCase c =
          KernelCase::of(OpKind::kReshape, {some_tensor(rng, type, in)}, {some_output(rng, type, out)});
      taken += check(c);
      const KernelCase dense = KernelCase::of(OpKind::kReshape, {some_tensor(rng, type, in)}, {TestTensor(type, out)});
      EXPECT_GE(check(dense), 1) << testing::describe(dense);
    }
  }
  EXPECT_GE(taken, 100);
}

TEST(MovementTest, MovesOfManyTasks) {
  Rng rng(8);
  const Dims dims = {3, 100, 90, 7};
  for (const DType type : kTypes) {
    for (const auto& strides : {testing::dense_strides(dims), testing::channels_last_strides(dims)}) {
      EXPECT_GE(check(KernelCase::of(OpKind::kCopy, {TestTensor::random(rng, type, dims, strides, 0, 100)},
                                     {TestTensor(type, dims)})),
                1);
    }
  }
}

TEST(MovementTest, InputInItsSlotOfTheOutputStays) {
  Rng rng(9);
  const Dims dims = {2, 4};
  TestTensor output(DType::kF32, {2, 4});
  std::vector<double> elements = {1, 2, 3, 4, 5, 6, 7, 8};
  output.set_elements(elements);
  KernelCase c = KernelCase::of(OpKind::kConcat, {output}, {output}).with(ConcatParams{});
  EXPECT_TRUE(testing::run_kernel(*testing::kernels_of(OpKind::kConcat)[0], c).ok());
  testing::expect_elements(output, elements);
}

}  // namespace
}  // namespace planwright
