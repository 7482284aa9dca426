// Fast contractions take denormal numbers for zeros, and leave the thread's arithmetic as it was.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

bool arithmetic_keeps_denormals() {
  volatile float denormal = 1e-40f;
  volatile float one = 1.0f;
  return denormal * one > 0.0f;
}

// Whether the outputs of `kernel` are all zeros where all elements of one operand are denormal.
void expect_zeros(const KernelDescriptor& kernel, KernelCase c, size_t operand) {
  SCOPED_TRACE(kernel.name);
  c.inputs[1 - operand].map([](double) { return 1.0; });
  c.inputs[operand].map([](double) { return 1e-40; });
  if (!validate_case(kernel, c).ok()) return;
  ASSERT_TRUE(run_kernel(kernel, c, {}, 2).ok());
  for (const double y : c.outputs[0].elements()) ASSERT_EQ(y, 0.0);
  EXPECT_TRUE(arithmetic_keeps_denormals());
}

KernelCase conv_of(Rng& rng, int64_t channels, int64_t filters, int group) {
  ConvShape shape;
  shape.channels = channels;
  shape.filters = filters;
  shape.group = group;
  shape.input = {9, 11};
  shape.kernel = {3, 3};
  return conv_case(rng, shape);
}

TEST(DenormalsTest, AreZerosInConvolutions) {
  Rng rng(1);
  // Of every family: plain and Winograd, depthwise, a network's first layer, few filters.
  const std::vector<KernelCase> cases = {conv_of(rng, 20, 40, 1), conv_of(rng, 20, 20, 20), conv_of(rng, 3, 24, 1),
                                         conv_of(rng, 24, 3, 1)};
  for (const std::string family : {"conv_f32_", "winograd_f32_", "depthwise_f32_", "first_layer_f32_"}) {
    const auto kernels = family_of(OpKind::kConv, family);
    ASSERT_FALSE(kernels.empty()) << family;
    for (const KernelDescriptor* kernel : kernels) {
      for (const KernelCase& c : cases) {
        for (const size_t operand : {0, 1}) expect_zeros(*kernel, c.with_own_outputs(), operand);
      }
    }
  }
  for (const KernelDescriptor* kernel : few_column_kernels(OpKind::kConv)) expect_zeros(*kernel, cases[3], 1);
}

TEST(DenormalsTest, AreZerosInMatrixProducts) {
  Rng rng(2);
  const KernelCase c = KernelCase::of(
      OpKind::kMatMul, {TestTensor::random(rng, DType::kF32, {19, 30}), TestTensor::random(rng, DType::kF32, {30, 50})},
      {TestTensor(DType::kF32, {19, 50})});
  for (const KernelDescriptor* kernel : family_of(OpKind::kMatMul, "matmul_f32_")) {
    for (const size_t operand : {0, 1}) expect_zeros(*kernel, c.with_own_outputs(), operand);
  }
}

// What is fused behind computes with them: log(x + 1e-40), (x + y) * 1e30.
TEST(DenormalsTest, AreNumbersInEpilogues) {
  Rng rng(3);
  using Op = PwOp;
  const std::vector<PwInstr> logarithm = {pw_acc(0), pw_load(1, 0), pw_compute(Op::kAdd, 2, 0, 1),
                                          pw_compute(Op::kLog, 3, 2), pw_store(0, 3)};
  const std::vector<PwInstr> scaled = {
      pw_acc(0),     pw_load(1, 0), pw_compute(Op::kAdd, 2, 0, 1), pw_const(3, 1e30), pw_compute(Op::kMul, 4, 2, 3),
      pw_store(0, 4)};
  for (const auto& program : {logarithm, scaled}) {
    KernelCase product =
        KernelCase::of(OpKind::kMatMul,
                       {TestTensor::random(rng, DType::kF32, {9, 20}), TestTensor::random(rng, DType::kF32, {20, 33})},
                       {TestTensor(DType::kF32, {9, 33})});
    KernelCase convolution = conv_of(rng, 20, 40, 1), depthwise = conv_of(rng, 20, 20, 20);
    for (KernelCase* c : {&product, &convolution, &depthwise}) {
      c->inputs[0].map([](double) { return 0.0; });
      TestTensor added = TestTensor::random(rng, DType::kF32, c->outputs[0].dims());
      added.map([](double) { return 1e-40; });
      c->with_program(program, {added});
      for (const KernelDescriptor* kernel : kernels_of(c->op)) {
        if (!validate_case(*kernel, *c).ok()) continue;
        expect_like_reference(*kernel, c->with_own_outputs(), {.relative = 1e-5, .absolute = 0, .dot_factor = 0});
      }
    }
  }
}

}  // namespace
}  // namespace planwright::testing
