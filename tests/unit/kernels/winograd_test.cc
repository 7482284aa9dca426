// Winograd's convolution against the plain one, for every tile of every tier this CPU runs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

std::vector<const KernelDescriptor*> winograd_kernels() { return family_of(OpKind::kConv, "winograd_f32_"); }

// An output is off by roundings of all inputs under its tile, not only of those under itself: some 1e-5 at most with 40
// channels of numbers below 1, where a wrong tap is off by 0.1.
constexpr Tolerance kTolerance = {.relative = 1e-5, .absolute = 5e-5, .dot_factor = 0};

ConvShape shape_of(int64_t channels, int64_t filters, Dims input, Dims pad) {
  ConvShape shape;
  shape.channels = channels;
  shape.filters = filters;
  shape.input = std::move(input);
  shape.kernel = {3, 3};
  shape.pad = shape.pad_end = std::move(pad);
  return shape;
}

ConvShape random_shape(Rng& rng) {
  ConvShape shape = shape_of(random_int(rng, 1, 40), random_int(rng, 1, random_int(rng, 0, 3) == 0 ? 150 : 40), {}, {});
  shape.batch = random_int(rng, 1, 3);
  shape.pad = {random_int(rng, 0, 4), random_int(rng, 0, 4)};
  shape.pad_end = {random_int(rng, 0, 4), random_int(rng, 0, 4)};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t least = std::max<int64_t>(1, 3 - shape.pad[i] - shape.pad_end[i]);
    shape.input.push_back(random_int(rng, least, least + 17));
  }
  shape.input_padding = random_int(rng, 0, 1) * random_int(rng, 1, 9);
  shape.output_padding = random_int(rng, 0, 1) * random_int(rng, 1, 9);
  return shape;
}

TEST(WinogradTest, ThereIsAKernelOfEachSizeForEveryTier) {
  std::map<Isa, std::set<std::string>> sizes;
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    sizes[kernel->isa].insert(std::string(kernel->name).substr(std::string("winograd_f32_").size(), 3));
  }
  for (const KernelDescriptor* kernel : family_of(OpKind::kConv, "conv_f32_")) {
    EXPECT_EQ(sizes[kernel->isa], (std::set<std::string>{"2x2", "4x4"})) << name_of(kernel->isa);
  }
}

TEST(WinogradTest, RandomShapes) {
  Rng rng(1);
  const auto& epilogues = named_epilogues();
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    for (int i = 0; i < 40; ++i) {
      KernelCase c = conv_case(rng, random_shape(rng));
      add_epilogue(rng, epilogues[static_cast<size_t>(random_int(rng, 0, 5))], 1, &c);
      const TacticParams tactic = {
          {static_cast<int32_t>(random_int(rng, 0, 15)), static_cast<int32_t>(random_int(rng, 0, 2))}};
      expect_like_reference(*kernel, c, kTolerance, tactic, 1 + i % 2);
    }
  }
}

// Every tile that an image's edge cuts, and every count of columns through three panels.
TEST(WinogradTest, EveryTail) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    for (int64_t height = 1; height <= 6; ++height) {
      for (int64_t width = 1; width <= 6; ++width) {
        expect_like_reference(*kernel, conv_case(rng, shape_of(3, 5, {height, width}, {1, 1})), kTolerance);
      }
    }
    for (int64_t n = 1; n <= 100; ++n) {
      KernelCase c = conv_case(rng, shape_of(1 + n % 35, n, {4, 5}, {1, 1}));
      add_epilogue(rng, named_epilogues()[static_cast<size_t>(n % 7)], 1, &c);
      expect_like_reference(*kernel, c, kTolerance);
    }
  }
}

TEST(WinogradTest, EveryEpilogue) {
  Rng rng(3);
  ConvShape shape = shape_of(9, 70, {7, 8}, {1, 1});
  shape.output_padding = 3;
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    for (const NamedEpilogue& epilogue : named_epilogues()) {
      SCOPED_TRACE(epilogue.name);
      KernelCase c = conv_case(rng, shape);
      add_epilogue(rng, epilogue, 1, &c);
      expect_like_reference(*kernel, c, kTolerance);
    }
  }
}

// A number a channel and image, as squeeze-and-excite multiplies by, a number a pixel, another layout.
TEST(WinogradTest, EpilogueOperandsOfAnyStrides) {
  Rng rng(4);
  ConvShape shape = shape_of(6, 37, {6, 5}, {1, 1});
  shape.batch = 2;
  const std::vector<PwInstr> program = {pw_acc(0),
                                        pw_load(1, 0),
                                        pw_compute(PwOp::kMul, 0, 0, 1),
                                        pw_load(2, 1),
                                        pw_compute(PwOp::kMul, 0, 0, 2),
                                        pw_load(3, 2),
                                        pw_compute(PwOp::kAdd, 0, 0, 3),
                                        pw_store(0, 0)};
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    KernelCase c = conv_case(rng, shape);
    const Dims dims = c.outputs[0].dims();
    c.with_program(program, {TestTensor::random(rng, DType::kF32, {dims[0], dims[1], 1, 1}),
                             TestTensor::random(rng, DType::kF32, {1, 1, dims[2], dims[3]}),
                             TestTensor::random(rng, DType::kF32, dims)});
    expect_like_reference(*kernel, c, kTolerance);
  }
}

// What the header says of its rounding, on normally distributed data with many channels.
TEST(WinogradTest, RoundsLittleMoreThanThePlainKernels) {
  Rng rng(5);
  KernelCase c = conv_case(rng, shape_of(256, 32, {16, 16}, {1, 1}));
  std::normal_distribution<double> normal;
  for (TestTensor& input : c.inputs) input.map([&](double) { return static_cast<float>(normal(rng)); });
  KernelCase wide = c;
  for (TestTensor& input : wide.inputs) input = input.dense_as(DType::kF64);
  wide.outputs = {TestTensor(DType::kF64, c.outputs[0].dims())};
  const std::vector<double> exact = run_reference(wide).outputs[0].elements();
  const auto error_of = [&](const KernelDescriptor& kernel) {
    KernelCase run = c.with_own_outputs();
    EXPECT_TRUE(run_kernel(kernel, run).ok());
    const std::vector<double> got = run.outputs[0].elements();
    double sum = 0;
    for (size_t i = 0; i < got.size(); ++i) sum += (got[i] - exact[i]) * (got[i] - exact[i]);
    return std::sqrt(sum / static_cast<double>(got.size()));
  };
  const double plain = error_of(*family_of(OpKind::kConv, "conv_f32_").front());
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    const bool is_large = std::string(kernel->name).find("4x4") != std::string::npos;
    EXPECT_LT(error_of(*kernel), (is_large ? 2.5 : 1.2) * plain) << kernel->name;
  }
}

TEST(WinogradTest, SameBitsOnAnyThreads) {
  Rng rng(6);
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    KernelCase c = conv_case(rng, shape_of(32, 100, {20, 20}, {1, 1}));
    add_epilogue(rng, named_epilogues()[5], 1, &c);
    for (const int32_t panels : {0, 1}) expect_same_bits_on_any_threads(*kernel, c, {{7, panels}});
  }
}

TEST(WinogradTest, RefusesWhatItCannotDo) {
  Rng rng(7);
  const ConvShape shape = shape_of(4, 4, {6, 6}, {0, 0});
  const auto refusal = [&](const KernelDescriptor& kernel, const std::function<void(ConvShape&)>& change) {
    ConvShape changed = shape;
    change(changed);
    return validate_case(kernel, conv_case(rng, changed)).code();
  };
  for (const KernelDescriptor* kernel : winograd_kernels()) {
    EXPECT_EQ(refusal(*kernel, [](ConvShape&) {}), StatusCode::kOk);
    EXPECT_EQ(refusal(*kernel, [](ConvShape& s) { s.kernel = {3, 1}; }), StatusCode::kUnsupported);
    EXPECT_EQ(refusal(*kernel, [](ConvShape& s) { s.stride = {2, 1}; }), StatusCode::kUnsupported);
    EXPECT_EQ(refusal(*kernel, [](ConvShape& s) { s.dilation = {1, 2}; }), StatusCode::kUnsupported);
    EXPECT_EQ(refusal(*kernel, [](ConvShape& s) { s.group = 2; }), StatusCode::kUnsupported);
    KernelCase line = conv_case(rng, shape);
    line.inputs[0] = TestTensor::random(rng, DType::kF32, line.inputs[0].dims());
    EXPECT_EQ(validate_case(*kernel, line).code(), StatusCode::kUnsupported) << "channels first";
    const KernelCase c = conv_case(rng, shape);
    EXPECT_EQ(validate_case(*kernel, c, {{-1}}).code(), StatusCode::kInvalid);
    EXPECT_EQ(validate_case(*kernel, c, {{INT32_MAX}}).code(), StatusCode::kInvalid);
    EXPECT_EQ(validate_case(*kernel, c, {{0, -1}}).code(), StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace planwright::testing
