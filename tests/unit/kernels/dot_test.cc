// Contractions of few columns, whose vectors run along K, against the reference, on every tier this CPU runs.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

// Those that the kernels have: a bias, a residual, functions of their sum.
std::vector<NamedEpilogue> straight_epilogues() {
  std::vector<NamedEpilogue> list = named_epilogues();
  std::erase_if(list, [](const NamedEpilogue& epilogue) { return !epilogue.straight; });
  return list;
}

ConvShape few_filters(Rng& rng) {
  ConvShape shape = random_conv_shape(rng);
  shape.group = static_cast<int>(random_int(rng, 1, 2));
  shape.channels = shape.group * random_int(rng, 1, random_int(rng, 0, 1) == 0 ? 8 : 50);
  shape.filters = shape.group * random_int(rng, 1, 4 / shape.group);
  return shape;
}

TEST(DotTest, ThereAreKernelsForEveryTier) {
  std::map<Isa, int> convs, transposed;
  for (const KernelDescriptor* kernel : few_column_kernels(OpKind::kConv)) ++convs[kernel->isa];
  for (const KernelDescriptor* kernel : few_column_kernels(OpKind::kConvTranspose)) ++transposed[kernel->isa];
  for (const KernelDescriptor* kernel : family_of(OpKind::kConv, "conv_f32_")) {
    EXPECT_EQ(convs[kernel->isa], 2) << name_of(kernel->isa);  // conv_f32, first_layer_f32
    EXPECT_EQ(transposed[kernel->isa], 1) << name_of(kernel->isa);
  }
}

TEST(DotTest, RandomShapes) {
  Rng rng(1);
  const auto epilogues = straight_epilogues();
  for (const OpKind op : {OpKind::kConv, OpKind::kConvTranspose}) {
    for (const KernelDescriptor* kernel : few_column_kernels(op)) {
      int taken = 0;
      for (int i = 0; i < 120; ++i) {
        const ConvShape shape = few_filters(rng);
        KernelCase c = op == OpKind::kConv ? conv_case(rng, shape) : transpose_case(rng, shape, random_int(rng, 0, 2));
        add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], 1, &c);
        const TacticParams tactic = {{static_cast<int32_t>(random_int(rng, 0, 3))}};
        if (!validate_case(*kernel, c, tactic).ok()) continue;  // depthwise, or too many channels for a first layer
        ++taken;
        SCOPED_TRACE(describe(c));
        expect_like_reference(*kernel, c, kContractionTolerance, tactic, 1 + i % 2);
      }
      EXPECT_GT(taken, 20) << kernel->name;
    }
  }
}

// Every tail of K and of the rows.
TEST(DotTest, EveryTail) {
  Rng rng(2);
  const auto epilogues = straight_epilogues();
  for (const KernelDescriptor* kernel : few_column_kernels(OpKind::kConv)) {
    int taken = 0;
    for (int64_t channels = 1; channels <= 40; ++channels) {
      ConvShape shape;
      shape.channels = channels;
      shape.filters = 1 + channels % 4;
      shape.input = {1, 1 + channels % 19};
      shape.kernel = {1, 1};
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, epilogues[static_cast<size_t>(channels) % epilogues.size()], 1, &c);
      if (!validate_case(*kernel, c).ok()) continue;  // a first layer has at most 8 channels
      ++taken;
      expect_like_reference(*kernel, c, kContractionTolerance);
    }
    EXPECT_GE(taken, 8) << kernel->name;
  }
}

TEST(DotTest, NanStaysNanWhereItIsClamped) {
  Rng rng(3);
  ConvShape shape;
  shape.channels = 5;
  shape.filters = 1;
  shape.input = {1, 9};
  shape.kernel = {1, 1};
  for (const KernelDescriptor* kernel : few_column_kernels(OpKind::kConv)) {
    KernelCase c = conv_case(rng, shape);
    std::vector<double> x = c.inputs[0].elements();
    x[4] = __builtin_nan("");
    c.inputs[0].set_elements(x);
    add_epilogue(rng, named_epilogues()[4], 1, &c);
    expect_like_reference(*kernel, c, kContractionTolerance);
  }
}

TEST(DotTest, RefusesManyColumnsAndOtherEpilogues) {
  Rng rng(4);
  ConvShape shape;
  shape.channels = 4;
  shape.filters = 4;
  shape.input = {5, 5};
  shape.kernel = {1, 1};
  ConvShape wide = shape;
  wide.filters = 5;
  for (const KernelDescriptor* kernel : few_column_kernels(OpKind::kConv)) {
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, shape)).code(), StatusCode::kOk);
    EXPECT_EQ(validate_case(*kernel, conv_case(rng, wide)).code(), StatusCode::kUnsupported);
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, epilogue, 1, &c);
      EXPECT_EQ(validate_case(*kernel, c).code(), epilogue.straight ? StatusCode::kOk : StatusCode::kUnsupported)
          << epilogue.name;
    }
  }
}

}  // namespace
}  // namespace planwright::testing
