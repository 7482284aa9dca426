// The depthwise convolution against the reference: kernels that have code of their own and any other, borders, tails of
// channels and pixels, epilogues in registers and on tiles put aside.
#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> depthwise_kernels() { return family_of(OpKind::kConv, "depthwise_f32_"); }

ConvShape depthwise_shape(int64_t channels, const Dims& input, const Dims& kernel, int64_t stride) {
  ConvShape shape;
  shape.channels = shape.filters = channels;
  shape.group = static_cast<int>(channels);
  shape.input = input;
  shape.kernel = kernel;
  shape.stride = {stride, stride};
  shape.pad = shape.pad_end = {kernel[0] / 2, kernel.size() > 1 ? kernel[1] / 2 : 0};
  return shape;
}

TEST(DepthwiseTest, ThereIsAKernelForEveryTier) { EXPECT_GE(depthwise_kernels().size(), 1u); }

// Widths around a block of pixels, so that a row is all border, has an inside, or ends in a part of a block.
TEST(DepthwiseTest, EveryKernelStrideAndWidth) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    for (const Dims& window : {Dims{3, 3}, Dims{5, 5}, Dims{1, 5}, Dims{7, 1}, Dims{2, 4}}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t width : {5, 8, 17, 40}) {
          KernelCase c = conv_case(rng, depthwise_shape(19, {9, width}, window, stride));
          add_epilogue(rng, named_epilogues()[4], 1, &c);
          SCOPED_TRACE(describe(c));
          expect_like_reference(*kernel, c, kContractionTolerance, {}, 1 + static_cast<int>(width % 2));
        }
      }
    }
  }
}

TEST(DepthwiseTest, EveryTailOfChannels) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    for (int64_t channels = 1; channels <= 40; ++channels) {
      ConvShape shape = depthwise_shape(channels, {4, 13}, {3, 3}, 1);
      shape.input_padding = channels % 3;
      shape.output_padding = channels % 4;
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(channels % 7)], 1, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

TEST(DepthwiseTest, EveryEpilogue) {
  Rng rng(3);
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      SCOPED_TRACE(epilogue.name);
      KernelCase c = conv_case(rng, depthwise_shape(37, {7, 11}, {5, 5}, 1));
      add_epilogue(rng, epilogue, 1, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

TEST(DepthwiseTest, OneSpatialAxisAndDilation) {
  Rng rng(4);
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    expect_like_reference(*kernel, conv_case(rng, depthwise_shape(20, {33}, {3}, 1)), kContractionTolerance);
    ConvShape shape = depthwise_shape(20, {12, 21}, {3, 3}, 1);
    shape.dilation = {2, 3};
    expect_like_reference(*kernel, conv_case(rng, shape), kContractionTolerance);
  }
}

// Rows of the output whose whole window is padding: the epilogue of nothing.
TEST(DepthwiseTest, MostlyPadding) {
  Rng rng(5);
  ConvShape shape = depthwise_shape(18, {2, 3}, {3, 3}, 1);
  shape.pad = {6, 7};
  shape.pad_end = {5, 9};
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    KernelCase c = conv_case(rng, shape);
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_like_reference(*kernel, c, kContractionTolerance);
  }
}

TEST(DepthwiseTest, SameBitsOnAnyThreads) {
  Rng rng(6);
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    KernelCase c = conv_case(rng, depthwise_shape(64, {40, 40}, {5, 5}, 1));
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    for (const int32_t rows : {0, 1, 7}) expect_same_bits_on_any_threads(*kernel, c, {{rows}});
  }
}

TEST(DepthwiseTest, RefusesWhatItCannotDo) {
  Rng rng(7);
  ConvShape doubled = depthwise_shape(6, {9, 9}, {3, 3}, 1);
  doubled.filters = 12;
  for (const KernelDescriptor* kernel : depthwise_kernels()) {
    const ConvShape shape = depthwise_shape(6, {9, 9}, {3, 3}, 1);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, shape)).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, shape), {{-1}}).code(), StatusCode::kInvalid);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, doubled)).code(), StatusCode::kUnsupported);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, depthwise_shape(6, {20, 20}, {3, 17}, 1))).code(),
              StatusCode::kUnsupported);
    KernelCase c = conv_case(rng, shape);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace planwright::testing
