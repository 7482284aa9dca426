// Transposed convolutions to one channel, a patch of the output for each pixel, against the reference.
#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> single_kernels() {
  std::vector<const KernelDescriptor*> list = kernels_of(OpKind::kConvTranspose);
  std::erase_if(list, [](const KernelDescriptor* kernel) {
    return !std::string(kernel->name).starts_with("conv_transpose_f32_single_");
  });
  return list;
}

ConvShape patches(const Dims& input, const Dims& kernel, int64_t channels) {
  ConvShape shape;
  shape.channels = channels;
  shape.input = input;
  shape.kernel = kernel;
  for (size_t i = 0; i < kernel.size(); ++i) shape.stride[i] = kernel[i];
  return shape;
}

TEST(ConvTransposeSingleTest, ThereIsAKernelForEveryTier) { EXPECT_GE(single_kernels().size(), 2u); }

TEST(ConvTransposeSingleTest, RandomShapes) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : single_kernels()) {
    for (int i = 0; i < 200; ++i) {
      Dims input = {random_int(rng, 1, 6), random_int(rng, 1, 9)},
           taps = {random_int(rng, 1, 4), random_int(rng, 1, 4)};
      if (i % 5 == 0) input.erase(input.begin()), taps.erase(taps.begin());
      ConvShape shape = patches(input, taps, random_int(rng, 1, 50));
      shape.batch = random_int(rng, 1, 3);
      shape.input_padding = random_int(rng, 0, 1) * random_int(rng, 1, 9);
      KernelCase c = transpose_case(rng, shape, 0);
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(i) % named_epilogues().size()], 1, &c);
      SCOPED_TRACE(describe(c));
      expect_like_reference(*kernel, c, kContractionTolerance, {}, 1 + i % 2);
    }
  }
}

// More pixels than are put aside at once, whatever the kernel.
TEST(ConvTransposeSingleTest, LongRows) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : single_kernels()) {
    for (const Dims& taps : {Dims{2, 2}, Dims{1, 3}, Dims{4, 4}, Dims{1, 16}, Dims{16, 1}}) {
      for (const NamedEpilogue& epilogue : named_epilogues()) {
        KernelCase c = transpose_case(rng, patches({2, 300}, taps, 24), 0);
        add_epilogue(rng, epilogue, 1, &c);
        SCOPED_TRACE(describe(c));
        expect_like_reference(*kernel, c, kContractionTolerance);
      }
    }
  }
}

TEST(ConvTransposeSingleTest, SameBitsOnAnyThreads) {
  Rng rng(3);
  for (const KernelDescriptor* kernel : single_kernels()) {
    KernelCase c = transpose_case(rng, patches({70, 90}, {2, 2}, 24), 0);
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_same_bits_on_any_threads(*kernel, c);
  }
}

TEST(ConvTransposeSingleTest, RefusesWhatItCannotDo) {
  Rng rng(4);
  const ConvShape right = patches({5, 6}, {2, 2}, 24);
  for (const KernelDescriptor* kernel : single_kernels()) {
    EXPECT_EQ(validate_case(*kernel, transpose_case(rng, right, 0)).code(), StatusCode::kOk);
    const auto refused = [&](void (*change)(ConvShape&), int64_t output_extra = 0) {
      ConvShape shape = right;
      change(shape);
      return validate_case(*kernel, transpose_case(rng, shape, output_extra)).code() == StatusCode::kUnsupported;
    };
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.filters = 2; }));
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.stride = {2, 1}; }));
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.dilation = {1, 2}; }));
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.pad = {1, 0}; }));
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.pad_end = {0, 1}; }));
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.output_padding = 3; }));
    EXPECT_TRUE(refused([](ConvShape& shape) { shape.kernel = shape.stride = {5, 4}; }));
    EXPECT_TRUE(refused([](ConvShape&) {}, 1));
    KernelCase c = transpose_case(rng, right, 0);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace planwright::testing
