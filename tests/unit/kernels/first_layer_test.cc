// The convolution of few channels at any input strides against the reference, for every tile of every tier.
#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> first_layer_kernels() { return family_of(OpKind::kConv, "first_layer_f32_"); }

TEST(FirstLayerTest, ThereIsAKernelForEveryTier) { EXPECT_GE(first_layer_kernels().size(), 2u); }

TEST(FirstLayerTest, RandomShapesAndStrides) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : first_layer_kernels()) {
    for (int i = 0; i < 80; ++i) {
      ConvShape shape = random_conv_shape(rng);
      shape.group = 1;
      shape.channels = random_int(rng, 1, 8);
      KernelCase c = conv_case(rng, shape);
      const Dims x = c.inputs[0].dims();
      // NCHW, NHWC, and anything.
      if (i % 3 == 0) c.inputs[0] = TestTensor::random(rng, DType::kF32, x);
      if (i % 3 == 1) c.inputs[0] = TestTensor::random(rng, DType::kF32, x, random_strides(rng, x));
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(random_int(rng, 0, 8))], 1, &c);
      SCOPED_TRACE(describe(c));
      expect_like_reference(*kernel, c, kContractionTolerance, {{static_cast<int32_t>(random_int(rng, 0, 5))}},
                            1 + i % 2);
    }
  }
}

// More padding than input on every side.
TEST(FirstLayerTest, MostlyPadding) {
  Rng rng(2);
  ConvShape shape;
  shape.channels = 3;
  shape.filters = 20;
  shape.input = {2, 3};
  shape.kernel = {3, 3};
  shape.pad = {9, 8};
  shape.pad_end = {7, 12};
  for (const KernelDescriptor* kernel : first_layer_kernels()) {
    expect_like_reference(*kernel, conv_case(rng, shape), kContractionTolerance);
    // A crop: negative padding.
    KernelCase c = conv_case(rng, shape);
    c.scalars = {-1, -1};
    expect_like_reference(*kernel, c, kContractionTolerance);
  }
}

TEST(FirstLayerTest, SameBitsOnAnyThreads) {
  Rng rng(3);
  ConvShape shape;
  shape.channels = 3;
  shape.filters = 40;
  shape.input = {70, 64};
  shape.kernel = {7, 7};
  shape.stride = {2, 2};
  shape.pad = shape.pad_end = {3, 3};
  for (const KernelDescriptor* kernel : first_layer_kernels()) {
    KernelCase c = conv_case(rng, shape);
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_same_bits_on_any_threads(*kernel, c);
  }
}

TEST(FirstLayerTest, RefusesWhatItCannotDo) {
  Rng rng(4);
  ConvShape shape;
  shape.channels = 3;
  shape.filters = 8;
  shape.input = {9, 9};
  shape.kernel = {3, 3};
  ConvShape many = shape, grouped = shape, wide = shape;
  many.channels = 9;
  grouped.channels = 4;
  grouped.group = 2;
  wide.input = {9, 3};
  for (const KernelDescriptor* kernel : first_layer_kernels()) {
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, shape)).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, many)).code(), StatusCode::kUnsupported);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, grouped)).code(), StatusCode::kUnsupported);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, shape), {{-1}}).code(), StatusCode::kInvalid);
    // A stride with which the copy of one output row would be gigabytes.
    KernelCase c = conv_case(rng, wide);
    ConvParams params;
    params.stride[0] = params.stride[1] = 1 << 30;
    params.dilation[0] = params.dilation[1] = 1 << 30;
    c.with(params);
    c.outputs[0] = TestTensor(DType::kF32, {1, 8, 4, 4}, channels_last_strides({1, 8, 4, 4}));
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace planwright::testing
