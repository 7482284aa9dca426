// Tiled attention against the reference, for every tile of every tier this CPU runs.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> attention_kernels() { return family_of(OpKind::kAttention, "attention_f32_"); }

struct AttentionShape {
  int64_t batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, depth = 1, values = 1;
  AttentionParams params;
};

KernelCase attention_case(Rng& rng, const AttentionShape& s) {
  const Dims q = {s.batch, s.heads, s.queries, s.depth}, k = {s.batch, s.key_heads, s.keys, s.depth};
  const Dims v = {s.batch, s.key_heads, s.keys, s.values}, y = {s.batch, s.heads, s.queries, s.values};
  // Heads next to each other in each row, as projections leave them: a transposed view.
  const std::vector<int> rows_first = {0, 2, 1, 3};
  return KernelCase::of(OpKind::kAttention,
                        {TestTensor::random(rng, DType::kF32, q, strides_of(q, rows_first)),
                         TestTensor::random(rng, DType::kF32, k, strides_of(k, rows_first)),
                         TestTensor::random(rng, DType::kF32, v, strides_of(v, rows_first))},
                        {TestTensor(DType::kF32, y, strides_of(y, rows_first))})
      .with(s.params);
}

// The scores' errors become relative ones in the exponentials.
constexpr Tolerance kTolerance = {.relative = 2e-5, .absolute = 4e-6};

AttentionShape random_shape(Rng& rng) {
  AttentionShape s;
  s.batch = random_int(rng, 1, 2);
  s.key_heads = random_int(rng, 1, 3);
  s.heads = s.key_heads * random_int(rng, 1, 2);
  s.queries = random_int(rng, 1, 40);
  s.keys = random_int(rng, 1, 70);
  s.depth = random_int(rng, 1, 40);
  s.values = random_int(rng, 1, 70);
  s.params.scale = 0.25f;
  s.params.causal = static_cast<int32_t>(random_int(rng, 0, 1));
  s.params.softcap = random_int(rng, 0, 2) == 0 ? 0.5f : 0.0f;
  s.params.zero_nan = static_cast<int32_t>(random_int(rng, 0, 1));
  return s;
}

TEST(AttentionTest, ThereIsAKernelForEveryTier) { EXPECT_GE(attention_kernels().size(), 2u); }

// Masks of minus infinity and of the lowest float, as exporters write them; whole rows of them.
TEST(AttentionTest, MasksThatHideColumnsAndWholeRows) {
  Rng rng(11);
  for (const KernelDescriptor* kernel : attention_kernels()) {
    for (const double hidden : {-HUGE_VAL, static_cast<double>(-FLT_MAX), -88.0}) {
      for (const int32_t zero_nan : {0, 1}) {
        AttentionShape s = random_shape(rng);
        s.params.causal = 0;
        s.params.zero_nan = zero_nan;
        KernelCase c = attention_case(rng, s);
        TestTensor mask = TestTensor::random(rng, DType::kF32, {s.queries, s.keys});
        std::vector<double> elements = mask.elements();
        for (int64_t i = 0; i < mask.count(); ++i) {
          if (i / s.keys % 3 == 0 || random_int(rng, 0, 1) == 0) elements[static_cast<size_t>(i)] = hidden;
        }
        mask.set_elements(elements);
        c.inputs.push_back(mask);
        c.core_inputs = 4;
        SCOPED_TRACE(describe(c));
        expect_like_reference(*kernel, c, kTolerance);
      }
    }
  }
}

TEST(AttentionTest, RandomShapes) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : attention_kernels()) {
    for (int i = 0; i < 80; ++i) {
      const AttentionShape s = random_shape(rng);
      KernelCase c = attention_case(rng, s);
      if (random_int(rng, 0, 1) == 0) {
        Dims mask = {s.batch, s.heads, s.queries, s.keys};
        for (int64_t& dim : mask) {
          if (random_int(rng, 0, 1) == 0) dim = 1;
        }
        mask.erase(mask.begin(), mask.begin() + random_int(rng, 0, 3));
        c.inputs.push_back(TestTensor::random(rng, DType::kF32, mask, random_strides(rng, mask)));
        c.core_inputs = 4;
      }
      // Keys transposed in memory, values in any order.
      const Dims k = c.inputs[1].dims(), v = c.inputs[2].dims();
      if (i % 3 == 0) c.inputs[1] = TestTensor::random(rng, DType::kF32, k, strides_of(k, {0, 1, 3, 2}));
      if (i % 5 == 0) c.inputs[2] = TestTensor::random(rng, DType::kF32, v, random_strides(rng, v));
      SCOPED_TRACE(describe(c));
      expect_like_reference(*kernel, c, kTolerance, {{static_cast<int32_t>(random_int(rng, 0, 2))}}, 1 + i % 2);
    }
  }
}

// Masks as padding makes them: -inf, or so low that the exponential is 0.
TEST(AttentionTest, PaddingMask) {
  Rng rng(2);
  AttentionShape s;
  s.batch = 2;
  s.heads = s.key_heads = 2;
  s.queries = 19;
  s.keys = 37;
  s.depth = 8;
  s.values = 8;
  for (const double low : {-std::numeric_limits<double>::infinity(), -1e30, -10000.0}) {
    KernelCase c = attention_case(rng, s);
    std::vector<double> mask(2 * 37, 0.0);
    for (int t = 20; t < 37; ++t) mask[static_cast<size_t>(t)] = low;
    c.inputs.push_back(TestTensor::of(DType::kF32, {2, 1, 1, 37}, mask));
    c.core_inputs = 4;
    for (const KernelDescriptor* kernel : attention_kernels()) expect_like_reference(*kernel, c, kTolerance);
  }
}

// A row that sees nothing is NaN, as softmax of nothing but -inf is; the others are not.
TEST(AttentionTest, FullyMaskedRow) {
  Rng rng(3);
  AttentionShape s;
  s.queries = 3;
  s.keys = 20;
  s.depth = 4;
  s.values = 5;
  KernelCase c = attention_case(rng, s);
  std::vector<double> mask(3 * 20, 0.0);
  for (size_t t = 20; t < 40; ++t) mask[t] = -std::numeric_limits<double>::infinity();
  c.inputs.push_back(TestTensor::of(DType::kF32, {1, 1, 3, 20}, mask));
  c.core_inputs = 4;
  for (const KernelDescriptor* kernel : attention_kernels()) expect_like_reference(*kernel, c, kTolerance);
}

TEST(AttentionTest, LargeScoresDoNotOverflow) {
  Rng rng(4);
  AttentionShape s;
  s.queries = 17;
  s.keys = 33;
  s.depth = 16;
  s.values = 16;
  s.params.scale = 1000.0f;
  KernelCase c = attention_case(rng, s);
  // Far apart, so that one key takes all the weight whatever the rounding of the scores.
  c.inputs[0].map([](double) { return 1.0; });
  int key = 0;
  c.inputs[1].map([&](double) { return (key++ / 16) * 0.5; });
  for (const KernelDescriptor* kernel : attention_kernels()) expect_like_reference(*kernel, c, kTolerance);
}

TEST(AttentionTest, EmptyDims) {
  Rng rng(5);
  AttentionShape none;
  none.queries = 5;
  none.keys = 0;
  none.depth = 4;
  none.values = 3;
  AttentionShape no_queries = none;
  no_queries.queries = 0;
  no_queries.keys = 5;
  AttentionShape no_depth = no_queries;
  no_depth.queries = 4;
  no_depth.depth = 0;
  for (const KernelDescriptor* kernel : attention_kernels()) {
    for (const AttentionShape& s : {none, no_queries, no_depth}) {
      expect_like_reference(*kernel, attention_case(rng, s), kTolerance);
    }
  }
}

TEST(AttentionTest, SameBitsOnAnyThreads) {
  Rng rng(6);
  AttentionShape s;
  s.batch = 2;
  s.heads = s.key_heads = 3;
  s.queries = 100;
  s.keys = 90;
  s.depth = s.values = 32;
  for (const KernelDescriptor* kernel : attention_kernels()) {
    for (const int32_t tiles : {0, 1}) expect_same_bits_on_any_threads(*kernel, attention_case(rng, s), {{tiles}});
  }
}

TEST(AttentionTest, RefusesWhatItCannotDo) {
  Rng rng(7);
  AttentionShape s;
  s.queries = s.keys = 6;
  s.depth = s.values = 4;
  for (const KernelDescriptor* kernel : attention_kernels()) {
    EXPECT_EQ(validate_case(*kernel, attention_case(rng, s)).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, attention_case(rng, s), {{-1}}).code(), StatusCode::kInvalid);
    KernelCase c = attention_case(rng, s);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims(), {24, 24, 1, 6});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = attention_case(rng, s);
    c.inputs[1] = c.inputs[1].dense_as(DType::kF16);
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = attention_case(rng, s);
    c.inputs[2] = TestTensor::random(rng, DType::kF32, {1, 1, 7, 4});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace planwright::testing
