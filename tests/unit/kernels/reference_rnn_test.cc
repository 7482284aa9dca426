// RNN, GRU and LSTM: one unit by hand, and the identities between their options.
#include <gtest/gtest.h>

#include <cmath>

#include "tactics/kernels/registry.h"
#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_elements;
using testing::expect_runs;
using testing::f32;
using testing::KernelCase;
using testing::refuses;
using testing::Rng;
using testing::TestTensor;

constexpr auto kAffine = RnnActivation::kAffine;

// Every activation the identity, so that what a cell computes can be followed by hand.
RnnParams linear(RnnKind kind) {
  RnnParams params;
  params.kind = kind;
  params.hidden = 1;
  for (int i = 0; i < 6; ++i) {
    params.activations[i] = kAffine;
    params.alpha[i] = 1;
  }
  return params;
}

RnnParams usual(RnnKind kind, int hidden, int directions = 1) {
  RnnParams params;
  params.kind = kind;
  params.hidden = hidden;
  params.directions = directions;
  for (int direction = 0; direction < 2; ++direction) {
    if (kind != RnnKind::kRnn) params.activations[3 * direction] = RnnActivation::kSigmoid;
  }
  return params;
}

TEST(ReferenceRnn, PlainCellAddsInputAndState) {
  // h = gate + 3h.
  KernelCase c = KernelCase::of(
      OpKind::kRnn, {f32({2, 1, 1}, {112, 114}), f32({1, 1, 1}, {3}), TestTensor(), TestTensor(), f32({1, 1, 1}, {5})},
      {TestTensor(DType::kF32, {2, 1, 1, 1}), TestTensor(DType::kF32, {1, 1, 1})});
  expect_runs(c.with(linear(RnnKind::kRnn)));
  const double first = 112 + 15, second = 114 + 3 * first;
  expect_elements(c.outputs[0], {first, second});
  expect_elements(c.outputs[1], {second});
}

TEST(ReferenceRnn, ClipBoundsWhatGoesIntoActivations) {
  KernelCase c = KernelCase::of(OpKind::kRnn, {f32({2, 1, 1}, {9, -9}), f32({1, 1, 1}, {0})},
                                {TestTensor(DType::kF32, {2, 1, 1, 1})});
  RnnParams params = linear(RnnKind::kRnn);
  params.clip = 2;
  expect_runs(c.with(params));
  expect_elements(c.outputs[0], {2, -2});
}

TEST(ReferenceRnn, GruGatesInOrderUpdateResetHidden) {
  // z = 0.5 and r = 0.25 whatever the state; the candidate is 1 + R_h (r h) or 1 + r (R_h h + bias).
  KernelCase c = KernelCase::of(
      OpKind::kRnn,
      {f32({1, 1, 3}, {0.5, 0.25, 1}), f32({1, 3, 1}, {0, 0, 2}), TestTensor(), TestTensor(), f32({1, 1, 1}, {4})},
      {TestTensor(DType::kF32, {1, 1, 1, 1})});
  RnnParams params = linear(RnnKind::kGru);
  expect_runs(c.with(params));
  expect_elements(c.outputs[0], {0.5 * (1 + 2 * (0.25 * 4)) + 0.5 * 4});
  params.linear_before_reset = 1;
  c.inputs[2] = f32({1, 1}, {8});
  expect_runs(c.with(params));
  expect_elements(c.outputs[0], {0.5 * (1 + 0.25 * (2 * 4 + 8)) + 0.5 * 4});
}

TEST(ReferenceRnn, LstmGatesInOrderInputOutputForgetCell) {
  // i = 0.5, o = 0.25, f = 2 and the cell candidate is 3 whatever the state.
  std::vector<TestTensor> inputs = {f32({1, 1, 4}, {0.5, 0.25, 2, 3}),
                                    f32({1, 4, 1}, {0, 0, 0, 0}),
                                    TestTensor(),
                                    TestTensor(),
                                    f32({1, 1, 1}, {0}),
                                    f32({1, 1, 1}, {7})};
  const std::vector<TestTensor> outputs = {TestTensor(DType::kF32, {1, 1, 1, 1}), TestTensor(DType::kF32, {1, 1, 1}),
                                           TestTensor(DType::kF32, {1, 1, 1})};
  KernelCase c = KernelCase::of(OpKind::kRnn, inputs, outputs);
  RnnParams params = linear(RnnKind::kLstm);
  expect_runs(c.with(params));
  expect_elements(c.outputs[2], {2 * 7 + 0.5 * 3});
  expect_elements(c.outputs[1], {0.25 * 15.5});

  params.input_forget = 1;
  expect_runs(c.with(params));
  expect_elements(c.outputs[2], {0.5 * 7 + 0.5 * 3});

  // Peepholes i, o, f: i and f see the old cell, o the new one.
  inputs.push_back(f32({1, 3}, {0.1f, 1, 0.5}));
  c = KernelCase::of(OpKind::kRnn, inputs, outputs);
  expect_runs(c.with(linear(RnnKind::kLstm)));
  const double in = 0.5 + 0.7, forget = 2 + 3.5, cell = forget * 7 + in * 3;
  expect_elements(c.outputs[2], {cell}, 1e-5);
  expect_elements(c.outputs[1], {(0.25 + cell) * cell}, 1e-2);
}

TEST(ReferenceRnn, EachDirectionHasItsGatesAndActivations) {
  KernelCase c = KernelCase::of(OpKind::kRnn, {f32({2, 1, 2}, {1, 10, 2, 20}), f32({2, 1, 1}, {1, 1})},
                                {TestTensor(DType::kF32, {2, 2, 1, 1}), TestTensor(DType::kF32, {2, 1, 1})});
  RnnParams params = linear(RnnKind::kRnn);
  params.directions = 2;
  params.alpha[3] = 2;  // the second direction doubles
  expect_runs(c.with(params));
  // Forwards 1, 3; backwards 2 * 20 = 40 at time 1, then 2 * (10 + 40) = 100 at time 0.
  expect_elements(c.outputs[0], {1, 100, 3, 40});
  expect_elements(c.outputs[1], {3, 100});
}

TEST(ReferenceRnn, ShorterSequencesEndEarlyAndLeaveZeros) {
  const auto case_of = [](int reverse) {
    RnnParams params = linear(RnnKind::kRnn);
    params.reverse = reverse;
    KernelCase c = KernelCase::of(OpKind::kRnn,
                                  {f32({3, 2, 1}, {1, 1, 2, 2, 4, 4}), f32({1, 1, 1}, {10}), TestTensor(),
                                   TestTensor::of(DType::kI32, {2}, {3, 2})},
                                  {TestTensor(DType::kF32, {3, 1, 2, 1}), TestTensor(DType::kF32, {1, 2, 1})});
    return c.with(params);
  };
  const KernelCase forwards = case_of(0), backwards = case_of(1);
  expect_runs(forwards);
  expect_elements(forwards.outputs[0], {1, 1, 12, 12, 124, 0});
  expect_elements(forwards.outputs[1], {124, 12});
  expect_runs(backwards);
  expect_elements(backwards.outputs[0], {421, 21, 42, 2, 4, 0});
  expect_elements(backwards.outputs[1], {421, 21});

  KernelCase too_long = case_of(0);
  too_long.inputs[3] = TestTensor::of(DType::kI32, {2}, {4, 0});
  EXPECT_EQ(run_kernel(reference_kernel(OpKind::kRnn), too_long).code(), StatusCode::kPrecondition);
}

TEST(ReferenceRnn, Activations) {
  const auto activated = [](RnnActivation activation, double x, float alpha = 0, float beta = 0) {
    RnnParams params = linear(RnnKind::kRnn);
    params.activations[0] = activation;
    params.alpha[0] = alpha;
    params.beta[0] = beta;
    KernelCase c = KernelCase::of(OpKind::kRnn, {f32({1, 1, 1}, {x}), f32({1, 1, 1}, {0})},
                                  {TestTensor(DType::kF64, {1, 1, 1, 1})});
    expect_runs(c.with(params));
    return c.outputs[0].elements()[0];
  };
  EXPECT_DOUBLE_EQ(activated(RnnActivation::kTanh, 0.5), std::tanh(0.5));
  EXPECT_DOUBLE_EQ(activated(RnnActivation::kSigmoid, 0.5), 1 / (1 + std::exp(-0.5)));
  EXPECT_EQ(activated(RnnActivation::kRelu, -2), 0);
  EXPECT_EQ(activated(RnnActivation::kAffine, 3, 2, 1), 7);
  EXPECT_EQ(activated(RnnActivation::kLeakyRelu, -4, 0.25f), -1);
  EXPECT_EQ(activated(RnnActivation::kThresholdedRelu, 0.5, 1), 0);
  EXPECT_EQ(activated(RnnActivation::kThresholdedRelu, 1.5, 1), 1.5);
  EXPECT_DOUBLE_EQ(activated(RnnActivation::kScaledTanh, 0.5, 2, 3), 2 * std::tanh(1.5));
  EXPECT_EQ(activated(RnnActivation::kHardSigmoid, 0.5, 0.25f, 0.5f), 0.625);
  EXPECT_EQ(activated(RnnActivation::kHardSigmoid, 9, 0.25f, 0.5f), 1);
  EXPECT_DOUBLE_EQ(activated(RnnActivation::kElu, -1, 2), 2 * (std::exp(-1) - 1));
  EXPECT_EQ(activated(RnnActivation::kSoftsign, -3), -0.75);
  EXPECT_DOUBLE_EQ(activated(RnnActivation::kSoftplus, 1), std::log(1 + std::exp(1)));
  EXPECT_DOUBLE_EQ(activated(RnnActivation::kSoftplus, 1000), 1000);
}

// Axes 0 and 1 of a dense tensor exchanged.
TestTensor swapped(const TestTensor& x) {
  Dims dims = x.dims();
  std::swap(dims[0], dims[1]);
  TestTensor y(x.view().dtype, dims);
  TransposeParams params = {.perm = {1, 0, 2, 3}};
  KernelCase c = KernelCase::of(OpKind::kTranspose, {x}, {y}).with(params);
  EXPECT_TRUE(run_kernel(reference_kernel(OpKind::kTranspose), c).ok()) << last_error();
  return y;
}

TEST(ReferenceRnn, BatchFirstIsTheSameWithAxesExchanged) {
  constexpr int64_t kTimes = 4, kBatch = 3, kHidden = 5, kDirections = 2;
  for (const RnnKind kind : {RnnKind::kRnn, RnnKind::kGru, RnnKind::kLstm}) {
    Rng rng(11);
    const int64_t rows = (kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1) * kHidden;
    const auto random = [&](const Dims& dims) { return TestTensor::random(rng, DType::kF32, dims); };
    KernelCase c = KernelCase::of(OpKind::kRnn,
                                  {random({kTimes, kBatch, kDirections * rows}), random({kDirections, rows, kHidden}),
                                   TestTensor(), TestTensor(), random({kDirections, kBatch, kHidden})},
                                  {TestTensor(DType::kF32, {kTimes, kDirections, kBatch, kHidden}),
                                   TestTensor(DType::kF32, {kDirections, kBatch, kHidden})});
    RnnParams params = usual(kind, kHidden, kDirections);
    expect_runs(c.with(params));
    expect_same_bits_on_any_threads(reference_kernel(OpKind::kRnn), c);

    KernelCase first = c;
    first.inputs[0] = swapped(c.inputs[0]);
    first.inputs[4] = swapped(c.inputs[4]);
    first.outputs = {TestTensor(DType::kF32, {kBatch, kTimes, kDirections, kHidden}),
                     TestTensor(DType::kF32, {kBatch, kDirections, kHidden})};
    params.batch_first = 1;
    expect_runs(first.with(params));
    EXPECT_EQ(swapped(first.outputs[1]).elements(), c.outputs[1].elements());
    // The last forward state is Y's last time, the last backward one its first.
    const std::vector<double> y = c.outputs[0].elements(), last = c.outputs[1].elements();
    constexpr size_t kPlane = kBatch * kHidden;
    EXPECT_TRUE(std::equal(last.begin(), last.begin() + kPlane, y.end() - 2 * kPlane));
    EXPECT_TRUE(std::equal(last.begin() + kPlane, last.end(), y.begin() + kPlane));
    EXPECT_EQ(first.outputs[0].elements().size(), y.size());
  }
}

TEST(ReferenceRnn, RefusesWhatDoesNotFit) {
  const auto with = [](const RnnParams& params, const Dims& gates = {2, 1, 1}, const Dims& y = {2, 1, 1, 1}) {
    return KernelCase::of(OpKind::kRnn, {TestTensor(DType::kF32, gates), TestTensor(DType::kF32, {1, 1, 1})},
                          {TestTensor(DType::kF32, y)})
        .with(params);
  };
  RnnParams params = linear(RnnKind::kRnn);
  EXPECT_FALSE(refuses(with(params)));
  EXPECT_TRUE(refuses(with(params, {2, 1, 3})));
  EXPECT_TRUE(refuses(with(params, {2, 1, 1}, {2, 1, 2, 1})));
  KernelCase biased = with(params);
  biased.inputs.push_back(TestTensor(DType::kF32, {1, 1}));
  biased.core_inputs = 3;
  EXPECT_TRUE(refuses(biased));  // no reset gate
  params.hidden = 2;
  EXPECT_TRUE(refuses(with(params)));
  params = linear(RnnKind::kGru);
  EXPECT_TRUE(refuses(with(params)));
  params = linear(RnnKind::kRnn);
  params.directions = 3;
  EXPECT_TRUE(refuses(with(params)));
  params = linear(RnnKind::kRnn);
  params.activations[5] = static_cast<RnnActivation>(11);
  EXPECT_TRUE(refuses(with(params)));
}

}  // namespace
}  // namespace planwright
