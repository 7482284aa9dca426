// The fast recurrences against the reference, for every tier this CPU runs.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/kernel_generator.h"

namespace planwright::testing {
namespace {

struct RnnShape {
  int64_t times = 1, batch = 1;
  RnnParams params;
};

RnnParams usual(RnnKind kind, int32_t hidden, int32_t directions = 1) {
  RnnParams params;
  params.kind = kind;
  params.hidden = hidden;
  params.directions = directions;
  for (const int f : {0, 3}) {
    if (kind != RnnKind::kRnn) params.activations[f] = RnnActivation::kSigmoid;
  }
  return params;
}

RnnShape random_shape(Rng& rng) {
  RnnShape s;
  s.times = random_int(rng, 0, 6);
  s.batch = coin(rng) ? random_int(rng, 1, 3) : random_int(rng, 0, 20);
  s.params = usual(static_cast<RnnKind>(random_int(rng, 0, 2)), static_cast<int32_t>(random_int(rng, 1, 70)),
                   static_cast<int32_t>(random_int(rng, 1, 2)));
  s.params.reverse = coin(rng);
  s.params.batch_first = coin(rng);
  s.params.linear_before_reset = coin(rng);
  s.params.input_forget = random_int(rng, 0, 3) == 0;
  s.params.clip = random_int(rng, 0, 3) == 0 ? 0.5f : 0.0f;
  for (int i = 0; i < 6; ++i) {
    if (random_int(rng, 0, 3) != 0) continue;
    s.params.activations[i] = static_cast<RnnActivation>(random_int(rng, 0, 10));
    // Where a threshold is 0 nothing jumps.
    s.params.alpha[i] = s.params.activations[i] == RnnActivation::kThresholdedRelu ? 0.0f : 0.4f;
    s.params.beta[i] = 0.25f;
  }
  return s;
}

// Operands and outputs that need not be given are, or not, as coins fall.
KernelCase rnn_case(Rng& rng, const RnnShape& s, bool all = false) {
  const RnnParams& p = s.params;
  const bool lstm = p.kind == RnnKind::kLstm, first = p.batch_first != 0;
  const int64_t directions = p.directions, hidden = p.hidden;
  const int64_t rows = hidden * (lstm ? 4 : p.kind == RnnKind::kGru ? 3 : 1);
  const Dims gates = first ? Dims{s.batch, s.times, directions * rows} : Dims{s.times, s.batch, directions * rows};
  const Dims state = first ? Dims{s.batch, directions, hidden} : Dims{directions, s.batch, hidden};
  const Dims y = first ? Dims{s.batch, s.times, directions, hidden} : Dims{s.times, directions, s.batch, hidden};
  const auto random = [&](const Dims& dims) { return TestTensor::random(rng, DType::kF32, dims); };
  const auto given = [&] { return all || coin(rng); };
  const auto loose = [&](const Dims& dims, const std::vector<int>& order) {
    return TestTensor::random(rng, DType::kF32, dims, strides_of(dims, order, random_int(rng, 0, 3)));
  };
  std::vector<TestTensor> inputs(7);
  inputs[0] = coin(rng) ? loose(gates, {1, 0, 2}) : loose(gates, {0, 1, 2});
  // As large as it may be without chaos, in which differences would grow from step to step.
  inputs[1] = TestTensor::random(rng, DType::kF32, {directions, rows, hidden}, -0.15, 0.15);
  if (p.kind == RnnKind::kGru && p.linear_before_reset != 0 && given()) inputs[2] = random({directions, hidden});
  if (given()) {
    inputs[3] =
        TestTensor::random(rng, coin(rng) ? DType::kI32 : DType::kI64, {s.batch}, 0, static_cast<double>(s.times));
  }
  if (given()) inputs[4] = TestTensor::random(rng, DType::kF32, state, random_strides(rng, state));
  if (given()) inputs[5] = random(state);
  if (given()) inputs[6] = random({directions, 3 * hidden});
  std::vector<TestTensor> outputs(3);
  if (given()) outputs[0] = TestTensor(DType::kF32, y, strides_of(y, {2, 0, 1, 3}, random_int(rng, 0, 3)));
  if (given()) outputs[1] = TestTensor(DType::kF32, state, random_strides(rng, state));
  if (lstm && given()) outputs[2] = TestTensor(DType::kF32, state);
  return KernelCase::of(OpKind::kRnn, inputs, outputs).with(p);
}

const Generator kGenerator = {"Rnn",
                              OpKind::kRnn,
                              [](Rng& rng) { return rnn_case(rng, random_shape(rng)); },
                              {.relative = 2e-5, .absolute = 1e-5},
                              {"rnn_f32"},
                              200};

TEST(RnnTest, RandomCases) { expect_agreement_on_random_cases(kGenerator); }

TEST(RnnTest, HostileCasesStayInBounds) { expect_hostile_cases_stay_in_bounds(kGenerator); }

TEST(RnnTest, AnyCutIntoTasks) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : kernels_of(OpKind::kRnn)) {
    for (int i = 0; i < 100; ++i) {
      const KernelCase c = kGenerator.make(rng);
      const TacticParams tactic = {
          {static_cast<int32_t>(random_int(rng, 0, 9)), static_cast<int32_t>(random_int(rng, 0, 9))}};
      SCOPED_TRACE(describe(c));
      expect_like_reference(*kernel, c, kGenerator.tolerance, tactic, 1 + i % 3);
    }
  }
}

TEST(RnnTest, SameBitsOnAnyThreads) {
  Rng rng(3);
  for (const RnnKind kind : {RnnKind::kRnn, RnnKind::kGru, RnnKind::kLstm}) {
    for (const int64_t batch : {1, 9}) {
      const KernelCase c = rnn_case(rng, {5, batch, usual(kind, 100, 2)}, true);
      for (const KernelDescriptor* kernel : kernels_of(OpKind::kRnn)) {
        for (const int32_t groups : {0, 1, 3}) expect_same_bits_on_any_threads(*kernel, c, {{groups}});
      }
    }
  }
}

// Whatever the tier, every tactic that it wants timed is one that it takes.
TEST(RnnTest, ListsTacticsThatItTakes) {
  Rng rng(4);
  for (const KernelDescriptor* kernel : kernels_of(OpKind::kRnn)) {
    for (const RnnShape& s : {RnnShape{100, 1, usual(RnnKind::kGru, 400)}, RnnShape{2, 5, usual(RnnKind::kLstm, 3, 2)},
                              RnnShape{0, 0, usual(RnnKind::kRnn, 1)}}) {
      const KernelCase c = rnn_case(rng, s, true);
      std::vector<TensorView> storage;
      TacticParams list[8];
      const int count = kernel->tactics(c.args(&storage), list, 8);
      ASSERT_GE(count, 1);
      for (int i = 0; i < count; ++i) EXPECT_TRUE(validate_case(*kernel, c, list[i]).ok()) << last_error();
    }
  }
}

TEST(RnnTest, NotANumberStaysOne) {
  Rng rng(5);
  for (const RnnKind kind : {RnnKind::kRnn, RnnKind::kGru, RnnKind::kLstm}) {
    KernelCase c = rnn_case(rng, {3, 2, usual(kind, 20)}, true);
    c.inputs[3] = TestTensor();
    int at = 0;
    c.inputs[0].map([&](double value) { return at++ == 25 ? std::nan("") : value; });
    for (const KernelDescriptor* kernel : kernels_of(OpKind::kRnn)) {
      expect_like_reference(*kernel, c, kGenerator.tolerance);
    }
  }
}

TEST(RnnTest, ALengthPastTheEndIsAPrecondition) {
  Rng rng(6);
  for (const double length : {4.0, -1.0}) {
    KernelCase c = rnn_case(rng, {3, 2, usual(RnnKind::kLstm, 5)}, true);
    c.inputs[3] = TestTensor::of(DType::kI64, {2}, {1, length});
    for (const KernelDescriptor* kernel : kernels_of(OpKind::kRnn)) {
      EXPECT_EQ(run_kernel(*kernel, c).code(), StatusCode::kPrecondition) << kernel->name;
    }
  }
}

TEST(RnnTest, RefusesWhatItCannotDo) {
  Rng rng(7);
  const RnnShape shape = {3, 2, usual(RnnKind::kGru, 20)};
  for (const KernelDescriptor* kernel : kernels_of(OpKind::kRnn)) {
    const auto code = [&](const KernelCase& c, const TacticParams& tactic = {}) {
      return validate_case(*kernel, c, tactic).code();
    };
    KernelCase c = rnn_case(rng, shape, true);
    EXPECT_EQ(code(c), StatusCode::kOk);
    EXPECT_EQ(code(c, {{-1}}), StatusCode::kInvalid);
    EXPECT_EQ(code(c, {{0, -1}}), StatusCode::kInvalid);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, {3, 2, 60}, {120, 1, 2});
    EXPECT_EQ(code(c), StatusCode::kUnsupported);
    c = rnn_case(rng, shape, true);
    c.inputs[4] = c.inputs[4].dense_as(DType::kF16);
    EXPECT_EQ(code(c), StatusCode::kUnsupported);
    c = rnn_case(rng, shape, true);
    c.outputs[0] = TestTensor(DType::kF16, c.outputs[0].dims());
    EXPECT_EQ(code(c), StatusCode::kUnsupported);
    c = rnn_case(rng, shape, true);
    c.inputs[1] = TestTensor::random(rng, DType::kF32, {1, 61, 20});
    EXPECT_EQ(code(c), StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace planwright::testing
