// Fast kernels of every operator but Pointwise, MatMul and the dense convolutions: one generator of cases an operator,
// whatever kernels there are.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/kernel_generator.h"

namespace planwright::testing {
namespace {

// Of one axis: an output length and pads that fit.
struct Window {
  int32_t kernel, stride, dilation;
  int64_t begin, end, out;
};
Window window(Rng& rng, int64_t in, int64_t max_kernel) {
  while (true) {
    Window w{static_cast<int32_t>(random_int(rng, 1, max_kernel)),
             static_cast<int32_t>(random_int(rng, 1, 3)),
             static_cast<int32_t>(random_int(rng, 1, 4) == 1 ? 2 : 1),
             0,
             0,
             0};
    w.begin = random_int(rng, 0, w.kernel - 1);
    w.end = random_int(rng, 0, w.kernel - 1);
    const int64_t room = in + w.begin + w.end - w.dilation * (w.kernel - 1) - 1;
    if (room < 0) continue;
    w.out = room / w.stride + 1;
    return w;
  }
}

// acc + bias, then perhaps * residual, then perhaps clipped.
void add_epilogue(Rng& rng, KernelCase& c) {
  const Dims out = c.outputs[0].dims();
  Dims bias(out.size(), 1);
  bias[1] = out[1];
  bias.erase(bias.begin());
  std::vector<PwInstr> program = {pw_acc(0), pw_load(1, 0), pw_compute(PwOp::kAdd, 2, 0, 1)};
  std::vector<TestTensor> operands = {TestTensor::random(rng, DType::kF32, bias)};
  int result = 2;
  if (coin(rng)) {
    operands.push_back(TestTensor::random(rng, DType::kF32, out, image_strides(rng, out)));
    program.push_back(pw_load(3, 1));
    program.push_back(pw_compute(coin(rng) ? PwOp::kAdd : PwOp::kMul, 4, result, 3));
    result = 4;
  }
  if (coin(rng)) {
    program.push_back(pw_const(5, 0));
    program.push_back(pw_compute(PwOp::kMax, 6, result, 5));
    result = 6;
  }
  program.push_back(pw_store(0, result));
  c.with_program(program, operands);
}

KernelCase depthwise(Rng& rng) {
  const Dims x = image(rng, 70);
  const Window down = window(rng, x[2], 5), along = window(rng, x[3], 6);
  ConvParams params;
  params.group = static_cast<int32_t>(x[1]);
  params.stride[0] = down.stride;
  params.stride[1] = along.stride;
  params.dilation[0] = down.dilation;
  params.dilation[1] = along.dilation;
  const Dims y = {x[0], x[1], down.out, along.out};
  KernelCase c = KernelCase::of(OpKind::kConv,
                                {TestTensor::random(rng, DType::kF32, x, image_strides(rng, x)),
                                 TestTensor::random(rng, DType::kF32, {x[1], 1, down.kernel, along.kernel})},
                                {TestTensor(DType::kF32, y, image_strides(rng, y))});
  c.with(params).with_scalars({down.begin, along.begin});
  add_epilogue(rng, c);
  return c;
}

KernelCase depthwise_line(Rng& rng) {
  const Dims x = {random_int(rng, 1, 2), random_int(rng, 1, 40), random_int(rng, 1, 40)};
  const Window along = window(rng, x[2], 7);
  ConvParams params;
  params.spatial = 1;
  params.group = static_cast<int32_t>(x[1]);
  params.stride[0] = along.stride;
  params.dilation[0] = along.dilation;
  const Dims y = {x[0], x[1], along.out};
  KernelCase c = KernelCase::of(OpKind::kConv,
                                {TestTensor::random(rng, DType::kF32, x, strides_of(x, {0, 2, 1})),
                                 TestTensor::random(rng, DType::kF32, {x[1], 1, along.kernel})},
                                {TestTensor(DType::kF32, y, strides_of(y, {0, 2, 1}))});
  c.with(params).with_scalars({along.begin});
  c.with_program({pw_acc(0), pw_store(0, 0)}, {});
  return c;
}

KernelCase pool_of(Rng& rng, PoolKind kind) {
  const Dims x = image(rng, 70);
  const Window down = window(rng, x[2], 4), along = window(rng, x[3], 4);
  PoolParams params;
  params.kind = kind;
  params.count_include_pad = coin(rng);
  params.kernel[0] = down.kernel;
  params.kernel[1] = along.kernel;
  params.stride[0] = down.stride;
  params.stride[1] = along.stride;
  params.dilation[0] = down.dilation;
  params.dilation[1] = along.dilation;
  const Dims y = {x[0], x[1], down.out, along.out};
  KernelCase c = KernelCase::of(OpKind::kPool, {TestTensor::random(rng, DType::kF32, x, image_strides(rng, x))},
                                {TestTensor(DType::kF32, y, image_strides(rng, y))});
  c.with(params).with_scalars({down.begin, along.begin, down.end, along.end});
  return c;
}

KernelCase pool(Rng& rng) { return pool_of(rng, coin(rng) ? PoolKind::kMax : PoolKind::kAverage); }

KernelCase max_pool(Rng& rng, DType type, double low, double high) {
  KernelCase c = pool_of(rng, PoolKind::kMax);
  for (TestTensor* tensor : {&c.inputs[0], &c.outputs[0]}) {
    const TensorView& view = tensor->view();
    *tensor = TestTensor::random(rng, type, tensor->dims(), Dims(view.strides, view.strides + view.rank), low, high);
  }
  return c;
}
KernelCase half_pool(Rng& rng) { return max_pool(rng, DType::kBF16, -1, 1); }
KernelCase byte_pool(Rng& rng) {
  return coin(rng) ? max_pool(rng, DType::kU8, 0, 255) : max_pool(rng, DType::kI8, -128, 127);
}

// Up and down by any factor, or by a scale that does not quite give the output's length.
KernelCase resize(Rng& rng) {
  Dims x = {random_int(rng, 1, 2), random_int(rng, 1, 70)};
  const int64_t spatial = random_int(rng, 1, 3), longest = 18 / (spatial * spatial);
  for (int64_t axis = 0; axis < spatial; ++axis) x.push_back(random_int(rng, 1, longest));
  ResizeParams params;
  params.mode = static_cast<ResizeMode>(random_int(rng, 0, 2));
  params.rounding = static_cast<ResizeRounding>(random_int(rng, 0, 3));
  const ResizeCoordinates coordinates[] = {ResizeCoordinates::kHalfPixel, ResizeCoordinates::kPytorchHalfPixel,
                                           ResizeCoordinates::kAsymmetric, ResizeCoordinates::kAlignCorners,
                                           ResizeCoordinates::kHalfPixelSymmetric};
  params.coordinates = coordinates[random_int(rng, 0, 4)];
  params.exclude_outside = params.mode == ResizeMode::kCubic && coin(rng);
  Dims y = x;
  for (size_t axis = 2; axis < x.size(); ++axis) {
    if (coin(rng)) {
      y[axis] = random_int(rng, 1, 2 * longest);
    } else {
      params.scale[axis] = 0.25 * static_cast<double>(random_int(rng, 4, 12));
      y[axis] = static_cast<int64_t>(params.scale[axis] * static_cast<double>(x[axis]));
    }
  }
  std::vector<int> order = {0};
  for (size_t axis = 2; axis < x.size(); ++axis) order.push_back(static_cast<int>(axis));
  order.push_back(1);
  KernelCase c = KernelCase::of(OpKind::kResize,
                                {TestTensor::random(rng, DType::kF32, x, strides_of(x, order, random_int(rng, 0, 3)))},
                                {TestTensor(DType::kF32, y, strides_of(y, order, random_int(rng, 0, 3)))});
  return c.with(params);
}

KernelCase reduce_of(Rng& rng, const Dims& x) {
  ReduceParams params;
  params.axes = static_cast<uint32_t>(random_int(rng, 0, 15));
  const ReduceKind kinds[] = {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax,      ReduceKind::kMin,
                              ReduceKind::kL1,  ReduceKind::kL2,   ReduceKind::kSumSquare};
  params.kind = kinds[random_int(rng, 0, 6)];
  Dims y = x;
  for (int axis = 0; axis < 4; ++axis) {
    if ((params.axes >> axis & 1) != 0) y[static_cast<size_t>(axis)] = 1;
  }
  KernelCase c = KernelCase::of(OpKind::kReduce, {TestTensor::random(rng, DType::kF32, x, random_strides(rng, x))},
                                {TestTensor(DType::kF32, y, random_strides(rng, y))});
  return c.with(params);
}
KernelCase reduce(Rng& rng) {
  return reduce_of(rng, {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 50)});
}
// Enough elements that outputs are made of parts.
KernelCase large_reduce(Rng& rng) {
  return reduce_of(rng, {1, random_int(rng, 1, 20), random_int(rng, 50, 60), random_int(rng, 80, 90)});
}

KernelCase softmax(Rng& rng) {
  const Dims x = {random_int(rng, 1, 3), random_int(rng, 1, 7), random_int(rng, 1, 90)};
  SoftmaxParams params;
  params.axis = static_cast<int32_t>(random_int(rng, 0, 4) == 0 ? 1 : 2);
  params.log = static_cast<int32_t>(random_int(rng, 0, 1));
  KernelCase c =
      KernelCase::of(OpKind::kSoftmax,
                     {TestTensor::random(rng, DType::kF32, x, strides_of(x, {1, 0, 2}, random_int(rng, 0, 2)), -9, 9)},
                     {TestTensor(DType::kF32, x)});
  return c.with(params);
}

KernelCase layer_norm(Rng& rng) {
  const Dims x = {random_int(rng, 1, 3), random_int(rng, 1, 7), random_int(rng, 1, 9), random_int(rng, 2, 90)};
  LayerNormParams params;
  params.axis = static_cast<int32_t>(random_int(rng, 2, 3));
  params.rms = coin(rng);
  const Dims row(x.begin() + params.axis, x.end());
  std::vector<TestTensor> inputs = {TestTensor::random(rng, DType::kF32, x, strides_of(x, {1, 0, 2, 3}))};
  for (int64_t i = random_int(rng, 0, 2); i > 0; --i) inputs.push_back(TestTensor::random(rng, DType::kF32, row));
  return KernelCase::of(OpKind::kLayerNorm, inputs, {TestTensor(DType::kF32, x)}).with(params);
}

// As a group or one instance each; some of more pixels than one task sums.
KernelCase group_norm(Rng& rng) {
  GroupNormParams params;
  params.groups = static_cast<int32_t>(random_int(rng, 1, 6));
  const int64_t size = random_int(rng, 1, 9);
  Dims x = {random_int(rng, 1, 3), params.groups * size, random_int(rng, 2, 9), random_int(rng, 1, 20)};
  if (random_int(rng, 0, 9) == 0) x[3] = 700;
  return KernelCase::of(OpKind::kGroupNorm, {TestTensor::random(rng, DType::kF32, x, image_strides(rng, x), 0, 3)},
                        {TestTensor(DType::kF32, x, image_strides(rng, x))})
      .with(params);
}

DType random_type(Rng& rng) { return static_cast<DType>(random_int(rng, 0, kDTypeCount - 1)); }

KernelCase copy(Rng& rng) {
  const DType type = random_type(rng);
  const Dims x = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 50)};
  return KernelCase::of(OpKind::kCopy, {TestTensor::random(rng, type, x, random_strides(rng, x), 0, 2)},
                        {TestTensor(type, x, random_strides(rng, x))});
}

// Types whose bytes are their bits: others are the reference kernel's.
KernelCase bit_cast(Rng& rng) {
  constexpr DType kPairs[][2] = {{DType::kF32, DType::kI32},
                                 {DType::kU64, DType::kF64},
                                 {DType::kF16, DType::kBF16},
                                 {DType::kBool, DType::kU8},
                                 {DType::kI8, DType::kF8E5M2}};
  const auto& [from, to] = kPairs[random_int(rng, 0, 4)];
  const Dims x = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 50)};
  return KernelCase::of(OpKind::kBitCast, {TestTensor::random(rng, from, x, random_strides(rng, x), 0, 2)},
                        {TestTensor(to, x, random_strides(rng, x))});
}

KernelCase pad(Rng& rng) {
  const DType type = random_type(rng);
  const Dims x = {random_int(rng, 1, 3), random_int(rng, 1, 20), random_int(rng, 1, 30)};
  PadParams params;
  params.mode = coin(rng) ? PadMode::kConstant : static_cast<PadMode>(random_int(rng, 1, 3));
  std::vector<int64_t> pads(6);
  Dims y = x;
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t least = params.mode == PadMode::kConstant ? -3 : 0;
    pads[axis] = random_int(rng, least, 3);
    pads[3 + axis] = random_int(rng, least, 3);
    if (x[axis] + pads[axis] + pads[3 + axis] < 0) pads[axis] = 5;
    y[axis] = x[axis] + pads[axis] + pads[3 + axis];
  }
  std::vector<TestTensor> inputs = {TestTensor::random(rng, type, x, random_strides(rng, x), 0, 2)};
  if (coin(rng)) inputs.push_back(TestTensor::random(rng, type, {}, 0, 2));
  KernelCase c = KernelCase::of(OpKind::kPad, inputs, {TestTensor(type, y, random_strides(rng, y))});
  c.with(params).with_scalars(pads);
  return c;
}

KernelCase concat(Rng& rng) {
  const DType type = random_type(rng);
  ConcatParams params;
  params.axis = static_cast<int32_t>(random_int(rng, 0, 2));
  Dims y = {random_int(rng, 1, 3), random_int(rng, 1, 20), random_int(rng, 1, 30)};
  y[static_cast<size_t>(params.axis)] = 0;
  std::vector<TestTensor> inputs;
  for (int64_t i = random_int(rng, 1, 4); i > 0; --i) {
    Dims x = y;
    x[static_cast<size_t>(params.axis)] = random_int(rng, 0, 6);
    inputs.push_back(TestTensor::random(rng, type, x, random_strides(rng, x), 0, 2));
  }
  for (const TestTensor& input : inputs)
    y[static_cast<size_t>(params.axis)] += input.dims()[static_cast<size_t>(params.axis)];
  return KernelCase::of(OpKind::kConcat, inputs, {TestTensor(type, y, random_strides(rng, y))}).with(params);
}

KernelCase expand(Rng& rng) {
  const DType type = random_type(rng);
  const Dims y = {random_int(rng, 1, 3), random_int(rng, 1, 20), random_int(rng, 1, 30)};
  Dims x = y;
  for (int64_t& dim : x) dim = coin(rng) ? 1 : dim;
  return KernelCase::of(OpKind::kExpand, {TestTensor::random(rng, type, x, random_strides(rng, x), 0, 2)},
                        {TestTensor(type, y, random_strides(rng, y))});
}

KernelCase gather(Rng& rng) {
  const DType type = random_type(rng);
  const Dims data = {random_int(rng, 1, 5), random_int(rng, 1, 8), random_int(rng, 1, 30)};
  GatherParams params;
  params.axis = static_cast<int32_t>(random_int(rng, 0, 2));
  const int64_t length = data[static_cast<size_t>(params.axis)];
  const Dims indices = {random_int(rng, 1, 3), random_int(rng, 1, 4)};
  TestTensor index = TestTensor(coin(rng) ? DType::kI64 : DType::kI32, indices);
  std::vector<double> values;
  for (int64_t i = 0; i < index.count(); ++i)
    values.push_back(static_cast<double>(random_int(rng, -length, length - 1)));
  index.set_elements(values);
  Dims y(data.begin(), data.begin() + params.axis);
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), data.begin() + params.axis + 1, data.end());
  const Dims strides = random_int(rng, 0, 3) == 0 ? random_strides(rng, data) : dense_strides(data);
  return KernelCase::of(OpKind::kGather, {TestTensor::random(rng, type, data, strides, 0, 2), index},
                        {TestTensor(type, y)})
      .with(params);
}

class FastKernels : public ::testing::TestWithParam<Generator> {};

TEST_P(FastKernels, AgreeWithTheReferenceOnRandomCases) { expect_agreement_on_random_cases(GetParam()); }
TEST_P(FastKernels, StayInBoundsOnHostileCases) { expect_hostile_cases_stay_in_bounds(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Operators, FastKernels,
    ::testing::Values(Generator{"Depthwise", OpKind::kConv, depthwise, {1e-6, 1e-6, 2}, {"depthwise_f32"}},
                      Generator{"DepthwiseLine", OpKind::kConv, depthwise_line, {1e-6, 1e-6, 2}, {"depthwise_f32"}},
                      Generator{"Pool", OpKind::kPool, pool, {1e-6, 1e-6, 0}, {"pool_f32"}},
                      Generator{"HalfPool", OpKind::kPool, half_pool, {0, 0, 0}, {"pool_bf16"}},
                      Generator{"BytePool", OpKind::kPool, byte_pool, {0, 0, 0}, {"pool_u8", "pool_s8"}},
                      Generator{"Resize", OpKind::kResize, resize, {1e-6, 1e-6, 0}, {"resize_f32"}},
                      Generator{"Reduce", OpKind::kReduce, reduce, {1e-5, 1e-4, 0}, {"reduce_f32"}},
                      Generator{"Softmax", OpKind::kSoftmax, softmax, {1e-5, 1e-5, 0}, {"softmax_f32"}},
                      Generator{"LayerNorm", OpKind::kLayerNorm, layer_norm, {1e-4, 1e-4, 0}, {"layer_norm_f32"}},
                      Generator{"GroupNorm", OpKind::kGroupNorm, group_norm, {1e-4, 1e-4, 0}, {"group_norm_f32"}},
                      Generator{"Copy", OpKind::kCopy, copy, {}, {"movement_copy"}},
                      Generator{"BitCast", OpKind::kBitCast, bit_cast, {}, {"movement_bit_cast"}},
                      Generator{"Pad", OpKind::kPad, pad, {}, {"movement_pad"}},
                      Generator{"Concat", OpKind::kConcat, concat, {}, {"movement_concat"}},
                      Generator{"Expand", OpKind::kExpand, expand, {}, {"movement_expand"}},
                      Generator{"Gather", OpKind::kGather, gather, {}, {"gather_rows"}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(LargeReduce, AgreesWithTheReference) {
  expect_agreement_on_random_cases({"LargeReduce", OpKind::kReduce, large_reduce, {1e-5, 1e-4, 0}, {"reduce_f32"}, 20});
}

TEST(GatherRows, AnIndexPastTheEndIsAPrecondition) {
  for (const double index : {4.0, -5.0}) {
    KernelCase c = KernelCase::of(
        OpKind::kGather, {TestTensor::of(DType::kF32, {4}, {1, 2, 3, 4}), TestTensor::of(DType::kI64, {1}, {index})},
        {TestTensor(DType::kF32, {1})});
    c.with(GatherParams{});
    for (const KernelDescriptor* kernel : kernels_of(OpKind::kGather)) {
      EXPECT_EQ(run_kernel(*kernel, c).code(), StatusCode::kPrecondition) << kernel->name;
    }
  }
}

}  // namespace
}  // namespace planwright::testing
