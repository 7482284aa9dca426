// Contractions in bf16 against the reference on operands that bf16 holds exactly: their products are exact in fp32, so
// only the order of sums differs.
#include "schemas/types/half.h"

#include <gtest/gtest.h>

#include <string>

#include "tactics/kernels/cpu.h"
#include "tests/support/contraction_cases.h"
#include "tests/support/hostile_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> half_kernels(OpKind op) {
  std::vector<const KernelDescriptor*> list = kernels_of(op);
  std::erase_if(list, [](const KernelDescriptor* kernel) { return kernel->precision != Precision::kBf16; });
  return list;
}

KernelCase rounded(KernelCase c) {
  for (size_t i = 0; i < 2; ++i) {
    c.inputs[i].map([](double x) { return float_of_bf16(bf16_of_float(static_cast<float>(x))); });
  }
  return c;
}

TestTensor as_half(const TestTensor& tensor) {
  const TensorView& view = tensor.view();
  TestTensor half(DType::kBF16, tensor.dims(), Dims(view.strides, view.strides + view.rank));
  half.set_elements(tensor.elements());
  return half;
}

// Bits 0 to 2 of `which`: input, output and operands of the output's shape lie in memory as bf16.
KernelCase stored(KernelCase c, int which) {
  if ((which & 1) != 0) c.inputs[0] = as_half(c.inputs[0]);
  if ((which & 2) != 0) c.outputs[0] = as_half(c.outputs[0]);
  for (size_t i = 2; i < c.inputs.size(); ++i) {
    if ((which & 4) != 0 && c.inputs[i].dims() == c.outputs[0].dims()) c.inputs[i] = as_half(c.inputs[i]);
  }
  return c;
}

// A sum of another order may be rounded to the next bf16.
Tolerance tolerance_of(const KernelCase& c) {
  Tolerance tolerance = kContractionTolerance;
  if (c.outputs[0].view().dtype == DType::kBF16) tolerance.relative = 0x1p-7;
  return tolerance;
}

KernelCase product(Rng& rng, int64_t m, int64_t k, int64_t n) {
  return rounded(KernelCase::of(
      OpKind::kMatMul, {TestTensor::random(rng, DType::kF32, {m, k}), TestTensor::random(rng, DType::kF32, {k, n})},
      {TestTensor(DType::kF32, {m, n})}));
}

TEST(HalfTest, ThereAreKernelsWhereTheCpuHasThem) {
  int wanted = 0;
  for (const Isa isa : {Isa::kAvx512Vnni, Isa::kAmx}) wanted += detect_isa() >= isa && enable_isa(isa) ? 1 : 0;
  EXPECT_EQ(half_kernels(OpKind::kConv).size(), static_cast<size_t>(3 * wanted));  // conv, image, first_layer
  EXPECT_EQ(half_kernels(OpKind::kConvTranspose).size(), static_cast<size_t>(wanted));
  EXPECT_EQ(half_kernels(OpKind::kMatMul).size(), static_cast<size_t>(wanted));
}

TEST(HalfTest, RandomConvolutions) {
  Rng rng(1);
  const auto& epilogues = named_epilogues();
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kConv)) {
    for (int i = 0; i < 240; ++i) {
      KernelCase c = rounded(conv_case(rng, random_conv_shape(rng)));
      add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], 1, &c);
      c = stored(c, i / static_cast<int>(epilogues.size()) % 8);
      const TacticParams tactic = {
          {static_cast<int32_t>(random_int(rng, 0, 3)), static_cast<int32_t>(random_int(rng, 0, 2))}};
      if (!validate_case(*kernel, c, tactic).ok()) continue;  // depthwise, or too many channels for a first layer
      expect_like_reference(*kernel, c, tolerance_of(c), tactic, 1 + i % 2);
    }
  }
}

TEST(HalfTest, RandomTransposedConvolutions) {
  Rng rng(7);
  const auto& epilogues = named_epilogues();
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kConvTranspose)) {
    for (int i = 0; i < 240; ++i) {
      KernelCase c = rounded(transpose_case(rng, random_conv_shape(rng), random_int(rng, 0, 2)));
      add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], 1, &c);
      c = stored(c, i / static_cast<int>(epilogues.size()) % 8);
      expect_like_reference(*kernel, c, tolerance_of(c), {{static_cast<int32_t>(i % 4)}}, 1 + i % 2);
    }
  }
}

// More than an image's copy holds at once, cut into tasks of rows and of panels.
TEST(HalfTest, LargeImages) {
  Rng rng(10);
  ConvShape shape;
  shape.channels = 2;
  shape.filters = 33;
  shape.input = {30, 2300};
  shape.kernel = {2, 1};
  shape.pad = {1, 0};
  const KernelCase c = stored(rounded(conv_case(rng, shape)), 2);
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kConv)) {
    if (std::string(kernel->name).find("_image_") == std::string::npos) continue;
    expect_like_reference(*kernel, c, tolerance_of(c), {}, 2);
    expect_like_reference(*kernel, c, tolerance_of(c), {{7, 1}}, 2);
  }
}

// A network's input, channels before pixels.
TEST(HalfTest, FirstLayers) {
  Rng rng(6);
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kConv)) {
    if (!std::string(kernel->name).starts_with("first_layer")) continue;
    for (int i = 0; i < 60; ++i) {
      ConvShape shape = random_conv_shape(rng);
      shape.group = 1;
      shape.channels = random_int(rng, 1, 4);
      KernelCase c = conv_case(rng, shape);
      c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims());
      c = rounded(c);
      add_epilogue(rng, named_epilogues()[4], 1, &c);
      c = stored(c, i % 2 * 2);
      expect_like_reference(*kernel, c, tolerance_of(c), {}, 1 + i % 2);
    }
  }
}

// Every tail of rows, of columns and of K through three tiles of each.
TEST(HalfTest, EveryTail) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kMatMul)) {
    for (int64_t n = 1; n <= 100; ++n) {
      SCOPED_TRACE(n);
      expect_like_reference(*kernel, product(rng, 1 + n % 7, n, 20), kContractionTolerance);
      expect_like_reference(*kernel, product(rng, 5, 33, n), kContractionTolerance);
      expect_like_reference(*kernel, product(rng, n, 40, 33), kContractionTolerance);
    }
  }
}

// Rows that tiles read where they lie, of whole steps of K, and some that they cannot.
TEST(HalfTest, EveryTailOfHalves) {
  Rng rng(8);
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kMatMul)) {
    for (int64_t m = 1; m <= 100; ++m) {
      SCOPED_TRACE(m);
      for (const int64_t k : {31, 32, 64}) {
        const KernelCase c = stored(product(rng, m, k, 1 + m % 40), m % 2 == 0 ? 1 : 3);
        expect_like_reference(*kernel, c, tolerance_of(c));
      }
    }
  }
}

// More rows than are rounded at a time, with K of one step and of many.
TEST(HalfTest, ManyRows) {
  Rng rng(3);
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kMatMul)) {
    for (const int64_t k : {8, 700, 5000}) {
      for (const int32_t tiles : {0, 1, 1000}) {
        expect_like_reference(*kernel, product(rng, k > 1000 ? 70 : 1100, k, 70), kContractionTolerance, {{tiles, 2}},
                              2);
      }
    }
  }
}

// What a hostile engine makes of such cases, too.
TEST(HalfTest, WhatValidatePassesStaysInBounds) {
  Rng rng(9);
  const auto& epilogues = named_epilogues();
  for (const OpKind op : {OpKind::kConv, OpKind::kConvTranspose, OpKind::kMatMul}) {
    for (const KernelDescriptor* kernel : half_kernels(op)) {
      int passed = 0;
      for (int i = 0; i < 1500; ++i) {
        KernelCase c = op == OpKind::kMatMul ? product(rng, random_int(rng, 1, 50), random_int(rng, 1, 40), 33)
                       : op == OpKind::kConv ? conv_case(rng, random_conv_shape(rng))
                                             : transpose_case(rng, random_conv_shape(rng), random_int(rng, 0, 2));
        add_epilogue(rng, epilogues[static_cast<size_t>(i) % epilogues.size()], 1, &c);
        c = stored(c, static_cast<int>(random_int(rng, 0, 7)));
        if (!change_hostilely(rng, *kernel, &c)) continue;
        ++passed;
        EXPECT_TRUE(run_kernel(*kernel, c).ok()) << last_error();
        if (HasFailure()) return;
      }
      EXPECT_GT(passed, 30) << kernel->name;
    }
  }
}

TEST(HalfTest, GivesTheSameBitsOnAnyThreads) {
  Rng rng(4);
  ConvShape shape;
  shape.filters = 70;
  shape.input = {20, 21};
  shape.kernel = {3, 3};
  shape.pad = shape.pad_end = {1, 1};
  for (const KernelDescriptor* kernel : half_kernels(OpKind::kConv)) {
    const bool is_first = std::string(kernel->name).starts_with("first_layer");
    shape.channels = is_first ? 3 : 30;
    expect_same_bits_on_any_threads(*kernel, conv_case(rng, shape), {});
  }
}

// Halfway between two bf16, to the even one: 1 + 2^-8 to 1, 1 + 3 * 2^-8 to 1 + 2^-6.
TEST(HalfTest, RoundsToNearestEven) {
  Rng rng(5);
  for (const auto& [value, wanted] :
       {std::pair(1 + 0x1p-8, 1.0), {1 + 3 * 0x1p-8, 1 + 0x1p-6}, {1 + 0x1.8p-8, 1 + 0x1p-7}}) {
    for (const size_t operand : {0, 1}) {
      KernelCase c = product(rng, 3, 1, 4);
      c.inputs[operand].map([v = value](double) { return v; });
      c.inputs[1 - operand].map([](double) { return 1.0; });
      for (const KernelDescriptor* kernel : half_kernels(OpKind::kMatMul)) {
        ASSERT_TRUE(run_kernel(*kernel, c).ok()) << last_error();
        for (const double y : c.outputs[0].elements()) EXPECT_EQ(y, wanted) << kernel->name << " of " << value;
      }
    }
  }
}

}  // namespace
}  // namespace planwright::testing
