// Every kernel that is linked in, on every instruction set this CPU has, against the reference kernel on random shapes,
// strides, tails and alignments: one generator of cases an operator, whatever kernels there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "tests/support/kernel_harness.h"

namespace planwright::testing {
namespace {

constexpr int kCases = 80;

struct Generator {
  const char* name;
  OpKind op;
  KernelCase (*make)(Rng&);
  Tolerance tolerance;
  // Families that must take some of the cases: a kernel that refuses everything would pass unseen.
  std::vector<std::string> families;
  int cases = 150;
};

void PrintTo(const Generator& generator, std::ostream* stream) { *stream << generator.name; }

bool coin(Rng& rng) { return random_int(rng, 0, 1) == 1; }

Dims image(Rng& rng, int64_t max_channels) {
  return {random_int(rng, 1, 2), random_int(rng, 1, max_channels), random_int(rng, 1, 12), random_int(rng, 1, 26)};
}

// Channels-last, with gaps as a slice of a Concat has, or row-major.
Dims image_strides(Rng& rng, const Dims& dims) {
  if (random_int(rng, 0, 5) == 0) return dense_strides(dims);
  return strides_of(dims, {0, 2, 3, 1}, random_int(rng, 0, 3));
}

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

KernelCase pointwise(Rng& rng) {
  const Dims out = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 300)};
  const auto operand = [&] {
    Dims dims = out;
    for (int64_t& dim : dims) dim = random_int(rng, 0, 2) == 0 ? 1 : dim;
    return TestTensor::random(rng, DType::kF32, dims, random_strides(rng, dims));
  };
  KernelCase c;
  c.op = OpKind::kPointwise;
  c.outputs = {TestTensor(DType::kF32, out, random_strides(rng, out))};
  c.with_program({pw_load(0, 0), pw_load(1, 1), pw_load(2, 2), pw_compute(PwOp::kMul, 3, 0, 1),
                  pw_compute(PwOp::kAdd, 4, 3, 2), pw_compute(PwOp::kTanh, 5, 4), pw_store(0, 5)},
                 {operand(), operand(), operand()});
  return c;
}

// The programs that straight code runs, and some that it nearly does; an operand may be NaN.
KernelCase straight_pointwise(Rng& rng) {
  const Dims out = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 30)};
  const auto operand = [&] {
    Dims dims = out;
    for (int64_t& dim : dims) dim = random_int(rng, 0, 3) == 0 ? 1 : dim;
    TestTensor tensor = TestTensor::random(rng, DType::kF32, dims, image_strides(rng, dims), -4, 4);
    tensor.map([&](double x) { return random_int(rng, 0, 30) == 0 ? std::nan("") : x; });
    return tensor;
  };
  const PwOp ops[] = {PwOp::kAdd, PwOp::kSub, PwOp::kMul};
  std::vector<PwInstr> program = {pw_load(0, 0), pw_load(1, 1), pw_load(2, 2), pw_const(3, -1), pw_const(4, 2)};
  int value = 0;
  for (int next = 1; next <= 2 && coin(rng); ++next) {
    const bool swapped = coin(rng);
    program.push_back(pw_compute(ops[random_int(rng, 0, 2)], 5, swapped ? next : value, swapped ? value : next));
    value = 5;
  }
  if (value == 0 && coin(rng)) {
    program.push_back(pw_compute(PwOp::kMulAdd, 5, 0, 1, 2));
    value = 5;
  }
  for (int i = 0; i < 2 && coin(rng); ++i) {
    const bool is_max = coin(rng);
    program.push_back(pw_compute(is_max ? PwOp::kMax : PwOp::kMin, 6, value, is_max ? 3 : 4));
    value = 6;
  }
  program.push_back(pw_store(0, value));
  KernelCase c;
  c.op = OpKind::kPointwise;
  c.outputs = {TestTensor(DType::kF32, out, image_strides(rng, out))};
  return c.with_program(program, {operand(), operand(), operand()});
}

// Random instructions on registers of three classes, loaded from and stored to random types.
class RandomProgram {
 public:
  RandomProgram(Rng& rng, const Dims& dims) : rng_(rng), dims_(dims) {
    for (int i = 0; i < 3; ++i) load();
    for (int i = 0; i < 8; ++i) compute();
    for (int i = 0; i < 2; ++i) store(i);
  }

  KernelCase take() {
    KernelCase c = KernelCase::of(OpKind::kPointwise, {}, outputs_);
    return c.with_program(program_, operands_);
  }

 private:
  static constexpr DType kTypes[] = {DType::kF32, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                                     DType::kU8,  DType::kU16, DType::kU32, DType::kU64, DType::kBool};
  struct Value {
    int index;
    PwClass type;
  };

  DType random_type() { return kTypes[random_int(rng_, 0, 9)]; }
  int next() { return static_cast<int>(values_.size()); }
  const Value& any() { return values_[static_cast<size_t>(random_int(rng_, 0, next() - 1))]; }

  // Any register in the class; what is not is converted.
  int any_as(PwClass type) {
    const Value value = any();
    if (value.type == type) return value.index;
    PwInstr convert = pw_compute(PwOp::kConvert, next(), value.index, 0, 0, type);
    convert.from = value.type;
    return add(convert);
  }
  int add(const PwInstr& instr) {
    program_.push_back(instr);
    values_.push_back({instr.dst, instr.type});
    return instr.dst;
  }

  void load() {
    const DType type = random_type();
    Dims dims = dims_;
    for (int64_t& dim : dims) dim = coin(rng_) ? dim : 1;
    operands_.push_back(
        TestTensor::random(rng_, type, dims, random_strides(rng_, dims), is_unsigned(type) ? 0 : -3, 3));
    add(pw_load(next(), static_cast<int>(operands_.size()) - 1, class_of(type)));
  }
  void compute() {
    const PwOp everywhere[] = {PwOp::kNeg,      PwOp::kAbs,   PwOp::kSign,  PwOp::kNot,       PwOp::kAdd,
                               PwOp::kSub,      PwOp::kMul,   PwOp::kMin,   PwOp::kMax,       PwOp::kModTrunc,
                               PwOp::kModFloor, PwOp::kEqual, PwOp::kLess,  PwOp::kLessEqual, PwOp::kAnd,
                               PwOp::kOr,       PwOp::kXor,   PwOp::kSelect};
    const PwOp integers[] = {PwOp::kDiv,    PwOp::kBitNot, PwOp::kBitAnd,    PwOp::kBitOr,
                             PwOp::kBitXor, PwOp::kMulAdd, PwOp::kShiftLeft, PwOp::kShiftRight};
    const PwClass type = any().type;
    if (random_int(rng_, 0, 5) == 0) {
      add(pw_const(next(), static_cast<double>(random_int(rng_, type == PwClass::kUint ? 0 : -2, 3)), type));
      return;
    }
    const bool of_integers = type != PwClass::kFloat && random_int(rng_, 0, 2) == 0;
    const PwOp op = of_integers ? integers[random_int(rng_, 0, 7)] : everywhere[random_int(rng_, 0, 17)];
    const int a = any_as(type), b = any_as(type), c = any_as(type);
    // Now and then over an operand.
    const int dst = coin(rng_) ? next() : a;
    program_.push_back(pw_compute(op, dst, a, b, c, type));
    if (dst != a) values_.push_back({dst, type});
  }
  void store(int output) {
    const DType type = random_type();
    const int value = any_as(class_of(type));
    program_.push_back(pw_store(output, value, class_of(type)));
    outputs_.emplace_back(type, dims_, random_strides(rng_, dims_));
  }

  Rng& rng_;
  Dims dims_;
  std::vector<PwInstr> program_;
  std::vector<Value> values_;
  std::vector<TestTensor> operands_, outputs_;
};

KernelCase mixed_pointwise(Rng& rng) {
  while (true) {
    const KernelCase c =
        RandomProgram(rng, {random_int(rng, 1, 4), random_int(rng, 1, 300), random_int(rng, 1, 5)}).take();
    if (std::all_of(c.program.begin(), c.program.end(), [](const PwInstr& i) { return i.dst < kMaxPwRegisters; })) {
      return c;
    }
  }
}

KernelCase pool(Rng& rng) {
  const Dims x = image(rng, 70);
  const Window down = window(rng, x[2], 4), along = window(rng, x[3], 4);
  PoolParams params;
  params.kind = coin(rng) ? PoolKind::kMax : PoolKind::kAverage;
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

DType random_type(Rng& rng) { return static_cast<DType>(random_int(rng, 0, kDTypeCount - 1)); }

KernelCase copy(Rng& rng) {
  const DType type = random_type(rng);
  const Dims x = {random_int(rng, 1, 3), random_int(rng, 1, 40), random_int(rng, 1, 6), random_int(rng, 1, 50)};
  return KernelCase::of(OpKind::kCopy, {TestTensor::random(rng, type, x, random_strides(rng, x), 0, 2)},
                        {TestTensor(type, x, random_strides(rng, x))});
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

TEST_P(FastKernels, AgreeWithTheReferenceOnRandomCases) {
  const Generator& generator = GetParam();
  std::map<std::string, int> taken;
  Rng rng(20);
  for (int i = 0; i < generator.cases; ++i) {
    const KernelCase c = generator.make(rng);
    for (const KernelDescriptor* kernel : kernels_of(generator.op)) {
      if (!validate_case(*kernel, c).ok()) continue;
      SCOPED_TRACE(std::string(kernel->name) + " " + describe(c));
      ++taken[kernel->name];
      expect_like_reference(*kernel, c, generator.tolerance);
      if (i % 10 == 0) expect_same_bits_on_any_threads(*kernel, c);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
  for (const std::string& family : generator.families) {
    int count = 0;
    for (const auto& [name, cases] : taken) count += name.rfind(family, 0) == 0 ? cases : 0;
    EXPECT_GE(count, generator.cases / 4) << family << " refused almost everything";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, FastKernels,
    ::testing::Values(
        Generator{"Depthwise", OpKind::kConv, depthwise, {1e-6, 1e-6, 2}, {"depthwise_f32"}},
        Generator{"DepthwiseLine", OpKind::kConv, depthwise_line, {1e-6, 1e-6, 2}, {"depthwise_f32"}},
        Generator{"Pointwise", OpKind::kPointwise, pointwise, {1e-6, 1e-6, 0}, {"pointwise_f32"}},
        Generator{"StraightPointwise", OpKind::kPointwise, straight_pointwise, {1e-6, 1e-6, 0}, {"pointwise_f32"}},
        Generator{"MixedPointwise", OpKind::kPointwise, mixed_pointwise, {}, {"pointwise_mixed"}},
        Generator{"Pool", OpKind::kPool, pool, {1e-6, 1e-6, 0}, {"pool_f32"}},
        Generator{"Resize", OpKind::kResize, resize, {1e-6, 1e-6, 0}, {"resize_f32"}},
        Generator{"Reduce", OpKind::kReduce, reduce, {1e-5, 1e-4, 0}, {"reduce_f32"}},
        Generator{"LargeReduce", OpKind::kReduce, large_reduce, {1e-5, 1e-4, 0}, {"reduce_f32"}, 20},
        Generator{"Softmax", OpKind::kSoftmax, softmax, {1e-5, 1e-5, 0}, {"softmax_f32"}},
        Generator{"LayerNorm", OpKind::kLayerNorm, layer_norm, {1e-4, 1e-4, 0}, {"layer_norm_f32"}},
        Generator{"Copy", OpKind::kCopy, copy, {}, {"movement_copy"}},
        Generator{"Pad", OpKind::kPad, pad, {}, {"movement_pad"}},
        Generator{"Concat", OpKind::kConcat, concat, {}, {"movement_concat"}},
        Generator{"Expand", OpKind::kExpand, expand, {}, {"movement_expand"}},
        Generator{"Gather", OpKind::kGather, gather, {}, {"gather_rows"}}),
    [](const auto& instance) { return std::string(instance.param.name); });

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
