// MatMul, Conv, ConvTranspose and Attention by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tactics/kernels/registry.h"
#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_elements;
using testing::f32;
using testing::KernelCase;
using testing::refuses;
using testing::TestTensor;

std::vector<double> run(const KernelCase& c) {
  EXPECT_TRUE(run_kernel(reference_kernel(c.op), c).ok()) << last_error();
  return c.outputs[0].elements();
}

KernelCase matmul(TestTensor a, TestTensor b, const Dims& dims, DType type = DType::kF32) {
  return KernelCase::of(OpKind::kMatMul, {std::move(a), std::move(b)}, {TestTensor(type, dims)});
}

TEST(ReferenceMatMul, MultipliesMatrices) {
  EXPECT_EQ(run(matmul(f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3, 2}, {1, 0, 0, 1, 1, 1}), {2, 2})),
            (std::vector<double>{4, 5, 10, 11}));
}

TEST(ReferenceMatMul, BroadcastsBatches) {
  // Three 1x2 rows against two 2x1 columns: every pair.
  EXPECT_EQ(run(matmul(f32({3, 1, 1, 2}, {1, 0, 0, 1, 1, 1}), f32({2, 2, 1}, {2, 3, 5, 7}), {3, 2, 1, 1})),
            (std::vector<double>{2, 5, 3, 7, 5, 12}));
}

TEST(ReferenceMatMul, IntegersOfTwoTypesAccumulateExactly) {
  const TestTensor a = TestTensor::of(DType::kU8, {1, 2}, {255, 255}),
                   b = TestTensor::of(DType::kI8, {2, 1}, {-128, -127});
  EXPECT_EQ(run(matmul(a, b, {1, 1}, DType::kI32)), (std::vector<double>{-65025}));
}

// Three rows in blocks of two: the last has one. 1*3*10 + 2*-8*10 + 4*7*100, and 1*-1*1 + 2*0*1 + 4*2*-2.
TEST(ReferenceBlockMatMul, ScalesEachBlock) {
  const TestTensor w = TestTensor::of(DType::kI4, {3, 2}, {3, -1, -8, 0, 7, 2});
  KernelCase c = KernelCase::of(OpKind::kBlockMatMul, {f32({1, 3}, {1, 2, 4}), w, f32({2, 2}, {10, 1, 100, -2})},
                                {TestTensor(DType::kF32, {1, 2})});
  EXPECT_EQ(run(c.with(BlockMatMulParams{2})), (std::vector<double>{2670, -17}));
}

TEST(ReferenceMatMul, SumsOfFloatsAreRoundedOnce) {
  // In float, adding 2^-24 to 1 over and over stays at 1.
  std::vector<double> a(256, 0x1p-24);
  a[0] = 1;
  EXPECT_EQ(run(matmul(f32({1, 256}, a), f32({256, 1}, std::vector<double>(256, 1)), {1, 1})),
            (std::vector<double>{1 + 0x1p-16}));
}

TEST(ReferenceMatMul, NothingToSumIsZero) {
  EXPECT_EQ(run(matmul(f32({2, 0}, {}), f32({0, 2}, {}), {2, 2})), (std::vector<double>(4, 0)));
}

TEST(ReferenceMatMul, RunsItsEpilogue) {
  // relu(acc + bias[n]) in fp32, stored as int8.
  KernelCase c = matmul(f32({2, 1}, {1, -1}), f32({1, 2}, {3, 5}), {2, 2}, DType::kI8);
  c.with_program({testing::pw_acc(0), testing::pw_load(1, 0), testing::pw_compute(PwOp::kAdd, 0, 0, 1),
                  testing::pw_const(2, 0), testing::pw_compute(PwOp::kMax, 0, 0, 2), testing::pw_store(0, 0)},
                 {f32({2}, {1, 10})});
  EXPECT_EQ(run(c), (std::vector<double>{4, 15, 0, 5}));
}

TEST(ReferenceMatMul, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(refuses(matmul(TestTensor(DType::kF32, {2, 3}), TestTensor(DType::kF32, {2, 3}), {2, 3})));
  EXPECT_TRUE(refuses(matmul(TestTensor(DType::kF32, {2, 3}), TestTensor(DType::kF32, {3, 4}), {2, 3})));
  EXPECT_TRUE(refuses(matmul(TestTensor(DType::kF32, {3}), TestTensor(DType::kF32, {3, 4}), {4})));
  EXPECT_TRUE(refuses(matmul(TestTensor(DType::kF32, {2, 3}), TestTensor(DType::kI8, {3, 4}), {2, 4})));
  EXPECT_TRUE(refuses(matmul(TestTensor(DType::kF32, {2, 2, 3}), TestTensor(DType::kF32, {3, 3, 4}), {2, 2, 4})));
}

KernelCase conv(TestTensor x, TestTensor w, const Dims& dims, const ConvParams& params, std::vector<int64_t> pads) {
  KernelCase c = KernelCase::of(OpKind::kConv, {std::move(x), std::move(w)}, {TestTensor(DType::kF32, dims)});
  return c.with(params).with_scalars(std::move(pads));
}

TEST(ReferenceConv, PadsStridesAndDilates) {
  const TestTensor x = f32({1, 1, 5}, {1, 2, 3, 4, 5}), w = f32({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(run(conv(x, w, {1, 1, 5}, {.spatial = 1}, {1})), (std::vector<double>{210, 321, 432, 543, 54}));
  EXPECT_EQ(run(conv(x, w, {1, 1, 3}, {.spatial = 1}, {0})), (std::vector<double>{321, 432, 543}));
  EXPECT_EQ(run(conv(x, w, {1, 1, 3}, {.spatial = 1, .stride = {2, 1, 1}}, {1})), (std::vector<double>{210, 432, 54}));
  EXPECT_EQ(run(conv(x, w, {1, 1, 1}, {.spatial = 1, .dilation = {2, 1, 1}}, {0})), (std::vector<double>{531}));
  EXPECT_EQ(run(conv(x, w, {1, 1, 1}, {.spatial = 1}, {-1})), (std::vector<double>{432})) << "a negative pad crops";
}

TEST(ReferenceConv, GroupsSeeTheirOwnChannels) {
  const TestTensor x = f32({1, 4, 1}, {1, 2, 3, 4}), w = f32({2, 2, 1}, {1, 10, 1, 10});
  EXPECT_EQ(run(conv(x, w, {1, 2, 1}, {.spatial = 1, .group = 2}, {0})), (std::vector<double>{21, 43}));
}

TEST(ReferenceConv, SumsOverChannelsInTwoAndThreeDimensions) {
  const TestTensor x2 = f32({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), w2 = f32({1, 2, 2, 2}, std::vector<double>(8, 1));
  EXPECT_EQ(run(conv(x2, w2, {1, 1, 1, 1}, {.spatial = 2}, {0, 0})), (std::vector<double>{36}));
  const TestTensor x3 = f32({1, 1, 2, 1, 2}, {1, 2, 3, 4}), w3 = f32({1, 1, 2, 1, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(run(conv(x3, w3, {1, 1, 1, 1, 1}, {.spatial = 3}, {0, 0, 0})), (std::vector<double>{4321}));
}

TEST(ReferenceConv, ReadsAnyLayout) {
  testing::Rng rng(7);
  const Dims x_dims = {2, 4, 5, 6}, w_dims = {6, 2, 3, 3}, y_dims = {2, 6, 5, 6};
  const TestTensor x = TestTensor::random(rng, DType::kF32, x_dims), w = TestTensor::random(rng, DType::kF32, w_dims);
  const ConvParams params = {.group = 2};
  const std::vector<double> expected = run(conv(x, w, y_dims, params, {1, 1}));
  for (int i = 0; i < 5; ++i) {
    TestTensor strided_x(DType::kF32, x_dims, testing::random_strides(rng, x_dims));
    TestTensor strided_w(DType::kF32, w_dims, testing::random_strides(rng, w_dims));
    strided_x.set_elements(x.elements());
    strided_w.set_elements(w.elements());
    KernelCase c = conv(strided_x, strided_w, y_dims, params, {1, 1});
    c.outputs[0] = TestTensor(DType::kF32, y_dims, testing::random_strides(rng, y_dims));
    EXPECT_EQ(run(c), expected);
  }
}

TEST(ReferenceConv, RefusesWhatDoesNotFit) {
  const TestTensor x(DType::kF32, {1, 4, 8}), w(DType::kF32, {2, 2, 3});
  const auto refused = [&](const ConvParams& params, const Dims& y = {1, 2, 8}, std::vector<int64_t> pads = {1}) {
    return refuses(conv(x, w, y, params, std::move(pads)));
  };
  EXPECT_FALSE(refused({.spatial = 1, .group = 2}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 1}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 0}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 2, .stride = {0, 1, 1}}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 2, .dilation = {0, 1, 1}}));
  EXPECT_TRUE(refused({.spatial = 2, .group = 2}, {1, 2, 8}, {1, 1}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 2}, {1, 3, 8}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 2}, {2, 2, 8}));
  EXPECT_TRUE(refused({.spatial = 1, .group = 2}, {1, 2, 8}, {INT64_MAX}));
}

KernelCase conv_transpose(TestTensor x, TestTensor w, const Dims& dims, const ConvTransposeParams& params,
                          std::vector<int64_t> pads) {
  KernelCase c = KernelCase::of(OpKind::kConvTranspose, {std::move(x), std::move(w)}, {TestTensor(DType::kF32, dims)});
  return c.with(params).with_scalars(std::move(pads));
}

TEST(ReferenceConvTranspose, SpreadsEachInputElement) {
  const TestTensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(run(conv_transpose(x, w, {1, 1, 4}, {.spatial = 1}, {0})), (std::vector<double>{1, 12, 120, 200}));
  EXPECT_EQ(run(conv_transpose(x, w, {1, 1, 5}, {.spatial = 1, .stride = {2, 1, 1}}, {0})),
            (std::vector<double>{1, 10, 102, 20, 200}));
  EXPECT_EQ(run(conv_transpose(x, w, {1, 1, 3}, {.spatial = 1, .stride = {2, 1, 1}}, {1})),
            (std::vector<double>{10, 102, 20}));
  EXPECT_EQ(run(conv_transpose(x, w, {1, 1, 6}, {.spatial = 1, .dilation = {2, 1, 1}}, {0})),
            (std::vector<double>{1, 2, 10, 20, 100, 200}));
  EXPECT_EQ(run(conv_transpose(x, w, {1, 1, 6}, {.spatial = 1, .stride = {2, 1, 1}}, {0})),
            (std::vector<double>{1, 10, 102, 20, 200, 0}))
      << "output padding";
}

TEST(ReferenceConvTranspose, GroupsSeeTheirOwnChannels) {
  const TestTensor x = f32({1, 4, 1}, {1, 2, 3, 4}), w = f32({4, 1, 1}, {1, 10, 100, 1000});
  EXPECT_EQ(run(conv_transpose(x, w, {1, 2, 1}, {.spatial = 1, .group = 2}, {0})), (std::vector<double>{21, 4300}));
}

KernelCase attention(std::vector<TestTensor> inputs, const Dims& dims, const AttentionParams& params) {
  return KernelCase::of(OpKind::kAttention, std::move(inputs), {TestTensor(DType::kF32, dims)}).with(params);
}

TEST(ReferenceAttention, WeighsValuesBySoftmaxOfScores) {
  // Scores 0 and ln 3: weights 1/4 and 3/4.
  const TestTensor q = f32({1, 1, 1, 1}, {std::log(3.0)}), k = f32({1, 1, 2, 1}, {0, 1}), v = f32({1, 1, 2, 1}, {4, 8});
  expect_elements(TestTensor::of(DType::kF32, {1}, run(attention({q, k, v}, {1, 1, 1, 1}, {}))), {7}, 1e-6);
  // Halving the scale: weights 1 and sqrt 3.
  const double root = std::sqrt(3.0);
  expect_elements(f32({1}, run(attention({q, k, v}, {1, 1, 1, 1}, {.scale = 0.5f}))), {(4 + 8 * root) / (1 + root)},
                  1e-6);
}

TEST(ReferenceAttention, MasksAndCausality) {
  const TestTensor q = f32({1, 1, 2, 1}, {0, 0}), k = f32({1, 1, 2, 1}, {1, 1}), v = f32({1, 1, 2, 1}, {4, 8});
  EXPECT_EQ(run(attention({q, k, v}, {1, 1, 2, 1}, {})), (std::vector<double>{6, 6}));
  EXPECT_EQ(run(attention({q, k, v}, {1, 1, 2, 1}, {.causal = 1})), (std::vector<double>{4, 6}));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(attention({q, k, v, f32({1, 2}, {-inf, 0})}, {1, 1, 2, 1}, {})), (std::vector<double>{8, 8}));
  EXPECT_EQ(run(attention({q, k, v, f32({2, 2}, {-inf, 0, 0, -inf})}, {1, 1, 2, 1}, {})), (std::vector<double>{8, 4}));
}

TEST(ReferenceAttention, ARowThatSeesNothingIsNanOrZero) {
  const TestTensor q = f32({1, 1, 2, 1}, {0, 0}), k = f32({1, 1, 2, 1}, {1, 1}), v = f32({1, 1, 2, 1}, {4, 8});
  const double inf = std::numeric_limits<double>::infinity();
  const TestTensor mask = f32({2, 2}, {-inf, -inf, 0, -inf});
  EXPECT_TRUE(std::isnan(run(attention({q, k, v, mask}, {1, 1, 2, 1}, {}))[0]));
  EXPECT_EQ(run(attention({q, k, v, mask}, {1, 1, 2, 1}, {.zero_nan = 1})), (std::vector<double>{0, 4}));
}

TEST(ReferenceAttention, HeadsShareKeysInRuns) {
  const TestTensor q(DType::kF32, {1, 4, 1, 1}), k = f32({1, 2, 1, 1}, {1, 1}), v = f32({1, 2, 1, 1}, {4, 8});
  TestTensor zeros = q;
  zeros.map([](double) { return 0.0; });
  EXPECT_EQ(run(attention({zeros, k, v}, {1, 4, 1, 1}, {})), (std::vector<double>{4, 4, 8, 8}));
}

TEST(ReferenceAttention, SoftcapBoundsScores) {
  const TestTensor q = f32({1, 1, 1, 1}, {1000}), k = f32({1, 1, 2, 1}, {0, 1}), v = f32({1, 1, 2, 1}, {0, 1});
  // 1 * tanh(1000 / 1) = 1: weight e / (1 + e).
  expect_elements(f32({1}, run(attention({q, k, v}, {1, 1, 1, 1}, {.softcap = 1.0f}))),
                  {std::exp(1.0) / (1 + std::exp(1.0))}, 1e-6);
}

}  // namespace
}  // namespace planwright
