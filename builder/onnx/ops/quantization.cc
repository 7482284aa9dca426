// Quantise, dequantise, and the operators that compute on integers.
#include <fmt/format.h>

#include <cmath>
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

IntegerRange range_of(DType dtype) {
  const int bits = bit_width(dtype);
  const double count = static_cast<double>(int64_t{1} << bits);
  return is_unsigned(dtype) ? IntegerRange{0, count - 1} : IntegerRange{-count / 2, count / 2 - 1};
}

void require_quantized(const NodeContext& node, DType dtype) {
  const bool is_integer = !is_float(dtype) && dtype != DType::kBool && bit_width(dtype) <= 16;
  if (is_integer || (is_minifloat(dtype) && dtype != DType::kF8E8M0)) return;
  node.unsupported(fmt::format("quantised elements of {}", name_of(dtype)));
}

// A float type that registers of class float do not hold as it is.
bool is_short_float(DType dtype) { return is_float(dtype) && size_of(dtype) < sizeof(float); }

// A Pointwise of the node's input and its parameters, a scale and perhaps a zero point: each is given for all elements,
// for each slice of an axis, or for each block of it.
class Spread {
 public:
  Spread(NodeContext& node, const ProgramBuilder& program, DType to)
      : node_(node), program_(program), to_(to), block_(node.get_int("block_size", 0)) {}

  ValueId apply() const {
    if (block_ == 0 || is_for_all(node_.in(1))) return on_input();
    node_.require(block_ >= 1, fmt::format("block_size is {}", block_));
    const Dim blocks = dim_of(node_.in(1)), length = dim_of(node_.in(0));
    if (blocks * block_ == length) return on_blocks(0, blocks, block_);
    if (!length.is_constant()) return on_input();
    const int64_t whole = length.constant() / block_, rest = length.constant() % block_;
    node_.guard_equal(blocks, whole + (rest != 0 ? 1 : 0), "a scale for each block of the axis");
    if (whole == 0) return on_blocks(0, 1, rest);
    return node_.concat({on_blocks(0, whole, block_), on_blocks(whole, 1, rest)}, axis());
  }

 private:
  bool is_for_all(ValueId parameter) const {
    return node_.rank(parameter) == 0 || (node_.rank(parameter) == 1 && node_.dims(parameter)[0] == Dim(1));
  }
  int axis() const { return node_.normalize_axis(node_.get_int("axis", 1), node_.in_rank(0)); }
  Dim dim_of(ValueId x) const {
    node_.require(node_.rank(x) == node_.in_rank(0), "a scale for blocks must have as many axes as its input");
    return node_.dims(x)[static_cast<size_t>(axis())];
  }

  // `parameter`, so that it broadcasts to the input.
  ValueId spread(ValueId parameter) const {
    if (is_for_all(parameter)) return node_.reshape(parameter, {});
    if (block_ != 0) return by_element(parameter);
    node_.require(node_.rank(parameter) == 1, "its scale must have one axis or none");
    node_.guard_equal(node_.dims(parameter)[0], dim_of(node_.in(0)), "one scale for each slice of the axis");
    return per_channel(node_, parameter, node_.in_rank(0) - axis() - 1);
  }
  // Each element of `parameter` as often as a block is long, the last as often as needed.
  ValueId by_element(ValueId parameter) const {
    const Dim length = dim_of(node_.in(0)), whole = dim_of(parameter) * block_;
    node_.guard_at_most(length, whole, "the blocks must cover the axis");
    const auto at = static_cast<size_t>(axis());
    const ValueId apart = node_.unsqueeze(parameter, axis() + 1);
    Shape repeated = node_.dims(apart), joined = node_.dims(parameter);
    repeated[at + 1] = block_;
    joined[at] = whole;
    return node_.slice(node_.reshape(node_.expand(apart, repeated), joined), axis(), 0, length);
  }
  ValueId on_input() const {
    std::vector<ValueId> operands{node_.in(0), spread(node_.in(1))};
    if (node_.has(2)) operands.push_back(spread(node_.in(2)));
    return node_.pointwise(program_, std::move(operands), to_);
  }

  ValueId part(ValueId x, int64_t first, Dim length) const {
    return dim_of(x) == length ? x : node_.slice(x, axis(), first, length);
  }
  ValueId blocks_of(ValueId parameter, int64_t first, Dim count) const {
    if (is_for_all(parameter)) return node_.reshape(parameter, {});
    node_.guard_at_most(first + count, dim_of(parameter), "a scale and a zero point for each block");
    return node_.unsqueeze(part(parameter, first, count), axis() + 1);
  }
  // Of `count` blocks, of `length` elements each, from the block `first` on. Blocks and what is in them lie along two
  // axes, so no parameter is repeated: one that is as large as constant weights would not be folded into them.
  ValueId on_blocks(int64_t first, Dim count, int64_t length) const {
    const ValueId x = part(node_.in(0), first * block_, count * length);
    const Shape dims = node_.dims(x);
    Shape split = dims;
    split[static_cast<size_t>(axis())] = count;
    split.insert(split.begin() + axis() + 1, Dim(length));
    std::vector<ValueId> operands{node_.reshape(x, std::move(split)), blocks_of(node_.in(1), first, count)};
    if (node_.has(2)) operands.push_back(blocks_of(node_.in(2), first, count));
    return node_.reshape(node_.pointwise(program_, std::move(operands), to_), dims);
  }

  NodeContext& node_;
  const ProgramBuilder& program_;
  const DType to_;
  const int64_t block_;  // 0: none
};

}  // namespace

namespace {

void check_scale_from(const NodeContext& node, int input, double least) {
  if (!node.has(input)) return;
  const ir::Value& scale = node.input(input);
  if (!scale.is_constant() || !is_float(scale.dtype)) return;
  for (const double value : read_doubles(scale)) {
    node.require(std::isfinite(value) && std::abs(value) >= least,
                 fmt::format("its scale '{}' holds {}, by which nothing can be divided", scale.name, value));
  }
}

}  // namespace

void check_scale(const NodeContext& node, int input) {
  const bool is_exponent = node.has(input) && node.input(input).dtype == DType::kF8E8M0;
  check_scale_from(node, input, is_exponent ? 0x1p-127 : std::numeric_limits<float>::min());
}

// Integers in float, where all of their type's values are exact. Floats are rounded once, when stored.
void store_quantized(const NodeContext& node, ProgramBuilder& p, Reg y, std::optional<Reg> zero, DType dtype) {
  require_quantized(node, dtype);
  if (is_minifloat(dtype)) {
    if (zero) y = p.apply(PwOp::kAdd, y, p.convert(*zero, y.type));
    return p.store(node.get_int("saturate", 1) != 0 ? p.saturate(y, dtype) : y, dtype);
  }
  const IntegerRange range = range_of(dtype);
  Reg level = p.apply(PwOp::kRoundEven, y);
  if (zero) level = p.apply(PwOp::kAdd, level, p.convert(*zero, y.type));
  level = p.apply(PwOp::kMax, level, p.constant(y.type, range.low));
  p.store(p.apply(PwOp::kMin, level, p.constant(y.type, range.high)), dtype);
}

namespace {

// The element type that an integer attribute names; nothing where it is 0 or not given.
std::optional<DType> type_attribute(const NodeContext& node, const std::string& name) {
  const int32_t code = node.get_int32(name, 0);
  if (code == 0) return std::nullopt;
  const std::optional<DType> dtype = dtype_of_onnx(code);
  if (!dtype) node.unsupported(fmt::format("{} {}", name, onnx_type_name(code)));
  return dtype;
}

// The quantised type: that of the zero point, else the attribute's, else uint8.
DType quantized_type(const NodeContext& node) {
  if (node.has(2)) return node.in_type(2);
  return type_attribute(node, "output_dtype").value_or(DType::kU8);
}

// Numbers in units of the scale have none: floats, and the sums of products in int32.
void check_zero_point(const NodeContext& node, int input) {
  const ir::Value& zero = node.input(input);
  if (!zero.is_constant() || !(is_minifloat(zero.dtype) || zero.dtype == DType::kI32)) return;
  for (const double value : read_doubles(zero)) {
    node.require(value == 0, fmt::format("its zero point '{}' holds {}; of {} it must be 0", zero.name, value,
                                         name_of(zero.dtype)));
  }
}

void quantize_linear(NodeContext& node) {
  check_scale(node, 1);
  const DType dtype = quantized_type(node), x_type = node.in_type(0), scale_type = node.in_type(1);
  require_quantized(node, dtype);
  // The type that the quotient has; integers are divided as reals.
  const std::optional<DType> precision = type_attribute(node, "precision");
  const DType quotient_type = precision.value_or(scale_type);
  const PwClass type = is_float(quotient_type) ? class_of(quotient_type) : PwClass::kDouble;
  ProgramBuilder program;
  const auto rounded = [&](Reg a) { return is_short_float(quotient_type) ? program.narrow(a, quotient_type) : a; };
  Reg value = program.load_as(x_type, type), scale = program.load_as(scale_type, type);
  if (precision) value = rounded(value), scale = rounded(scale);
  Reg quotient = program.apply(PwOp::kDiv, value, scale);
  // Without an attribute a type of more bits than the scale's keeps them.
  if (precision || x_type == scale_type) quotient = rounded(quotient);
  std::optional<Reg> zero;
  if (node.has(2)) {
    check_zero_point(node, 2);
    zero = program.load(dtype);
  }
  store_quantized(node, program, quotient, zero, dtype);
  node.set(0, Spread(node, program, dtype).apply());
}

void dequantize_linear(NodeContext& node) {
  // Biases of filters that are nearly zero have scales as small as there are.
  check_scale_from(node, 1, std::numeric_limits<float>::denorm_min());
  const DType x_type = node.in_type(0), scale_type = node.in_type(1);
  node.require(!is_float(x_type) || is_minifloat(x_type), fmt::format("its input is {}", name_of(x_type)));
  node.require(is_float(scale_type), fmt::format("its scale is {}, not a float", name_of(scale_type)));
  const DType y_type = type_attribute(node, "output_dtype").value_or(scale_type);
  node.require(is_float(y_type) && !is_minifloat(y_type), fmt::format("its output is {}", name_of(y_type)));
  const PwClass level_type = is_float(x_type) ? PwClass::kFloat : PwClass::kInt;
  ProgramBuilder program;
  Reg level = program.load_as(x_type, level_type);
  const Reg scale = program.load(scale_type);
  if (node.has(2)) {
    node.require(node.in_type(2) == x_type, "its zero point has another type than its input");
    check_zero_point(node, 2);
    level = program.apply(PwOp::kSub, level, program.load_as(x_type, level_type));
  }
  program.store(program.apply(PwOp::kMul, program.convert(level, scale.type), scale), y_type);
  node.set(0, Spread(node, program, y_type).apply());
}

}  // namespace

ValueId centred(NodeContext& node, ValueId x, std::optional<ValueId> zero) {
  const bool is_real = is_float(node.dtype(x));
  const DType wide = is_real ? DType::kF32 : DType::kI32;
  const PwClass type = is_real ? PwClass::kFloat : PwClass::kInt;
  if (!zero) return node.cast(x, wide);
  node.require(node.dtype(*zero) == node.dtype(x), "a zero point has another type than its input");
  ProgramBuilder program;
  const Reg value = program.load_as(node.dtype(x), type);
  const Reg offset = program.load_as(node.dtype(*zero), type);
  program.store(program.apply(PwOp::kSub, value, offset), wide);
  return node.pointwise(program, {x, *zero}, wide);
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
  for (const ValueId scale : {a_scale, b_scale, y_scale}) {
    node.require(is_float(node.dtype(scale)), "its scales must be of floats");
  }
  ProgramBuilder p;
  const PwClass type = class_of(scale_type);
  const Reg total = p.load_as(node.dtype(sum), type);
  const Reg product = p.apply(PwOp::kMul, p.load(scale_type), p.load_as(node.dtype(b_scale), type));
  const Reg factor = p.apply(PwOp::kDiv, product, p.load_as(node.dtype(y_scale), type));
  store_quantized(node, p, p.apply(PwOp::kMul, total, factor), p.load(dtype), dtype);
  return node.pointwise(p, {sum, a_scale, b_scale, y_scale, y_zero}, dtype);
}

DynamicQuantized quantize_dynamically(NodeContext& node, ValueId x) {
  node.require(node.dtype(x) == DType::kF32, fmt::format("its input is {}, not float", name_of(node.dtype(x))));
  const uint32_t axes = (1u << node.rank(x)) - 1u;
  const ValueId most = node.reshape(node.reduce(ReduceKind::kMax, x, axes), {});
  const ValueId least = node.reshape(node.reduce(ReduceKind::kMin, x, axes), {});
  const ValueId scale = map(node, most, least, DType::kF32, [](ProgramBuilder& p, Reg high, Reg low) {
    const Reg zero = p.constant(high.type, 0);
    const Reg width = p.apply(PwOp::kSub, p.apply(PwOp::kMax, high, zero), p.apply(PwOp::kMin, low, zero));
    const Reg step = p.apply(PwOp::kDiv, width, p.constant(high.type, 255));
    return p.apply(PwOp::kSelect, p.apply(PwOp::kEqual, width, zero), p.constant(high.type, 1), step);
  });
  const ValueId zero = map(node, least, scale, DType::kU8, [](ProgramBuilder& p, Reg low, Reg step) {
    const Reg below = p.apply(PwOp::kNeg, p.apply(PwOp::kMin, low, p.constant(low.type, 0)));
    const Reg level = p.apply(PwOp::kRoundEven, p.apply(PwOp::kDiv, below, step));
    return p.apply(PwOp::kMin, level, p.constant(low.type, 255));
  });
  ProgramBuilder program;
  const Reg value = program.load(DType::kF32);
  const Reg level = program.apply(PwOp::kDiv, value, program.load(DType::kF32));
  store_quantized(node, program, level, program.load(DType::kU8), DType::kU8);
  return {node.pointwise(program, {x, scale, zero}, DType::kU8), scale, zero};
}

namespace {

void dynamic_quantize_linear(NodeContext& node) {
  const DynamicQuantized made = quantize_dynamically(node, node.in(0));
  const ValueId outputs[] = {made.x, made.scale, made.zero};
  for (int i = 0; i < node.output_count(); ++i) node.set(i, outputs[i]);
}

// a, scale, zero, b, scale, zero, scale and zero of y
void qlinear_matmul(NodeContext& node) {
  for (const int scale : {1, 4, 6}) check_scale(node, scale);
  node.require(is_float(node.in_type(0)) == is_float(node.in_type(3)), "it multiplies integers by floats");
  const ValueId sum =
      matmul_of(node, centred(node, node.in(0), by_row(node, 2)), centred(node, node.in(3), by_column(node, 5)));
  node.set(0, requantized(node, sum, *by_row(node, 1), *by_column(node, 4), *by_row(node, 6), *by_row(node, 7)));
}

// The same, then an int32 bias in units of scale_x * scale_w.
void qlinear_conv(NodeContext& node) {
  for (const int scale : {1, 4, 6}) check_scale(node, scale);
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
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
    {"QuantizeLinear", quantize_linear, kMicrosoft},
};

}  // namespace

ImporterTable quantization_importers() { return kRows; }

}  // namespace planwright::builder::importer
