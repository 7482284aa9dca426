// The transposed convolution, phase by phase, against the reference, for every tile of every tier.
#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> transpose_kernels() {
  return family_of(OpKind::kConvTranspose, "conv_transpose_f32_");
}

ConvShape upsampling() {
  ConvShape shape;
  shape.channels = 24;
  shape.filters = 24;
  shape.input = {10, 11};
  shape.kernel = {2, 2};
  shape.stride = {2, 2};
  return shape;
}

TEST(ConvTransposeTest, ThereIsAKernelForEveryTier) { EXPECT_GE(transpose_kernels().size(), 2u); }

TEST(ConvTransposeTest, RandomShapes) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : transpose_kernels()) {
    for (int i = 0; i < 100; ++i) {
      const ConvShape shape = random_conv_shape(rng);
      KernelCase c = transpose_case(rng, shape, random_int(rng, 0, 2));
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(random_int(rng, 0, 8))], 1, &c);
      SCOPED_TRACE(describe(c));
      const TacticParams tactic = {
          {static_cast<int32_t>(random_int(rng, 0, 3)), static_cast<int32_t>(random_int(rng, 0, 2))}};
      expect_like_reference(*kernel, c, kContractionTolerance, tactic, 1 + i % 2);
    }
  }
}

TEST(ConvTransposeTest, TwoByTwoOfStrideTwo) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : transpose_kernels()) {
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      KernelCase c = transpose_case(rng, upsampling(), 0);
      add_epilogue(rng, epilogue, 1, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

// A stride longer than the kernel leaves outputs that no tap reaches: the epilogue of nothing.
TEST(ConvTransposeTest, OutputsThatNoTapReaches) {
  Rng rng(3);
  ConvShape shape = upsampling();
  shape.kernel = {2, 1};
  shape.stride = {5, 4};
  for (const KernelDescriptor* kernel : transpose_kernels()) {
    KernelCase c = transpose_case(rng, shape, 3);
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_like_reference(*kernel, c, kContractionTolerance);
  }
}

// Stride and dilation share a factor, so that some remainders have no taps and others every second one.
TEST(ConvTransposeTest, DilationThatDividesTheStride) {
  Rng rng(4);
  for (const int64_t stride : {2, 3, 4, 6}) {
    for (const int64_t dilation : {2, 3, 4}) {
      ConvShape shape = upsampling();
      shape.channels = shape.filters = 3;
      shape.kernel = {4, 3};
      shape.stride = {stride, stride};
      shape.dilation = {dilation, 1};
      shape.pad = {1, 2};
      for (const KernelDescriptor* kernel : transpose_kernels()) {
        expect_like_reference(*kernel, transpose_case(rng, shape, 1), kContractionTolerance);
      }
    }
  }
}

TEST(ConvTransposeTest, SameBitsOnAnyThreads) {
  Rng rng(5);
  ConvShape shape = upsampling();
  shape.channels = shape.filters = 64;
  shape.input = {30, 30};
  for (const KernelDescriptor* kernel : transpose_kernels()) {
    KernelCase c = transpose_case(rng, shape, 0);
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_same_bits_on_any_threads(*kernel, c);
  }
}

TEST(ConvTransposeTest, RefusesWhatItCannotDo) {
  Rng rng(6);
  for (const KernelDescriptor* kernel : transpose_kernels()) {
    EXPECT_EQ(validate_case(*kernel, transpose_case(rng, upsampling(), 0)).code(), StatusCode::kOk);
    ConvShape far = upsampling();
    far.stride = {9, 9};
    EXPECT_EQ(validate_case(*kernel, transpose_case(rng, far, 0)).code(), StatusCode::kUnsupported);
    KernelCase c = transpose_case(rng, upsampling(), 0);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = transpose_case(rng, upsampling(), 0);
    c.outputs[0] = TestTensor(DType::kF32, c.outputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = transpose_case(rng, upsampling(), 0);
    c.inputs[1] = TestTensor::random(rng, DType::kF32, {5, 24, 2, 2});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace planwright::testing
