// Operators that make tensors from nothing or from shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"
#include "builder/onnx/sparse_tensor.h"

namespace planwright::builder::importer {
namespace {

template <typename T>
ir::Bytes bytes_of(const std::vector<T>& values) {
  ir::Bytes data(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
  return data;
}

// One of its attributes holds the value.
void constant(NodeContext& node) {
  const auto set = [&](ir::Tensor tensor) {
    node.set(0, node.constant(tensor.dtype, tensor.dims, std::move(tensor.data)));
  };
  if (const auto* value = node.attribute("value")) {
    set(read_tensor(value->t(), node.title()));
  } else if (const auto* sparse = node.attribute("sparse_value")) {
    set(read_tensor(dense_of(sparse->sparse_tensor(), node.title()), node.title()));
  } else if (const auto* number = node.attribute("value_float")) {
    set({DType::kF32, {}, bytes_of(std::vector<float>{number->f()})});
  } else if (const auto* integer = node.attribute("value_int")) {
    set({DType::kI64, {}, bytes_of(std::vector<int64_t>{integer->i()})});
  } else if (node.has_attribute("value_floats")) {
    const std::vector<float> values = node.get_floats("value_floats");
    set({DType::kF32, {static_cast<int64_t>(values.size())}, bytes_of(values)});
  } else if (node.has_attribute("value_ints")) {
    const std::vector<int64_t> values = node.get_ints("value_ints");
    set({DType::kI64, {static_cast<int64_t>(values.size())}, bytes_of(values)});
  } else if (node.has_attribute("value_string") || node.has_attribute("value_strings")) {
    node.set(0, kText);
  } else {
    node.invalid("it has no value");
  }
}

// The dims that an input of integers gives: as expressions, checked for their sign.
Shape dims_from(NodeContext& node, int input, const char* what) {
  node.require(node.in_rank(input) == 1, fmt::format("'{}' must have one axis", what));
  const std::optional<Shape>& elements = node.elements(input);
  if (!elements) node.unsupported(fmt::format("'{}' is computed from data; make it a constant", what));
  for (const Dim& dim : *elements)
    node.require(ir::range_of(dim).max >= 0, fmt::format("'{}' has a negative entry", what));
  require_bounded(node, *elements);
  return *elements;
}

void constant_of_shape(NodeContext& node) {
  Shape dims = dims_from(node, 0, "input");
  FillParams params;
  DType dtype = DType::kF32;
  if (const auto* value = node.attribute("value")) {
    const ir::Tensor tensor = read_tensor(value->t(), node.title());
    dtype = tensor.dtype;
    node.require(tensor.data.size() == size_of(dtype), "'value' must have one element");
    std::memcpy(&params.value_bits, tensor.data.data(), tensor.data.size());
  }
  Operation operation{OpKind::kFill, params};
  operation.results[0] = {dtype, std::move(dims)};
  node.set(0, node.emit_one(std::move(operation)));
}

// How many numbers a range has: floating ones must be constants, integers may be expressions.
Dim range_length(NodeContext& node) {
  if (is_float(node.in_type(0))) {
    const double start = node.constant_double(0, "start"), limit = node.constant_double(1, "limit");
    const double delta = node.constant_double(2, "delta");
    node.require(delta != 0, "delta is 0");
    const double count = std::ceil((limit - start) / delta);
    node.require(count < 0x1p31, "the range is too long");
    return count > 0 ? static_cast<int64_t>(count) : 0;
  }
  for (const int i : {0, 1, 2}) {
    node.require(node.in_rank(i) <= 1, "its inputs must be scalars");
    if (!node.elements(i)) node.unsupported("its limits are computed from data");
    node.require(node.elements(i)->size() == 1, "its inputs must be scalars");
  }
  const Dim start = (*node.elements(0))[0], limit = (*node.elements(1))[0], delta = (*node.elements(2))[0];
  guard_not_zero(node, delta, "the step of a Range must not be 0");
  if (ir::range_of(delta).min >= 1) return ir::max(ir::ceil_div(limit - start, delta), 0);
  if (ir::range_of(delta).max <= -1) return ir::max(ir::ceil_div(start - limit, Dim(0) - delta), 0);
  // A step that an input gives: both directions, one of which counts nothing.
  const Dim forward = ir::ceil_div(limit - start, ir::max(delta, 1)) * is_less(0, delta);
  const Dim backward = ir::ceil_div(start - limit, ir::max(Dim(0) - delta, 1)) * is_less(delta, 0);
  return ir::max(forward + backward, 0);
}

void range(NodeContext& node) {
  const DType dtype = node.in_type(0);
  node.require(node.in_type(1) == dtype && node.in_type(2) == dtype, "its inputs have different types");
  Shape dims = {range_length(node)};
  require_bounded(node, dims);
  Operation operation{OpKind::kRange, NoParams{}, {node.reshape(node.in(0), {}), node.reshape(node.in(2), {})}};
  operation.results[0] = {dtype, std::move(dims)};
  node.set(0, node.emit_one(std::move(operation)));
}

void eye_like(NodeContext& node) {
  node.require(node.in_rank(0) == 2, "its input must be a matrix");
  DType dtype = node.in_type(0);
  if (node.has_attribute("dtype")) {
    const auto wanted = dtype_of_onnx(node.get_int32("dtype"));
    if (!wanted) node.unsupported("its type is not supported");
    dtype = *wanted;
  }
  const auto counter = [&](Dim length, int64_t start) {
    Operation operation{OpKind::kRange,
                        NoParams{},
                        {node.scalar(DType::kI64, static_cast<double>(start)), node.scalar(DType::kI64, 1)}};
    operation.results[0] = {DType::kI64, Shape{length}};
    return node.emit_one(std::move(operation));
  };
  const ValueId rows = node.unsqueeze(counter(node.in_dims(0)[0], node.get_int("k")), 1);
  const ValueId columns = counter(node.in_dims(0)[1], 0);
  node.set(
      0, map(node, rows, columns, dtype, [](ProgramBuilder& p, Reg a, Reg b) { return p.apply(PwOp::kEqual, a, b); }));
}

// The dims of a tensor from `start` to `end`, which opset 15 added.
void shape(NodeContext& node) {
  const auto rank = static_cast<int64_t>(node.in_rank(0));
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(node.get_int("start", 0)), end = clamp(node.get_int("end", rank));
  const Shape& dims = node.in_dims(0);
  Shape part;
  for (int64_t i = start; i < end; ++i) part.push_back(dims[static_cast<size_t>(i)]);
  const auto count = static_cast<int64_t>(part.size());
  node.set(0, node.shape_values(DType::kI64, {count}, std::move(part)));
}

void size(NodeContext& node) { node.set(0, node.shape_values(DType::kI64, {}, {ir::product(node.in_dims(0))})); }

void identity(NodeContext& node) { node.set(0, node.in(0)); }

// At inference a dropout passes its input on, and its mask keeps everything.
void dropout(NodeContext& node) {
  if (node.since() >= 12 && node.has(2) && node.constant_int(2, "training_mode") != 0) {
    if (!node.has(1) || node.constant_double(1, "ratio") != 0) {
      node.unsupported("training_mode is true; export the model for inference");
    }
  }
  node.set(0, node.in(0));
  if (node.wants(1)) {
    node.set(1, node.fill(node.since() < 10 ? node.in_type(0) : DType::kBool, node.in_dims(0), 1));
  }
}

constexpr ImporterRow kRows[] = {
    {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"Dropout", dropout},   {"EyeLike", eye_like},
    {"Identity", identity}, {"Range", range},
    {"Shape", shape},       {"Size", size},
};

}  // namespace

ImporterTable generator_importers() { return kRows; }

}  // namespace planwright::builder::importer
