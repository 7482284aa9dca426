#include "builder/onnx/shape_arithmetic.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "builder/onnx/runtime_operands.h"

namespace planwright::builder::importer {
namespace {

using Known = std::optional<KnownTensor>;
using Operands = std::vector<KnownTensor>;

// Of constant dims; one more than a known tensor has where there are more.
int64_t count_of(const Shape& dims) {
  int64_t count = 1;
  for (const Dim& dim : dims) {
    if (dim == Dim(0)) return 0;
    count = std::min(count * std::min(dim.constant(), kMaxElements + 1), kMaxElements + 1);
  }
  return count;
}

// ---- What a type holds

// Of the integers that int64 holds.
ir::Interval limits_of(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - 8 * size_of(dtype));  // with a sign
  if (!is_unsigned(dtype)) return {-most - 1, most};
  return {0, dtype == DType::kU64 ? most : 2 * most + 1};
}

bool fits(Dim element, DType dtype) {
  const ir::Interval range = ir::range_of(element), limits = limits_of(dtype);
  return limits.min <= range.min && range.max <= limits.max;
}

bool may_fit(Dim element, DType dtype) {
  const ir::Interval range = ir::range_of(element), limits = limits_of(dtype);
  return limits.min <= range.max && range.min <= limits.max;
}

// As at run time, for a type of at most 32 bits.
int64_t wrapped(int64_t element, DType dtype) {
  const size_t unused = 64 - 8 * size_of(dtype);
  const uint64_t high = static_cast<uint64_t>(element) << unused;
  return is_unsigned(dtype) ? static_cast<int64_t>(high >> unused) : static_cast<int64_t>(high) >> unused;
}

// Constants wrap as they do at run time. Whether the others are left as they are: int32 is what exporters compute sizes
// in, and a size that wraps is none.
bool keep_to_type(KnownTensor& tensor) {
  for (Dim& element : tensor.elements) {
    if (fits(element, tensor.dtype)) continue;
    if (element.is_constant() && tensor.dtype != DType::kU64) {
      element = wrapped(element.constant(), tensor.dtype);
    } else if (tensor.dtype != DType::kI32 || !may_fit(element, tensor.dtype)) {
      return false;
    }
  }
  return true;
}

// ---- Element by element, with broadcasting

Dim truncating_div(Dim a, Dim b) {
  if (ir::range_of(a).min >= 0) return ir::floor_div(a, b);
  // At most one of the two quotients is not 0.
  return ir::floor_div(ir::max(a, 0), b) - ir::floor_div(ir::max(Dim(0) - a, 0), b);
}

// Nothing where the result is no expression.
using ElementFunction = std::optional<Dim> (*)(const NodeContext& node, const std::vector<Dim>& args);

bool positive(Dim dim) { return ir::range_of(dim).min >= 1; }

std::optional<Dim> divide(const NodeContext&, const std::vector<Dim>& args) {
  if (!positive(args[1])) return std::nullopt;
  return truncating_div(args[0], args[1]);
}

std::optional<Dim> modulo(const NodeContext& node, const std::vector<Dim>& args) {
  if (!positive(args[1])) return std::nullopt;
  if (node.get_int("fmod") == 0) return ir::mod(args[0], args[1]);
  return args[0] - truncating_div(args[0], args[1]) * args[1];
}

template <Dim (*function)(Dim, Dim)>
std::optional<Dim> fold_left(const NodeContext&, const std::vector<Dim>& args) {
  Dim result = args[0];
  for (size_t i = 1; i < args.size(); ++i) result = function(result, args[i]);
  return result;
}

std::optional<Dim> where(const NodeContext&, const std::vector<Dim>& args) {
  if (args[0] == Dim(1)) return args[1];
  if (args[0] == Dim(0)) return args[2];
  return args[2] + args[0] * (args[1] - args[2]);
}

struct ElementRow {
  ElementFunction function;
  bool makes_bool = false;
  int type_of = 0;  // the operand whose type the result has
};

Dim sum(Dim a, Dim b) { return a + b; }
Dim difference(Dim a, Dim b) { return a - b; }
Dim times(Dim a, Dim b) { return a * b; }
Dim is_greater(Dim a, Dim b) { return is_less(b, a); }
Dim is_at_most(Dim a, Dim b) { return Dim(1) - is_less(b, a); }
Dim is_at_least(Dim a, Dim b) { return Dim(1) - is_less(a, b); }

std::optional<Dim> same(const NodeContext&, const std::vector<Dim>& args) { return args[0]; }
std::optional<Dim> negative(const NodeContext&, const std::vector<Dim>& args) { return Dim(0) - args[0]; }
std::optional<Dim> absolute(const NodeContext&, const std::vector<Dim>& args) {
  return ir::max(args[0], Dim(0) - args[0]);
}
std::optional<Dim> logical_not(const NodeContext&, const std::vector<Dim>& args) { return Dim(1) - args[0]; }

const std::unordered_map<std::string, ElementRow>& element_rows() {
  static const std::unordered_map<std::string, ElementRow> rows = {
      {"Add", {fold_left<sum>}},
      {"Sub", {fold_left<difference>}},
      {"Mul", {fold_left<times>}},
      {"Min", {fold_left<ir::min>}},
      {"Max", {fold_left<ir::max>}},
      {"Div", {divide}},
      {"Mod", {modulo}},
      {"Neg", {negative}},
      {"Abs", {absolute}},
      {"Identity", {same}},
      {"Equal", {fold_left<is_equal>, true}},
      {"Less", {fold_left<is_less>, true}},
      {"Greater", {fold_left<is_greater>, true}},
      {"LessOrEqual", {fold_left<is_at_most>, true}},
      {"GreaterOrEqual", {fold_left<is_at_least>, true}},
      {"Not", {logical_not, true}},
      {"And", {fold_left<times>, true}},
      {"Or", {fold_left<ir::max>, true}},
      {"Where", {where, false, 1}},
  };
  return rows;
}

// The element of a tensor that broadcasting puts at position `index` of `dims`.
Dim broadcast_element(const KnownTensor& tensor, const Shape& dims, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (size_t back = 1; back <= dims.size(); ++back) {
    const int64_t length = dims[dims.size() - back].constant();
    const int64_t at = index % length;
    index /= length;
    if (back > tensor.dims.size()) continue;
    const int64_t own = tensor.dims[tensor.dims.size() - back].constant();
    if (own != 1) offset += at * stride;
    stride *= own;
  }
  return tensor.elements[static_cast<size_t>(offset)];
}

Known element_wise(const NodeContext& node, const ElementRow& row, const Operands& operands) {
  // Before opset 7 the second operand could be put at any axis of the first.
  if (node.get_int("broadcast") != 0 && node.has_attribute("axis")) return std::nullopt;
  KnownTensor result;
  result.dtype = row.makes_bool ? DType::kBool : operands[static_cast<size_t>(row.type_of)].dtype;
  for (const KnownTensor& operand : operands) {
    while (result.dims.size() < operand.dims.size()) result.dims.insert(result.dims.begin(), Dim(1));
    for (size_t back = 1; back <= operand.dims.size(); ++back) {
      Dim& joined = result.dims[result.dims.size() - back];
      const Dim own = operand.dims[operand.dims.size() - back];
      if (joined == Dim(1)) joined = own;
      if (own != joined && own != Dim(1)) return std::nullopt;  // the importer says what is wrong
    }
  }
  const int64_t count = count_of(result.dims);
  if (count > kMaxElements) return std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Dim> args;
    for (const KnownTensor& operand : operands) args.push_back(broadcast_element(operand, result.dims, i));
    const std::optional<Dim> element = row.function(node, args);
    if (!element) return std::nullopt;
    result.elements.push_back(*element);
  }
  return result;
}

// ---- Selection and movement; all on tensors of rank 1 where they pick

bool all_constant(const KnownTensor& tensor) {
  return std::all_of(tensor.elements.begin(), tensor.elements.end(), [](const Dim& e) { return e.is_constant(); });
}

// Integers from an attribute of old opsets or an input of new ones.
std::optional<std::vector<int64_t>> ints_of(const NodeContext& node, const Operands& operands, size_t input,
                                            const char* attribute) {
  if (node.has_attribute(attribute)) return node.get_ints(attribute);
  if (input >= operands.size() || !all_constant(operands[input])) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& element : operands[input].elements) values.push_back(element.constant());
  return values;
}

// Of a tensor of rank 1. What names another is left to the importer, which says what is wrong.
bool is_only_axis(int64_t axis) { return axis == 0 || axis == -1; }

bool name_only_axis(const std::vector<int64_t>& axes) { return axes.size() == 1 && is_only_axis(axes[0]); }

Known gather(const NodeContext& node, const Operands& operands) {
  const KnownTensor &data = operands[0], &indices = operands[1];
  if (data.dims.size() != 1 || !all_constant(indices) || !is_only_axis(node.get_int("axis"))) return std::nullopt;
  KnownTensor result{data.dtype, indices.dims, {}};
  const auto length = static_cast<int64_t>(data.elements.size());
  for (const Dim& element : indices.elements) {
    const int64_t index = element.constant() < 0 ? element.constant() + length : element.constant();
    if (index < 0 || index >= length) {
      node.invalid("index " + std::to_string(element.constant()) + " is out of range for " + std::to_string(length) +
                   " elements");
    }
    result.elements.push_back(data.elements[static_cast<size_t>(index)]);
  }
  return result;
}

Known slice(const NodeContext& node, const Operands& operands) {
  const KnownTensor& data = operands[0];
  if (data.dims.size() != 1) return std::nullopt;
  const auto starts = ints_of(node, operands, 1, "starts"), ends = ints_of(node, operands, 2, "ends");
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1) return std::nullopt;
  if (operands.size() > 3 || node.has_attribute("axes")) {
    const auto axes = ints_of(node, operands, 3, "axes");
    if (!axes || !name_only_axis(*axes)) return std::nullopt;
  }
  int64_t step = 1;
  if (operands.size() > 4) {
    if (!all_constant(operands[4]) || operands[4].elements.size() != 1) return std::nullopt;
    step = operands[4].elements[0].constant();
  }
  if (step == 0) return std::nullopt;
  const auto length = static_cast<int64_t>(data.elements.size());
  // Backwards the last place is one earlier, for both; only the end may lie before the first element.
  const int64_t highest = step > 0 ? length : length - 1;
  const auto clamp = [&](int64_t at, int64_t lowest) {
    return std::clamp(at < 0 ? std::max(at, -length - 1) + length : at, lowest, highest);
  };
  KnownTensor result{data.dtype, {}, {}};
  const int64_t end = clamp((*ends)[0], step > 0 ? 0 : -1);
  for (int64_t at = clamp((*starts)[0], std::min<int64_t>(0, highest)); step > 0 ? at < end : at > end; at += step) {
    result.elements.push_back(data.elements[static_cast<size_t>(at)]);
    if (step > length || step < -length) break;
  }
  result.dims = {static_cast<int64_t>(result.elements.size())};
  return result;
}

Known concat(const NodeContext& node, const Operands& operands) {
  if (!is_only_axis(node.get_int("axis", 1))) return std::nullopt;
  KnownTensor result{operands[0].dtype, {}, {}};
  for (const KnownTensor& operand : operands) {
    if (operand.dims.size() != 1) return std::nullopt;
    result.elements.insert(result.elements.end(), operand.elements.begin(), operand.elements.end());
  }
  if (static_cast<int64_t>(result.elements.size()) > kMaxElements) return std::nullopt;
  result.dims = {static_cast<int64_t>(result.elements.size())};
  return result;
}

Known cast(const NodeContext& node, const Operands& operands) {
  const std::optional<DType> to = dtype_of_onnx(node.get_int32("to"));
  if (!to || is_float(*to) || is_sub_byte_int(*to)) return std::nullopt;
  KnownTensor result = operands[0];
  result.dtype = *to;
  if (*to == DType::kBool) {
    for (Dim& element : result.elements) element = Dim(1) - is_equal(element, 0);
  }
  return result;
}

Known squeeze(const NodeContext& node, const Operands& operands) {
  KnownTensor result = operands[0];
  const bool all = operands.size() < 2 && !node.has_attribute("axes");
  const auto axes = ints_of(node, operands, 1, "axes");
  if (!all && !axes) return std::nullopt;
  const auto rank = static_cast<int64_t>(result.dims.size());
  if (axes && std::any_of(axes->begin(), axes->end(), [&](int64_t a) { return a < -rank || a >= rank; })) {
    return std::nullopt;
  }
  Shape dims;
  for (int64_t i = 0; i < rank; ++i) {
    const Dim dim = result.dims[static_cast<size_t>(i)];
    const auto named =
        all ? 0 : std::count_if(axes->begin(), axes->end(), [&](int64_t a) { return a == i || a == i - rank; });
    if (named > 1 || (named == 1 && dim != Dim(1))) return std::nullopt;
    if (named == 0 && !(all && dim == Dim(1))) dims.push_back(dim);
  }
  result.dims = dims;
  return result;
}

Known unsqueeze(const NodeContext& node, const Operands& operands) {
  KnownTensor result = operands[0];
  auto axes = ints_of(node, operands, 1, "axes");
  if (!axes) return std::nullopt;
  const auto rank = static_cast<int64_t>(result.dims.size() + axes->size());
  for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end()) return std::nullopt;
  for (const int64_t axis : *axes) {
    if (axis < 0 || axis > static_cast<int64_t>(result.dims.size())) return std::nullopt;
    result.dims.insert(result.dims.begin() + axis, Dim(1));
  }
  return result;
}

Known reshape(const NodeContext& node, const Operands& operands) {
  KnownTensor result = operands[0];
  const auto shape = ints_of(node, operands, 1, "shape");
  if (!shape || (operands.size() > 1 && operands[1].dims.size() != 1)) return std::nullopt;
  const auto count = static_cast<int64_t>(result.elements.size());
  if (shape->empty() && count == 1) {
    result.dims = {};
  } else if (shape->size() == 1 && ((*shape)[0] == -1 || (*shape)[0] == count)) {
    result.dims = {count};
  } else {
    return std::nullopt;
  }
  return result;
}

// ---- Making

Known expand(const NodeContext&, const Operands& operands) {
  if (!all_constant(operands[1]) || operands[0].elements.size() != 1) return std::nullopt;
  KnownTensor result{operands[0].dtype, {}, {}};
  for (const Dim& dim : operands[1].elements) {
    if (dim.constant() < 0) return std::nullopt;
    result.dims.push_back(dim);
  }
  const int64_t count = count_of(result.dims);
  if (count > kMaxElements || result.dims.size() < operands[0].dims.size()) return std::nullopt;
  result.elements.assign(static_cast<size_t>(count), operands[0].elements[0]);
  return result;
}

Known range(const NodeContext&, const Operands& operands) {
  for (const KnownTensor& operand : operands) {
    if (operand.elements.size() != 1 || operand.dims.size() > 1)
      return std::nullopt;  // the importer says what is wrong
  }
  const Dim start = operands[0].elements[0], limit = operands[1].elements[0], delta = operands[2].elements[0];
  if (!delta.is_constant() || delta.constant() <= 0) return std::nullopt;
  const Dim count = ir::max(ir::ceil_div(limit - start, delta), 0);
  if (!count.is_constant() || count.constant() > kMaxElements) return std::nullopt;
  KnownTensor result{operands[0].dtype, {count}, {}};
  for (int64_t i = 0; i < count.constant(); ++i) result.elements.push_back(start + Dim(i) * delta);
  return result;
}

template <Dim (*function)(Dim, Dim)>
Known reduce(const NodeContext& node, const Operands& operands) {
  const KnownTensor& data = operands[0];
  const auto axes = ints_of(node, operands, 1, "axes");
  if (data.dims.size() != 1 || data.elements.empty() || (operands.size() > 1 && !axes)) return std::nullopt;
  // Axes that are not given are empty, too.
  if ((!axes || axes->empty()) && node.get_int("noop_with_empty_axes") != 0) return data;
  if (axes && !axes->empty() && !name_only_axis(*axes)) return std::nullopt;
  KnownTensor result{data.dtype, {}, {}};
  Dim total = data.elements[0];
  for (size_t i = 1; i < data.elements.size(); ++i) total = function(total, data.elements[i]);
  result.elements = {total};
  if (node.get_int("keepdims", 1) != 0) result.dims = {1};
  return result;
}

using TensorFunction = Known (*)(const NodeContext& node, const Operands& operands);

const std::unordered_map<std::string, TensorFunction>& tensor_functions() {
  static const std::unordered_map<std::string, TensorFunction> functions = {
      {"Gather", gather},
      {"Slice", slice},
      {"Concat", concat},
      {"Cast", cast},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Reshape", reshape},
      {"Expand", expand},
      {"Range", range},
      {"ReduceProd", reduce<times>},
      {"ReduceSum", reduce<sum>},
      {"ReduceMax", reduce<ir::max>},
      {"ReduceMin", reduce<ir::min>},
  };
  return functions;
}

// One piece an output, in order, of a tensor of rank 1.
std::optional<std::vector<KnownTensor>> split(const NodeContext& node, const Operands& operands) {
  const KnownTensor& data = operands[0];
  if (data.dims.size() != 1 || !is_only_axis(node.get_int("axis"))) return std::nullopt;
  const auto outputs = static_cast<int64_t>(node.output_count()), length = static_cast<int64_t>(data.elements.size());
  std::vector<int64_t> sizes;
  if (operands.size() > 1 || node.has_attribute("split")) {
    const auto given = ints_of(node, operands, 1, "split");
    if (!given) return std::nullopt;
    sizes = *given;
  } else {
    // Only opset 18 allows a last piece that is smaller.
    if (node.since() < 18 ? length % outputs != 0 : node.get_int("num_outputs", outputs) != outputs) {
      return std::nullopt;
    }
    const int64_t piece = (length + outputs - 1) / outputs;
    sizes.assign(static_cast<size_t>(outputs), piece);
    sizes.back() = length - piece * (outputs - 1);
  }
  std::vector<KnownTensor> results;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > length - begin) return std::nullopt;
    results.push_back({data.dtype, {size}, Shape(data.elements.begin() + begin, data.elements.begin() + begin + size)});
    begin += size;
  }
  if (begin != length || static_cast<int64_t>(sizes.size()) != outputs) return std::nullopt;
  return results;
}

std::optional<Operands> known_operands(const NodeContext& node) {
  Operands operands;
  for (const ValueId id : node.ins()) {
    if (id == ir::kNone) return std::nullopt;
    const ir::Value& value = node.value(id);
    if (!value.elements) return std::nullopt;
    operands.push_back({value.dtype, value.dims, *value.elements});
  }
  return operands;
}

}  // namespace

std::optional<std::vector<KnownTensor>> shape_arithmetic(const NodeContext& node) {
  const std::string& op = node.node().op_type();
  const auto row = element_rows().find(op);
  const auto function = tensor_functions().find(op);
  if (row == element_rows().end() && function == tensor_functions().end() && op != "Split") return std::nullopt;
  const std::optional<Operands> operands = known_operands(node);
  if (!operands || operands->empty()) return std::nullopt;
  if (op == "Split") return split(node, *operands);
  Known result;
  try {
    result =
        row != element_rows().end() ? element_wise(node, row->second, *operands) : function->second(node, *operands);
  } catch (const ir::Overflow&) {
    return std::nullopt;  // integers that are no sizes; at run time they wrap
  }
  if (!result || !keep_to_type(*result)) return std::nullopt;
  return std::vector<KnownTensor>{std::move(*result)};
}

bool may_wrap(const KnownTensor& tensor) {
  return std::any_of(tensor.elements.begin(), tensor.elements.end(),
                     [&](const Dim& element) { return !fits(element, tensor.dtype); });
}

void guard_against_wrapping(NodeContext& node, const KnownTensor& tensor) {
  const ir::Interval limits = limits_of(tensor.dtype);
  const auto is_guarded = [&](Dim element) {  // where an operand has it, too
    return std::any_of(node.ins().begin(), node.ins().end(), [&](ValueId id) {
      if (id == ir::kNone || node.dtype(id) != tensor.dtype) return false;
      const Shape& known = *node.value(id).elements;
      return std::find(known.begin(), known.end(), element) != known.end();
    });
  };
  for (const Dim& element : tensor.elements) {
    if (fits(element, tensor.dtype) || is_guarded(element)) continue;
    const std::string reason = std::string("a size computed in ") + name_of(tensor.dtype) + " must fit it";
    node.guard_at_most(limits.min, element, reason);
    node.guard_at_most(element, limits.max, reason);
  }
}

std::vector<int> shape_operands(const std::string& op) {
  static const std::unordered_map<std::string, std::vector<int>> operands = {
      {"Reshape", {1}},
      {"Expand", {1}},
      {"Slice", {1, 2, 3, 4}},
      {"Pad", {1, 3}},
      {"Tile", {1}},
      {"Range", {0, 1, 2}},
      {"TopK", {1}},
      {"ConstantOfShape", {0}},
      {"Squeeze", {1}},
      {"Unsqueeze", {1}},
      {"Split", {1}},
      {"Resize", {1, 2, 3}},
      {"Upsample", {1}},
      {"Dropout", {1, 2}},
      {"OneHot", {1}},
      {"Trilu", {1}},
      {"CumSum", {1}},
      {"CumProd", {1}},
      {"CenterCropPad", {1}},
      {"DFT", {1, 2}},
      {"STFT", {1, 3}},
      {"MelWeightMatrix", {0, 1, 2, 3, 4}},
      {"MaxUnpool", {2}},
      {"Col2Im", {1, 2}},
      {"NonMaxSuppression", {2}},
      {"ReduceSum", {1}},
      {"ReduceMax", {1}},
      {"ReduceMin", {1}},
      {"ReduceMean", {1}},
      {"ReduceProd", {1}},
      {"ReduceL1", {1}},
      {"ReduceL2", {1}},
      {"ReduceLogSum", {1}},
      {"ReduceLogSumExp", {1}},
      {"ReduceSumSquare", {1}},
      {"GroupQueryAttention", {6}},
  };
  const auto found = operands.find(op);
  return found == operands.end() ? std::vector<int>{} : found->second;
}

}  // namespace planwright::builder::importer
