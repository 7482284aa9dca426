// Quantise, dequantise, and the operators that compute on integers.
#include <fmt/format.h>

#include <limits>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/ops/quantized.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

struct IntegerRange {
  double low, high;
};

IntegerRange range_of(const NodeContext& node, DType dtype) {
  switch (dtype) {
    case DType::kI8: return {-128, 127};
    case DType::kU8: return {0, 255};
    case DType::kI16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    default: node.unsupported(fmt::format("quantised elements of {}", name_of(dtype)));
  }
}

// A scale or zero point, given for all, for each slice of `axis`, or for each block of it, so that it broadcasts to x.
ValueId spread(NodeContext& node, ValueId parameter, const Shape& x) {
  const int rank = static_cast<int>(x.size());
  if (node.rank(parameter) == 0 || (node.rank(parameter) == 1 && node.dims(parameter)[0] == Dim(1))) {
    return node.reshape(parameter, {});
  }
  const int axis = node.normalize_axis(node.get_int("axis", 1), rank);
  const Dim length = x[static_cast<size_t>(axis)];
  const int64_t block = node.get_int("block_size", 0);
  if (block == 0) {
    node.require(node.rank(parameter) == 1, "its scale must have one axis or none");
    node.guard_equal(node.dims(parameter)[0], length, "one scale for each slice of the axis");
    return per_channel(node, parameter, rank - axis - 1);
  }
  node.require(node.rank(parameter) == rank, "a scale for blocks must have as many axes as its input");
  Shape blocks = node.dims(parameter), repeated;
  blocks.insert(blocks.begin() + axis + 1, Dim(1));
  repeated = blocks;
  repeated[static_cast<size_t>(axis) + 1] = block;
  Shape whole = node.dims(parameter);
  whole[static_cast<size_t>(axis)] = whole[static_cast<size_t>(axis)] * block;
  const ValueId full = node.reshape(node.expand(node.reshape(parameter, blocks), repeated), whole);
  node.guard_at_most(length, whole[static_cast<size_t>(axis)], "the blocks must cover the axis");
  return node.slice(full, axis, 0, length);
}

}  // namespace

// In float, where all of the type's values are exact.
void store_quantized(const NodeContext& node, ProgramBuilder& p, Reg y, std::optional<Reg> zero, DType dtype) {
  const IntegerRange range = range_of(node, dtype);
  Reg level = p.apply(PwOp::kRoundEven, y);
  if (zero) level = p.apply(PwOp::kAdd, level, p.convert(*zero, y.type));
  level = p.apply(PwOp::kMax, level, p.constant(y.type, range.low));
  p.store(p.apply(PwOp::kMin, level, p.constant(y.type, range.high)), dtype);
}

namespace {

// The quantised type: that of the zero point, else the attribute's, else uint8.
DType quantized_type(const NodeContext& node) {
  if (node.has(2)) return node.in_type(2);
  if (const int64_t code = node.get_int("output_dtype", 0); code != 0) {
    const auto dtype = dtype_of_onnx(static_cast<int32_t>(code));
    if (!dtype) node.unsupported(fmt::format("quantised elements of {}", onnx_type_name(static_cast<int32_t>(code))));
    return *dtype;
  }
  return DType::kU8;
}

void quantize_linear(NodeContext& node) {
  const DType dtype = quantized_type(node), x_type = node.in_type(0), scale_type = node.in_type(1);
  range_of(node, dtype);
  const Shape& x = node.in_dims(0);
  ProgramBuilder program;
  std::vector<ValueId> operands{node.in(0), spread(node, node.in(1), x)};
  const Reg value = program.load_as(x_type, class_of(scale_type));
  const Reg scale = program.load(scale_type);
  std::optional<Reg> zero;
  if (node.has(2)) {
    operands.push_back(spread(node, node.in(2), x));
    zero = program.load(dtype);
  }
  store_quantized(node, program, program.apply(PwOp::kDiv, value, scale), zero, dtype);
  node.set(0, node.pointwise(program, std::move(operands), dtype));
}

void dequantize_linear(NodeContext& node) {
  const DType x_type = node.in_type(0), scale_type = node.in_type(1);
  node.require(!is_float(x_type), fmt::format("its input is {}, not an integer", name_of(x_type)));
  const auto wanted = node.get_int("output_dtype", 0);
  const DType y_type = wanted == 0 ? scale_type : dtype_of_onnx(static_cast<int32_t>(wanted)).value_or(scale_type);
  const Shape& x = node.in_dims(0);
  ProgramBuilder program;
  std::vector<ValueId> operands{node.in(0), spread(node, node.in(1), x)};
  Reg level = program.load_as(x_type, PwClass::kInt);
  const Reg scale = program.load(scale_type);
  if (node.has(2)) {
    node.require(node.in_type(2) == x_type, "its zero point has another type than its input");
    operands.push_back(spread(node, node.in(2), x));
    level = program.apply(PwOp::kSub, level, program.load_as(x_type, PwClass::kInt));
  }
  program.store(program.apply(PwOp::kMul, program.convert(level, scale.type), scale), y_type);
  node.set(0, node.pointwise(program, std::move(operands), y_type));
}

}  // namespace

ValueId centred(NodeContext& node, ValueId x, std::optional<ValueId> zero) {
  if (!zero) return node.cast(x, DType::kI32);
  ProgramBuilder program;
  const Reg value = program.load_as(node.dtype(x), PwClass::kInt);
  const Reg offset = program.load_as(node.dtype(*zero), PwClass::kInt);
  program.store(program.apply(PwOp::kSub, value, offset), DType::kI32);
  return node.pointwise(program, {x, *zero}, DType::kI32);
}

std::optional<ValueId> by_row(NodeContext& node, int input) {
  if (!node.has(input)) return std::nullopt;
  return node.in_rank(input) == 1 && node.in_dims(input)[0] != Dim(1) ? per_channel(node, node.in(input), 1)
                                                                      : node.in(input);
}
std::optional<ValueId> by_column(NodeContext& node, int input) {
  if (!node.has(input)) return std::nullopt;
  return node.in(input);
}

namespace {

// A zero point or scale of convolution weights belongs to the output channels, the first axis.
std::optional<ValueId> by_filter(NodeContext& node, int input, int spatial) {
  if (!node.has(input)) return std::nullopt;
  const bool scalar = node.in_rank(input) == 0 || node.in_dims(input)[0] == Dim(1);
  return scalar ? node.reshape(node.in(input), {}) : per_channel(node, node.in(input), spatial);
}

void matmul_integer(NodeContext& node) {
  node.set(0,
           matmul_of(node, centred(node, node.in(0), by_row(node, 2)), centred(node, node.in(1), by_column(node, 3))));
}

void conv_integer(NodeContext& node) {
  const int filter_axes = node.in_rank(1) - 1;
  node.set(0, conv_of(node, centred(node, node.in(0), by_filter(node, 2, 0)),
                      centred(node, node.in(1), by_filter(node, 3, filter_axes))));
}

}  // namespace

ValueId requantized(NodeContext& node, ValueId sum, ValueId a_scale, ValueId b_scale, ValueId y_scale, ValueId y_zero) {
  const DType dtype = node.dtype(y_zero), scale_type = node.dtype(a_scale);
  ProgramBuilder p;
  const PwClass type = class_of(scale_type);
  const Reg total = p.load_as(DType::kI32, type);
  const Reg product = p.apply(PwOp::kMul, p.load(scale_type), p.load_as(node.dtype(b_scale), type));
  const Reg factor = p.apply(PwOp::kDiv, product, p.load_as(node.dtype(y_scale), type));
  store_quantized(node, p, p.apply(PwOp::kMul, total, factor), p.load(dtype), dtype);
  return node.pointwise(p, {sum, a_scale, b_scale, y_scale, y_zero}, dtype);
}

namespace {

// a, scale, zero, b, scale, zero, scale and zero of y
void qlinear_matmul(NodeContext& node) {
  const ValueId sum =
      matmul_of(node, centred(node, node.in(0), by_row(node, 2)), centred(node, node.in(3), by_column(node, 5)));
  node.set(0, requantized(node, sum, *by_row(node, 1), *by_column(node, 4), *by_row(node, 6), *by_row(node, 7)));
}

// The same, then an int32 bias in units of scale_x * scale_w.
void qlinear_conv(NodeContext& node) {
  const int spatial = node.in_rank(3) - 2;
  ValueId sum = conv_of(node, centred(node, node.in(0), by_filter(node, 2, 0)),
                        centred(node, node.in(3), by_filter(node, 5, spatial + 1)));
  if (node.has(8)) {
    node.require(node.in_type(8) == DType::kI32, "its bias must be int32");
    sum = node.binary(PwOp::kAdd, sum, per_channel(node, node.in(8), spatial));
  }
  node.set(0, requantized(node, sum, *by_filter(node, 1, 0), *by_filter(node, 4, spatial), *by_filter(node, 6, 0),
                          *by_filter(node, 7, 0)));
}

// The quantiser of ONNX Runtime writes these two also into a domain of its own, for types that ONNX did not have.
constexpr const char* kMicrosoft = "com.microsoft";

constexpr ImporterRow kRows[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize_linear},
    {"DequantizeLinear", dequantize_linear, kMicrosoft},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
    {"QuantizeLinear", quantize_linear, kMicrosoft},
};

}  // namespace

ImporterTable quantization_importers() { return kRows; }

}  // namespace planwright::builder::importer
