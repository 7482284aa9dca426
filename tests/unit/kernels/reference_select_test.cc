// Gather, Scatter, TopK, OneHot and Trilu by hand, and what they do with indices out of range.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_elements;
using testing::expect_output;
using testing::f32;
using testing::i32;
using testing::i64;
using testing::KernelCase;
using testing::reference_status;
using testing::refuses;
using testing::TestTensor;

// reference_status() must name the index.
void expect_out_of_range(const KernelCase& c, const char* index) {
  EXPECT_EQ(reference_status(c).code(), StatusCode::kPrecondition);
  EXPECT_NE(std::string(last_error()).find(index), std::string::npos) << last_error();
}

const std::vector<double> kSix = {0, 1, 2, 3, 4, 5};

TEST(ReferenceGather, ReplacesAnAxisByTheIndices) {
  const auto gather = [](TestTensor indices, int axis, const Dims& dims) {
    return KernelCase::of(OpKind::kGather, {f32({2, 3}, kSix), std::move(indices)}, {TestTensor(DType::kF32, dims)})
        .with(GatherParams{axis});
  };
  expect_output(gather(i64({2}, {1, -2}), 0, {2, 3}), {3, 4, 5, 0, 1, 2});
  expect_output(gather(i32({2, 2}, {0, 2, -1, 1}), 1, {2, 2, 2}), {0, 2, 2, 1, 3, 5, 5, 4});
  expect_output(gather(i64({}, {2}), 1, {2}), {2, 5});
  expect_out_of_range(gather(i64({1}, {2}), 0, {1, 3}), "2");
  expect_out_of_range(gather(i64({1}, {-3}), 0, {1, 3}), "-3");
  EXPECT_TRUE(refuses(gather(i64({1}, {0}), 2, {1, 3})));
  EXPECT_TRUE(refuses(gather(f32({1}, {0}), 0, {1, 3})));
  EXPECT_TRUE(refuses(gather(i64({1}, {0}), 0, {2, 3})));
}

TEST(ReferenceGatherElements, TakesOneElementEach) {
  const auto gather = [](TestTensor indices, int axis, const Dims& dims) {
    return KernelCase::of(OpKind::kGatherElements, {f32({2, 3}, kSix), std::move(indices)},
                          {TestTensor(DType::kF32, dims)})
        .with(GatherElementsParams{axis});
  };
  expect_output(gather(i64({2, 2}, {2, 0, -1, 1}), 1, {2, 2}), {2, 0, 5, 4});
  expect_output(gather(i64({1, 3}, {1, 0, 1}), 0, {1, 3}), {3, 1, 5});
  expect_out_of_range(gather(i64({1, 1}, {3}), 1, {1, 1}), "3");
  EXPECT_TRUE(refuses(gather(i64({3, 1}, {0, 0, 0}), 1, {3, 1})));
}

TEST(ReferenceGatherND, TakesTuples) {
  const auto gather = [](TestTensor data, TestTensor indices, const Dims& dims, int batch_dims) {
    return KernelCase::of(OpKind::kGatherND, {std::move(data), std::move(indices)}, {TestTensor(DType::kF32, dims)})
        .with(GatherNDParams{batch_dims});
  };
  const TestTensor x = f32({2, 3}, kSix);
  expect_output(gather(x, i64({2, 2}, {0, 2, 1, -3}), {2}, 0), {2, 3});
  expect_output(gather(x, i64({1, 1}, {1}), {1, 3}, 0), {3, 4, 5});
  expect_output(gather(x, i64({2, 1}, {2, 0}), {2}, 1), {2, 3});
  expect_out_of_range(gather(x, i64({1, 2}, {0, 3}), {1}, 0), "3");
  EXPECT_TRUE(refuses(gather(x, i64({1, 3}, {0, 0, 0}), {1}, 0)));
  EXPECT_TRUE(refuses(gather(x, i64({3, 1}, {0, 0, 0}), {3}, 1)));
  EXPECT_TRUE(refuses(gather(x, i64({2, 0}, {}), {2, 2, 3}, 0)));
}

KernelCase scatter_elements(TestTensor indices, TestTensor updates, const ScatterElementsParams& params) {
  return KernelCase::of(OpKind::kScatterElements, {f32({2, 3}, kSix), std::move(indices), std::move(updates)},
                        {TestTensor(DType::kF32, {2, 3})})
      .with(params);
}

TEST(ReferenceScatterElements, ReplacesAndCombines) {
  const TestTensor indices = i64({2, 2}, {0, -1, 1, 1}), updates = f32({2, 2}, {10, 20, 30, 40});
  expect_output(scatter_elements(indices, updates, {.axis = 1}), {10, 1, 20, 3, 40, 5});
  expect_output(scatter_elements(indices, updates, {.axis = 1, .reduction = ScatterReduction::kAdd}),
                {10, 1, 22, 3, 74, 5});
  expect_output(scatter_elements(indices, updates, {.axis = 1, .reduction = ScatterReduction::kMul}),
                {0, 1, 40, 3, 4800, 5});
  expect_output(scatter_elements(indices, updates, {.axis = 1, .reduction = ScatterReduction::kMax}),
                {10, 1, 20, 3, 40, 5});
  expect_output(scatter_elements(indices, updates, {.axis = 1, .reduction = ScatterReduction::kMin}),
                {0, 1, 2, 3, 4, 5});
  expect_out_of_range(scatter_elements(i64({1, 1}, {5}), f32({1, 1}, {0}), {.axis = 1}), "5");
  EXPECT_TRUE(refuses(scatter_elements(indices, f32({1, 2}, {0, 0}), {.axis = 1})));
  EXPECT_TRUE(refuses(scatter_elements(indices, updates, {.axis = 2})));
  EXPECT_TRUE(refuses(scatter_elements(indices, updates, {.reduction = static_cast<ScatterReduction>(5)})));
}

TEST(ReferenceScatterND, ReplacesSlices) {
  const auto scatter = [](TestTensor indices, TestTensor updates, ScatterReduction reduction) {
    return KernelCase::of(OpKind::kScatterND, {f32({2, 3}, kSix), std::move(indices), std::move(updates)},
                          {TestTensor(DType::kF32, {2, 3})})
        .with(ScatterNDParams{reduction});
  };
  expect_output(scatter(i64({1, 1}, {-1}), f32({1, 3}, {7, 8, 9}), ScatterReduction::kNone), {0, 1, 2, 7, 8, 9});
  expect_output(scatter(i64({2, 2}, {0, 0, 0, 0}), f32({2}, {7, 8}), ScatterReduction::kAdd), {15, 1, 2, 3, 4, 5});
  expect_out_of_range(scatter(i64({1, 2}, {-3, 0}), f32({1}, {0}), ScatterReduction::kNone), "-3");
  EXPECT_TRUE(refuses(scatter(i64({1, 1}, {0}), f32({1, 2}, {7, 8}), ScatterReduction::kNone)));
  EXPECT_TRUE(refuses(scatter(i64({1, 3}, {0, 0, 0}), f32({1}, {7}), ScatterReduction::kNone)));
}

KernelCase top_k(TestTensor x, const Dims& dims, const TopKParams& params) {
  const DType type = x.view().dtype;
  return KernelCase::of(OpKind::kTopK, {std::move(x)}, {TestTensor(type, dims), TestTensor(DType::kI64, dims)})
      .with(params);
}

TEST(ReferenceTopK, TiesGoToTheLowerIndex) {
  KernelCase c = top_k(f32({2, 4}, {3, 1, 3, 2, 0, 0, 0, 0}), {2, 3}, {.axis = 1});
  expect_output(c, {3, 3, 2, 0, 0, 0});
  expect_elements(c.outputs[1], {0, 2, 3, 0, 1, 2});
  c.with(TopKParams{.axis = 1, .largest = 0});
  expect_output(c, {1, 2, 3, 0, 0, 0});
  expect_elements(c.outputs[1], {1, 3, 0, 0, 1, 2});
}

TEST(ReferenceTopK, AlongAnyAxisAndType) {
  KernelCase c = top_k(TestTensor::of(DType::kI8, {3, 2}, {-1, 5, 7, 5, 2, 6}), {2, 2}, {.axis = 0});
  expect_output(c, {7, 6, 2, 5});
  expect_elements(c.outputs[1], {1, 2, 2, 0});
  expect_output(top_k(f32({3}, {1, 2, 3}), {0}, {}), {});
  EXPECT_TRUE(refuses(top_k(f32({3}, {1, 2, 3}), {4}, {})));
}

TEST(ReferenceTopK, NaNIsGreaterThanEveryNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  KernelCase c = top_k(f32({4}, {1, nan, 5, nan}), {3}, {});
  expect_output(c, {nan, nan, 5});
  expect_elements(c.outputs[1], {1, 3, 2});
  c.with(TopKParams{.largest = 0});
  expect_output(c, {1, 5, nan});
  expect_elements(c.outputs[1], {0, 2, 1});
}

TEST(ReferenceOneHot, TurnsOnTheIndexedElement) {
  const auto one_hot = [](TestTensor indices, const Dims& dims, int axis) {
    return KernelCase::of(OpKind::kOneHot, {std::move(indices), f32({2}, {-1, 1})}, {TestTensor(DType::kF32, dims)})
        .with(OneHotParams{axis});
  };
  expect_output(one_hot(i64({2}, {1, -1}), {2, 3}, 1), {-1, 1, -1, -1, -1, 1});
  expect_output(one_hot(i64({2}, {0, 1}), {2, 2}, 0), {1, -1, -1, 1});
  expect_output(one_hot(i64({2}, {3, -4}), {2, 3}, 1), {-1, -1, -1, -1, -1, -1});
  expect_output(one_hot(f32({1}, {2}), {1, 3}, 1), {-1, -1, 1});
}

TEST(ReferenceTrilu, KeepsOneSideOfADiagonal) {
  const TestTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto trilu = [&](int upper, int64_t k) {
    return KernelCase::of(OpKind::kTrilu, {x}, {TestTensor(DType::kF32, {2, 3})})
        .with(TriluParams{upper})
        .with_scalars({k});
  };
  expect_output(trilu(1, 0), {1, 2, 3, 0, 5, 6});
  expect_output(trilu(1, 1), {0, 2, 3, 0, 0, 6});
  expect_output(trilu(0, 0), {1, 0, 0, 4, 5, 0});
  expect_output(trilu(0, -1), {0, 0, 0, 4, 0, 0});
  expect_output(trilu(0, INT64_MAX), {1, 2, 3, 4, 5, 6});
}

}  // namespace
}  // namespace planwright
