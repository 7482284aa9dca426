// The indirect convolution against the reference, for every tile of every tier this CPU runs.
#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> conv_kernels() { return family_of(OpKind::kConv, "conv_f32_"); }

TEST(ConvTest, ThereIsAKernelForEveryTier) { EXPECT_GE(conv_kernels().size(), 2u); }

TEST(ConvTest, RandomShapes) {
  Rng rng(1);
  const auto& epilogues = named_epilogues();
  for (const KernelDescriptor* kernel : conv_kernels()) {
    for (int i = 0; i < 60; ++i) {
      KernelCase c = conv_case(rng, random_conv_shape(rng));
      add_epilogue(rng, epilogues[static_cast<size_t>(random_int(rng, 0, 5))], 1, &c);
      const TacticParams tactic = {
          {static_cast<int32_t>(random_int(rng, 0, 3)), static_cast<int32_t>(random_int(rng, 0, 2))}};
      expect_like_reference(*kernel, c, kContractionTolerance, tactic, 1 + i % 2);
    }
  }
}

// Every count of columns through three panels and of rows through three tiles, so that no tail is left out.
TEST(ConvTest, EveryTailOfColumnsAndRows) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : conv_kernels()) {
    for (int64_t n = 1; n <= 100; ++n) {
      ConvShape shape;
      shape.channels = 5;
      shape.filters = n;
      shape.input = {1, 1 + n % 43};
      shape.kernel = {1, 1};
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(n % 7)], 1, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

TEST(ConvTest, EveryEpilogue) {
  Rng rng(3);
  ConvShape shape;
  shape.channels = 9;
  shape.filters = 70;
  shape.input = {7, 8};
  shape.kernel = {3, 3};
  shape.pad = shape.pad_end = {1, 1};
  shape.output_padding = 3;
  for (const KernelDescriptor* kernel : conv_kernels()) {
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      SCOPED_TRACE(epilogue.name);
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, epilogue, 1, &c);
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
  }
}

// Epilogue operands that are no bias and no residual: one number, a number a pixel, another layout.
TEST(ConvTest, EpilogueOperandsOfAnyStrides) {
  Rng rng(4);
  ConvShape shape;
  shape.channels = 6;
  shape.filters = 37;
  shape.input = {6, 5};
  shape.kernel = {1, 1};
  const std::vector<PwInstr> program = {pw_acc(0),
                                        pw_load(1, 0),
                                        pw_compute(PwOp::kAdd, 0, 0, 1),
                                        pw_load(2, 1),
                                        pw_compute(PwOp::kMul, 0, 0, 2),
                                        pw_load(3, 2),
                                        pw_compute(PwOp::kAdd, 0, 0, 3),
                                        pw_store(0, 0)};
  for (const KernelDescriptor* kernel : conv_kernels()) {
    KernelCase c = conv_case(rng, shape);
    const Dims dims = c.outputs[0].dims();
    c.with_program(program, {TestTensor::random(rng, DType::kF32, {1, 1, 1}),
                             TestTensor::random(rng, DType::kF32, {1, 1, dims[2], dims[3]}),
                             TestTensor::random(rng, DType::kF32, dims)});
    expect_like_reference(*kernel, c, kContractionTolerance);
    // Two operands of the output's dims, added: one is a residual, the other has to be interpreted.
    KernelCase two = conv_case(rng, shape);
    two.with_program({pw_acc(0), pw_load(1, 0), pw_compute(PwOp::kAdd, 0, 0, 1), pw_load(1, 1),
                      pw_compute(PwOp::kAdd, 0, 0, 1), pw_store(0, 0)},
                     {TestTensor::random(rng, DType::kF32, dims, channels_last_strides(dims)),
                      TestTensor::random(rng, DType::kF32, dims, channels_last_strides(dims))});
    expect_like_reference(*kernel, two, kContractionTolerance);
  }
}

TEST(ConvTest, NanAndInfinityPassThroughRelu) {
  Rng rng(5);
  ConvShape shape;
  shape.channels = 3;
  shape.filters = 33;
  shape.input = {4, 4};
  shape.kernel = {1, 1};
  for (const KernelDescriptor* kernel : conv_kernels()) {
    KernelCase c = conv_case(rng, shape);
    std::vector<double> x = c.inputs[0].elements();
    x[3] = __builtin_nan("");
    x[7] = __builtin_inf();
    c.inputs[0].set_elements(x);
    c.inputs[1].map([](double w) { return w == 0 ? 0.5 : w; });
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_like_reference(*kernel, c, kContractionTolerance);
  }
}

// More taps than pointers are made for at a time, and channels of which there are none.
TEST(ConvTest, LargeKernelAndNoChannels) {
  Rng rng(6);
  ConvShape shape;
  shape.channels = 2;
  shape.filters = 5;
  shape.input = {20, 21};
  shape.kernel = {17, 18};
  shape.pad = shape.pad_end = {3, 4};
  ConvShape empty = shape;
  empty.channels = 0;
  for (const KernelDescriptor* kernel : conv_kernels()) {
    expect_like_reference(*kernel, conv_case(rng, shape), kContractionTolerance);
    expect_like_reference(*kernel, conv_case(rng, empty), kContractionTolerance);
  }
}

TEST(ConvTest, SameBitsOnAnyThreads) {
  Rng rng(7);
  ConvShape shape;
  shape.channels = 32;
  shape.filters = 100;
  shape.input = {20, 20};
  shape.kernel = {3, 3};
  shape.pad = shape.pad_end = {1, 1};
  for (const KernelDescriptor* kernel : conv_kernels()) {
    KernelCase c = conv_case(rng, shape);
    add_epilogue(rng, named_epilogues()[5], 1, &c);
    for (const int32_t tiles : {0, 2}) expect_same_bits_on_any_threads(*kernel, c, {{tiles, 1}});
  }
}

// An output may lie where the residual was: the memory planner puts sums there.
TEST(ConvTest, OutputInPlaceOfTheResidual) {
  Rng rng(8);
  ConvShape shape;
  shape.channels = 8;
  shape.filters = 41;
  shape.input = {9, 9};
  shape.kernel = {3, 3};
  shape.pad = shape.pad_end = {1, 1};
  for (const KernelDescriptor* kernel : conv_kernels()) {
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      if (!epilogue.has_residual) continue;
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, epilogue, 1, &c);
      const KernelCase want = run_reference(c);
      // The harness checks that inputs stay as they are, so the arguments are put together here.
      std::vector<TensorView> views;
      KernelArgs args = c.args(&views);
      std::vector<std::byte> packed(kernel->packed_size(args) + 64);
      std::vector<std::byte> scratch(kernel->scratch_size(args) + 64);
      const auto aligned = [](std::vector<std::byte>& bytes) {
        return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
      };
      InlineExecutor executor;
      args.packed = aligned(packed);
      args.scratch = aligned(scratch);
      args.executor = &executor;
      ASSERT_TRUE(kernel->pack(args, aligned(packed)).ok());
      const TestTensor residual = c.inputs.back();
      args.outputs = &residual.view();
      ASSERT_TRUE(kernel->run(args).ok());
      expect_elements(residual, want.outputs[0].elements(), 1e-4);
    }
  }
}

TEST(ConvTest, RefusesWhatItCannotDo) {
  Rng rng(9);
  ConvShape shape;
  shape.channels = 4;
  shape.filters = 4;
  shape.input = {6, 6};
  shape.kernel = {3, 3};
  for (const KernelDescriptor* kernel : conv_kernels()) {
    // NCHW on either side.
    KernelCase c = conv_case(rng, shape);
    c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = conv_case(rng, shape);
    c.outputs[0] = TestTensor(DType::kF32, c.outputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    // Types.
    c = conv_case(rng, shape);
    c.inputs[0] = c.inputs[0].dense_as(DType::kF64);
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    // A tactic that means nothing.
    c = conv_case(rng, shape);
    EXPECT_EQ(validate_case(*kernel, c, {{-1}}).code(), StatusCode::kInvalid);
    // Weights for other channels.
    c = conv_case(rng, shape);
    c.inputs[1] = TestTensor::random(rng, DType::kF32, {4, 5, 3, 3});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
    // An epilogue in another class.
    c = conv_case(rng, shape);
    c.with_program({pw_acc(0, PwClass::kDouble), pw_store(0, 0, PwClass::kDouble)}, {});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace planwright::testing
