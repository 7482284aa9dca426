#include "tests/support/contraction_cases.h"

#include <algorithm>
#include <cmath>

namespace planwright::testing {

const std::vector<NamedEpilogue>& named_epilogues() {
  static const std::vector<NamedEpilogue> list = [] {
    using Op = PwOp;
    const PwInstr acc = pw_acc(0), bias = pw_load(1, 0), residual = pw_load(2, 1);
    const PwInstr add_bias = pw_compute(Op::kAdd, 3, 0, 1), add_residual = pw_compute(Op::kAdd, 3, 3, 2);
    std::vector<NamedEpilogue> all;
    all.push_back({"none", {}});
    all.push_back({"bias", {acc, bias, add_bias, pw_store(0, 3)}, true});
    all.push_back({"residual", {acc, pw_load(2, 0), pw_compute(Op::kAdd, 3, 2, 0), pw_store(0, 3)}, false, true});
    all.push_back({"bias_residual", {acc, bias, add_bias, residual, add_residual, pw_store(0, 3)}, true, true});
    all.push_back(
        {"bias_relu", {acc, bias, add_bias, pw_const(4, 0), pw_compute(Op::kMax, 5, 3, 4), pw_store(0, 5)}, true});
    all.push_back(
        {"bias_residual_relu",
         {acc, bias, add_bias, residual, add_residual, pw_const(4, 0), pw_compute(Op::kMax, 5, 4, 3), pw_store(0, 5)},
         true,
         true});
    all.push_back({"bias_clip",
                   {acc, bias, add_bias, pw_const(4, -0.5), pw_const(5, 0.75), pw_compute(Op::kMin, 3, 3, 5),
                    pw_compute(Op::kMax, 5, 3, 4), pw_store(0, 5)},
                   true});
    // x * clip(x + 3, 0, 6) / 6
    all.push_back({"bias_hardswish",
                   {acc, bias, add_bias, pw_const(4, 3), pw_compute(Op::kAdd, 5, 3, 4), pw_const(6, 0),
                    pw_compute(Op::kMax, 5, 5, 6), pw_const(6, 6), pw_compute(Op::kMin, 5, 5, 6),
                    pw_compute(Op::kMul, 5, 3, 5), pw_compute(Op::kDiv, 5, 5, 6), pw_store(0, 5)},
                   true});
    // x * hard_sigmoid(x), as HardSigmoid spells it: clip(x * alpha + beta, 0, 1)
    all.push_back({"bias_hardswish_of_hardsigmoid",
                   {acc, bias, add_bias, pw_const(4, 1.0 / 6), pw_const(6, 0.5), pw_compute(Op::kMulAdd, 5, 3, 4, 6),
                    pw_const(6, 0), pw_compute(Op::kMax, 5, 5, 6), pw_const(6, 1), pw_compute(Op::kMin, 5, 6, 5),
                    pw_compute(Op::kMul, 5, 5, 3), pw_store(0, 5)},
                   true});
    // x * clip(x + 3, 0, 6) / 6 * scale + shift, as networks with learnt scales behind their activations have it
    all.push_back({"bias_hardswish_affine",
                   {acc, bias, add_bias, pw_const(4, 3), pw_compute(Op::kAdd, 5, 3, 4), pw_const(6, 0),
                    pw_compute(Op::kMax, 5, 5, 6), pw_const(6, 6), pw_compute(Op::kMin, 5, 5, 6),
                    pw_compute(Op::kMul, 5, 3, 5), pw_compute(Op::kDiv, 5, 5, 6), pw_const(4, 1.25),
                    pw_compute(Op::kMul, 5, 5, 4), pw_const(6, -0.375), pw_compute(Op::kAdd, 5, 5, 6), pw_store(0, 5)},
                   true});
    // (x * hard_sigmoid(x)) * -0.75 + 0.5
    all.push_back({"bias_hardswish_negated",
                   {acc, bias, add_bias, pw_const(4, 1.0 / 6), pw_const(6, 0.5), pw_compute(Op::kMulAdd, 5, 3, 4, 6),
                    pw_const(6, 0), pw_compute(Op::kMax, 5, 5, 6), pw_const(6, 1), pw_compute(Op::kMin, 5, 6, 5),
                    pw_compute(Op::kMul, 5, 5, 3), pw_const(4, -0.75), pw_compute(Op::kMul, 5, 4, 5), pw_const(6, 0.5),
                    pw_compute(Op::kAdd, 5, 5, 6), pw_store(0, 5)},
                   true});
    all.push_back({"bias_hardsigmoid",
                   {acc, bias, add_bias, pw_const(4, 0.2), pw_compute(Op::kMul, 5, 4, 3), pw_const(4, 0.5),
                    pw_compute(Op::kAdd, 5, 5, 4), pw_const(6, 0), pw_compute(Op::kMax, 5, 5, 6), pw_const(6, 1),
                    pw_compute(Op::kMin, 5, 5, 6), pw_store(0, 5)},
                   true});
    all.push_back({"bias_silu",
                   {acc, bias, add_bias, pw_compute(Op::kSigmoid, 4, 3), pw_compute(Op::kMul, 5, 4, 3), pw_store(0, 5)},
                   true});
    all.push_back({"bias_quick_gelu",
                   {acc, bias, add_bias, pw_const(4, 1.702), pw_compute(Op::kMul, 4, 3, 4),
                    pw_compute(Op::kSigmoid, 4, 4), pw_compute(Op::kMul, 5, 3, 4), pw_store(0, 5)},
                   true});
    all.push_back({"bias_sigmoid", {acc, bias, add_bias, pw_compute(Op::kSigmoid, 4, 3), pw_store(0, 4)}, true});
    // A layer of one filter has a number for its bias.
    all.push_back({"sigmoid_of_a_line",
                   {acc, pw_const(1, 0.25), pw_compute(Op::kAdd, 3, 0, 1), pw_const(4, 2),
                    pw_compute(Op::kMul, 3, 3, 4), pw_compute(Op::kSigmoid, 4, 3), pw_store(0, 4)}});
    // 0.5 * x * (1 + erf(x / sqrt(2)))
    all.push_back({"bias_gelu",
                   {acc, bias, add_bias, pw_const(4, std::sqrt(2.0)), pw_compute(Op::kDiv, 5, 3, 4),
                    pw_compute(Op::kErf, 5, 5), pw_const(4, 1), pw_compute(Op::kAdd, 5, 5, 4), pw_const(4, 0.5),
                    pw_compute(Op::kMul, 6, 3, 4), pw_compute(Op::kMul, 6, 6, 5), pw_store(0, 6)},
                   true});
    // (x * (1 + erf(x * sqrt(1/2)))) * 0.5
    all.push_back({"bias_gelu_scaled_last",
                   {acc, bias, add_bias, pw_const(4, std::sqrt(0.5)), pw_compute(Op::kMul, 5, 4, 3),
                    pw_compute(Op::kErf, 5, 5), pw_const(4, 1), pw_compute(Op::kAdd, 5, 4, 5),
                    pw_compute(Op::kMul, 6, 3, 5), pw_const(4, 0.5), pw_compute(Op::kMul, 6, 6, 4), pw_store(0, 6)},
                   true});
    // What only the interpreter knows: tanh(acc + bias) * residual + 2.
    all.push_back({"interpreted",
                   {acc, bias, add_bias, pw_compute(Op::kTanh, 4, 3), residual, pw_compute(Op::kMul, 4, 4, 2),
                    pw_const(5, 2), pw_compute(Op::kAdd, 4, 4, 5), pw_store(0, 4)},
                   true,
                   true,
                   false});
    // A negative slope is no clamped line.
    all.push_back({"negated",
                   {acc, bias, add_bias, pw_const(4, -1), pw_compute(Op::kMul, 5, 3, 4), pw_const(4, 0),
                    pw_compute(Op::kMax, 5, 5, 4), pw_store(0, 5)},
                   true,
                   false,
                   false});
    return all;
  }();
  return list;
}

void add_epilogue(Rng& rng, const NamedEpilogue& epilogue, int column_axis, KernelCase* c) {
  const TensorView& output = c->outputs[0].view();
  const Dims dims = c->outputs[0].dims();
  std::vector<TestTensor> operands;
  if (epilogue.has_bias) {
    Dims bias(dims.size() - static_cast<size_t>(column_axis), 1);
    bias[0] = dims[static_cast<size_t>(column_axis)];
    operands.push_back(TestTensor::random(rng, DType::kF32, bias, -2, 2));
  }
  if (epilogue.has_residual) {
    const Dims strides(output.strides, output.strides + output.rank);
    operands.push_back(TestTensor::random(rng, DType::kF32, dims, strides, -2, 2));
  }
  c->with_program(epilogue.program, operands);
}

Dims pixel_strides(const Dims& dims, int64_t padding) {
  std::vector<int> order = {0};
  for (int axis = 2; axis < static_cast<int>(dims.size()); ++axis) order.push_back(axis);
  order.push_back(1);
  return strides_of(dims, order, padding);
}

Dims ConvShape::output() const {
  Dims dims = {batch, filters};
  for (size_t i = 0; i < input.size(); ++i) {
    dims.push_back((input[i] + pad[i] + pad_end[i] - (kernel[i] - 1) * dilation[i] - 1) / stride[i] + 1);
  }
  return dims;
}

KernelCase conv_case(Rng& rng, const ConvShape& shape) {
  Dims x = {shape.batch, shape.channels}, w = {shape.filters, shape.channels / shape.group};
  x.insert(x.end(), shape.input.begin(), shape.input.end());
  w.insert(w.end(), shape.kernel.begin(), shape.kernel.end());
  ConvParams params;
  params.spatial = static_cast<int32_t>(shape.input.size());
  params.group = shape.group;
  for (size_t i = 0; i < shape.input.size(); ++i) {
    params.stride[i] = static_cast<int32_t>(shape.stride[i]);
    params.dilation[i] = static_cast<int32_t>(shape.dilation[i]);
  }
  return KernelCase::of(OpKind::kConv,
                        {TestTensor::random(rng, DType::kF32, x, pixel_strides(x, shape.input_padding)),
                         TestTensor::random(rng, DType::kF32, w)},
                        {TestTensor(DType::kF32, shape.output(), pixel_strides(shape.output(), shape.output_padding))})
      .with(params)
      .with_scalars(Dims(shape.pad.begin(), shape.pad.begin() + static_cast<ptrdiff_t>(shape.input.size())));
}

KernelCase transpose_case(Rng& rng, const ConvShape& shape, int64_t output_extra) {
  Dims x = {shape.batch, shape.channels}, w = {shape.channels, shape.filters / shape.group};
  Dims y = {shape.batch, shape.filters};
  ConvTransposeParams params;
  params.spatial = static_cast<int32_t>(shape.input.size());
  params.group = shape.group;
  for (size_t i = 0; i < shape.input.size(); ++i) {
    x.push_back(shape.input[i]);
    w.push_back(shape.kernel[i]);
    const int64_t full = (shape.input[i] - 1) * shape.stride[i] + (shape.kernel[i] - 1) * shape.dilation[i] + 1;
    y.push_back(std::max<int64_t>(1, full - shape.pad[i] - shape.pad_end[i] + output_extra));
    params.stride[i] = static_cast<int32_t>(shape.stride[i]);
    params.dilation[i] = static_cast<int32_t>(shape.dilation[i]);
  }
  return KernelCase::of(OpKind::kConvTranspose,
                        {TestTensor::random(rng, DType::kF32, x, pixel_strides(x, shape.input_padding)),
                         TestTensor::random(rng, DType::kF32, w)},
                        {TestTensor(DType::kF32, y, pixel_strides(y, shape.output_padding))})
      .with(params)
      .with_scalars(Dims(shape.pad.begin(), shape.pad.begin() + static_cast<ptrdiff_t>(shape.input.size())));
}

ConvShape random_conv_shape(Rng& rng) {
  ConvShape shape;
  const auto spatial = static_cast<size_t>(random_int(rng, 1, 2));
  shape.batch = random_int(rng, 1, 2);
  shape.group = random_int(rng, 0, 3) == 0 ? static_cast<int>(random_int(rng, 2, 3)) : 1;
  shape.channels = shape.group * random_int(rng, 1, 20);
  shape.filters = shape.group * random_int(rng, 1, random_int(rng, 0, 3) == 0 ? 150 : 40);
  for (size_t i = 0; i < spatial; ++i) {
    shape.kernel.push_back(random_int(rng, 1, 4));
    shape.stride[i] = random_int(rng, 1, 3);
    shape.dilation[i] = random_int(rng, 1, 2);
    shape.pad[i] = random_int(rng, 0, 3);
    shape.pad_end[i] = random_int(rng, 0, 3);
    const int64_t reach = (shape.kernel[i] - 1) * shape.dilation[i] + 1;
    const int64_t least = std::max<int64_t>(1, reach - shape.pad[i] - shape.pad_end[i]);
    shape.input.push_back(random_int(rng, least, least + 14));
  }
  shape.input_padding = random_int(rng, 0, 1) * random_int(rng, 1, 9);
  shape.output_padding = random_int(rng, 0, 1) * random_int(rng, 1, 9);
  return shape;
}

std::vector<const KernelDescriptor*> family_of(OpKind op, const std::string& family) {
  std::vector<const KernelDescriptor*> list = kernels_of(op);
  std::erase_if(list, [&](const KernelDescriptor* kernel) {
    const std::string name = kernel->name;
    return !name.starts_with(family) || name.find("_dot_") != std::string::npos ||
           name.find("_single_") != std::string::npos;
  });
  return list;
}

std::vector<const KernelDescriptor*> few_column_kernels(OpKind op) {
  std::vector<const KernelDescriptor*> list = kernels_of(op);
  std::erase_if(list, [](const KernelDescriptor* kernel) {
    return std::string(kernel->name).find("_dot_") == std::string::npos;
  });
  return list;
}

}  // namespace planwright::testing
