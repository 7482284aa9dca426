#include "builder/onnx/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "builder/ir/infer.h"
#include "builder/ir/interpret.h"
#include "builder/onnx/elements.h"
#include "builder/onnx/shape_check.h"
#include "schemas/types/error.h"

namespace planwright::builder::importer {
namespace {

std::optional<std::vector<int64_t>> constant_dims(const Shape& dims) {
  std::vector<int64_t> result;
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return std::nullopt;
    result.push_back(dim.constant());
  }
  return result;
}

ir::Tensor tensor_of(const ir::Value& value) { return {value.dtype, *constant_dims(value.dims), *value.constant}; }

}  // namespace

const ir::Value& Emitter::value(ValueId id) const {
  if (id < 0) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: an input that it needs is not given, or is no tensor; give it one", layer_));
  }
  return graph_.value(id);
}

std::vector<ValueId> Emitter::emit(Operation operation) {
  for (const ValueId input : operation.inputs) {
    if (input != ir::kNone) materialize(input);
  }
  return add(operation);
}

std::vector<ValueId> Emitter::add(Operation& operation) {
  std::vector<ValueId> outputs;
  for (const Result& result : operation.results) {
    outputs.push_back(result.wanted ? graph_.add_value(prefix_, DType::kF32, {}).id : ir::kNone);
  }
  ir::Node& node = graph_.add_node(operation.kind, operation.params, operation.inputs, outputs);
  node.core_inputs = operation.kind == OpKind::kPointwise ? 0 : static_cast<int32_t>(node.inputs.size());
  node.scalars = std::move(operation.scalars);
  node.program = std::move(operation.program);
  node.name = layer_;
  if (!onnx_.empty()) node.onnx = {onnx_};

  const std::vector<std::optional<DType>> types = ir::infer_types(graph_, node);
  const std::vector<std::optional<Shape>> dims = ir::infer_dims(graph_, node, &graph_.guards);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == ir::kNone) continue;
    ir::Value& output = graph_.value(outputs[i]);
    const Result& result = operation.results[i];
    output.dtype = result.dtype ? *result.dtype : types[i].value();
    output.dims = result.dims ? *result.dims : dims[i].value();
    check_shape(output.dims, layer_);
  }
  fold(node.id);
  return outputs;
}

bool Emitter::fold(ir::NodeId id) {
  const ir::Node node = graph_.node(id);
  if (node.kind == OpKind::kCustom) return false;  // code of a user's runs in the fence of a trial, or in an engine
  size_t bytes = 0;
  std::vector<std::vector<int64_t>> output_dims;
  std::vector<DType> output_types;
  for (const ValueId output : node.outputs) {
    if (output == ir::kNone) return false;
    const std::optional<std::vector<int64_t>> dims = constant_dims(graph_.value(output).dims);
    if (!dims) return false;
    size_t size = size_of(graph_.value(output).dtype);
    for (const int64_t dim : *dims) {
      if (dim < 0 || dim > static_cast<int64_t>(kFoldBytes)) return false;
      size *= static_cast<size_t>(dim);
      if (size > kFoldBytes) return false;
    }
    bytes += size;
    output_dims.push_back(*dims);
    output_types.push_back(graph_.value(output).dtype);
  }
  for (const ValueId input : node.inputs) {
    if (input == ir::kNone) continue;
    if (!graph_.value(input).is_constant()) return false;
    bytes += graph_.value(input).constant->size();
  }
  // A large input costs time here even where the result is small (a folded MatMul of weights).
  if (bytes > 16 * kFoldBytes) return false;
  std::vector<int64_t> scalars;
  for (const Dim& scalar : node.scalars) {
    if (!scalar.is_constant()) return false;
    scalars.push_back(scalar.constant());
  }
  std::vector<ir::Tensor> inputs;
  std::vector<const ir::Tensor*> pointers;
  inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) {
    if (input != ir::kNone) inputs.push_back(tensor_of(graph_.value(input)));
    pointers.push_back(input == ir::kNone ? nullptr : &inputs.back());
  }
  std::vector<ir::Tensor> results = ir::run_reference(node, pointers, scalars, output_types, output_dims);
  graph_.erase_node(id);
  for (size_t i = 0; i < results.size(); ++i) {
    ir::Value& output = graph_.value(node.outputs[i]);
    output.producer = ir::kNone;
    output.constant = std::make_shared<const ir::Bytes>(std::move(results[i].data));
    attach_elements(output);
  }
  return true;
}

// ---- Constants

ValueId Emitter::constant(DType dtype, const std::vector<int64_t>& dims, ir::Bytes data) {
  check_shape(Shape(dims.begin(), dims.end()), layer_);
  ir::Value& value = graph_.add_constant(prefix_, dtype, dims, std::move(data));
  attach_elements(value);
  return value.id;
}

ValueId Emitter::scalar(DType dtype, double value) { return constant(dtype, {}, element_bytes(dtype, value)); }

ValueId Emitter::ints(const std::vector<int64_t>& values) {
  ir::Bytes data(values.size() * sizeof(int64_t));
  if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
  return constant(DType::kI64, {static_cast<int64_t>(values.size())}, std::move(data));
}

ValueId Emitter::shape_values(DType dtype, Shape dims, Shape elements) {
  check_shape(dims, layer_);
  if (const auto values = constant_dims(elements)) {
    ir::Bytes data;
    for (const int64_t element : *values) {
      const ir::Bytes bytes = element_bytes_int(dtype, element);
      data.insert(data.end(), bytes.begin(), bytes.end());
    }
    return constant(dtype, *constant_dims(dims), std::move(data));
  }
  ir::Value& value = graph_.add_value(prefix_, dtype, std::move(dims));
  value.elements = std::move(elements);
  return value.id;
}

bool Emitter::is_virtual(ValueId id) const {
  const ir::Value& candidate = value(id);
  return candidate.elements && !candidate.is_constant() && candidate.producer == ir::kNone &&
         std::find(graph_.inputs.begin(), graph_.inputs.end(), id) == graph_.inputs.end();
}

void Emitter::materialize(ValueId id) {
  if (!is_virtual(id)) return;
  const ir::Value& wanted = value(id);
  const auto count = static_cast<int32_t>(wanted.elements->size());
  if (wanted.dtype == DType::kI64 && wanted.rank() <= 1) {
    add_producer(OpKind::kShapeValues, ShapeValuesParams{count}, {}, id).scalars = *wanted.elements;
    return;
  }
  Operation source{OpKind::kShapeValues, ShapeValuesParams{count}};
  source.scalars = *wanted.elements;
  source.results[0] = {DType::kI64, Shape{count}};
  const ValueId shaped = reshape(add(source)[0], wanted.dims);
  ProgramBuilder program;
  program.store(program.load(DType::kI64), wanted.dtype);
  add_producer(OpKind::kPointwise, NoParams{}, {shaped}, id).program = program.instructions();
}

// Importers already know a virtual value by its number, so its producer is one that writes just that value.
ir::Node& Emitter::add_producer(OpKind kind, ir::Params params, std::vector<ValueId> inputs, ValueId output) {
  ir::Node& node = graph_.add_node(kind, params, std::move(inputs), {output});
  node.name = layer_;
  if (!onnx_.empty()) node.onnx = {onnx_};
  return node;
}

// ---- Operators

ValueId Emitter::pointwise(const ProgramBuilder& program, std::vector<ValueId> operands, DType dtype) {
  Operation operation{OpKind::kPointwise, NoParams{}, std::move(operands)};
  operation.program = program.instructions();
  operation.results[0].dtype = dtype;
  return emit_one(std::move(operation));
}

ValueId Emitter::unary(PwOp op, ValueId x) {
  ProgramBuilder program;
  program.store(program.apply(op, program.load(dtype(x))), dtype(x));
  return pointwise(program, {x}, dtype(x));
}

ValueId Emitter::binary(PwOp op, ValueId a, ValueId b) {
  ProgramBuilder program;
  const Reg left = program.load(dtype(a));
  const Reg right = program.load(dtype(b));
  program.store(program.apply(op, left, right), dtype(a));
  return pointwise(program, {a, b}, dtype(a));
}

ValueId Emitter::cast(ValueId x, DType to) {
  if (dtype(x) == to) return x;
  ProgramBuilder program;
  program.store(program.load(dtype(x)), to);
  return pointwise(program, {x}, to);
}

ValueId Emitter::widened(ValueId x) {
  return is_float(dtype(x)) && size_of(dtype(x)) < sizeof(float) ? cast(x, DType::kF32) : x;
}

ValueId Emitter::reshape(ValueId x, Shape to) {
  if (dims(x) == to) return x;
  check_shape(to, layer_);
  guard_equal(ir::product(dims(x)), ir::product(to), "a reshape keeps the number of elements");
  if (value(x).is_constant() && constant_dims(to)) {  // the same bytes, however large
    ir::Value& result = graph_.add_value(prefix_, dtype(x), std::move(to));
    result.constant = value(x).constant;
    result.elements = value(x).elements;
    return result.id;
  }
  Operation operation{OpKind::kReshape, NoParams{}, {x}};
  operation.results[0].dims = std::move(to);
  return emit_one(std::move(operation));
}

void Emitter::require_axis(int axis, size_t count, const Shape& of) const {
  if (axis >= 0 && static_cast<size_t>(axis) < count) return;
  throw Error(StatusCode::kInvalid, fmt::format("{}: axis {} of a tensor {}", layer_, axis, ir::to_string(of)));
}

ValueId Emitter::squeeze(ValueId x, uint32_t axes) {
  Shape to;
  for (int i = 0; i < rank(x); ++i) {
    if ((axes >> i & 1) == 0) to.push_back(dims(x)[static_cast<size_t>(i)]);
  }
  return reshape(x, std::move(to));
}

ValueId Emitter::unsqueeze(ValueId x, int axis) {
  Shape to = dims(x);
  require_axis(axis, to.size() + 1, to);
  to.insert(to.begin() + axis, Dim(1));
  return reshape(x, std::move(to));
}

ValueId Emitter::transpose(ValueId x, const std::vector<int>& perm) {
  if (perm.size() != dims(x).size()) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: an order of {} axes for a tensor {}", layer_, perm.size(), ir::to_string(dims(x))));
  }
  TransposeParams params;
  bool moves = false;
  for (size_t i = 0; i < perm.size(); ++i) {
    params.perm[i] = perm[i];
    moves = moves || perm[i] != static_cast<int>(i);
  }
  return moves ? emit_one({OpKind::kTranspose, params, {x}}) : x;
}

ValueId Emitter::swap_last_axes(ValueId x) {
  if (rank(x) < 2) throw Error(StatusCode::kInvalid, fmt::format("{}: an operand is no matrix", layer_));
  std::vector<int> perm(static_cast<size_t>(rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}

ValueId Emitter::expand(ValueId x, Shape to) {
  const Shape& from = dims(x);
  if (from == to) return x;
  if (!ir::may_broadcast(from, to)) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: {} does not broadcast to {}", layer_, ir::to_string(from), ir::to_string(to)));
  }
  Operation operation{OpKind::kExpand, NoParams{}, {x}};
  operation.results[0].dims = std::move(to);
  return emit_one(std::move(operation));
}

ValueId Emitter::slice(ValueId x, int axis, Dim start, Dim length) {
  Shape to = dims(x);
  require_axis(axis, to.size(), to);
  if (start == Dim(0) && to[static_cast<size_t>(axis)] == length) return x;
  to[static_cast<size_t>(axis)] = length;
  Operation operation{OpKind::kSlice, SliceParams{}, {x}};
  operation.scalars.assign(to.size(), Dim(0));
  operation.scalars[static_cast<size_t>(axis)] = start;
  operation.scalars.insert(operation.scalars.end(), to.size(), Dim(1));
  operation.results[0].dims = std::move(to);
  return emit_one(std::move(operation));
}

ValueId Emitter::concat(std::vector<ValueId> xs, int axis) {
  if (xs.size() == 1) return xs[0];
  return emit_one({OpKind::kConcat, ConcatParams{axis}, std::move(xs)});
}

ValueId Emitter::matmul(ValueId a, ValueId b) {
  const DType type = dtype(a);
  Operation operation{OpKind::kMatMul, NoParams{}, {widened(a), widened(b)}};
  operation.results[0].dtype = dtype(operation.inputs[0]);
  return cast(emit_one(std::move(operation)), type);
}

ValueId Emitter::reduce(ReduceKind kind, ValueId x, uint32_t axes) {
  ReduceParams params;
  params.kind = kind;
  params.axes = axes;
  return emit_one({OpKind::kReduce, params, {x}});
}

ValueId Emitter::fill(DType dtype, Shape dims, double value) {
  const ir::Bytes bytes = element_bytes(dtype, value);
  FillParams params;
  std::memcpy(&params.value_bits, bytes.data(), bytes.size());
  Operation operation{OpKind::kFill, params};
  operation.results[0] = {dtype, std::move(dims)};
  return emit_one(std::move(operation));
}

ValueId Emitter::gather(ValueId data, ValueId indices, int axis) {
  return emit_one({OpKind::kGather, GatherParams{axis}, {data, indices}});
}

// ---- Guards

// ---- Values that become shapes

Shape Emitter::add_result_symbols(ValueId x, int64_t min, int64_t max, std::optional<Dim> bound) {
  const ValueId read = emit_one({OpKind::kReadValues, NoParams{}, {x}});
  const Dim count = ir::product(dims(read));
  Shape elements;
  for (int32_t element = 0; element < count.constant(); ++element) {
    ir::Symbol symbol;
    symbol.origin = ir::SymbolOrigin::kStepResult;
    symbol.source = read;
    symbol.element = element;
    symbol.min = min;
    symbol.max = max;
    symbol.bound = bound;
    symbol.graph = graph_.number();
    symbol.name = fmt::format("{}[{}]", value(x).name, element);
    elements.push_back(graph_.exprs().add_symbol(symbol));
  }
  return elements;
}

Shape Emitter::read_elements(ValueId x) {
  if (value(x).elements) return *value(x).elements;
  const Dim count = ir::product(dims(x));
  if ((dtype(x) != DType::kI64 && dtype(x) != DType::kI32) || !count.is_constant() || count.constant() > kMaxElements) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("{}: shapes depend on %{}, which is no int32 or int64 tensor of at most {} elements",
                            layer_, value(x).name, kMaxElements));
  }
  return add_result_symbols(x, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), std::nullopt);
}

Dim Emitter::read_dim(Dim computed, Dim bound) {
  const std::vector<ir::Symbol>& symbols = graph_.exprs().symbols();
  const std::vector<int> used = ir::symbols_of({computed});
  const bool is_open = std::any_of(used.begin(), used.end(), [&](int index) {
    const ir::Symbol& symbol = symbols[static_cast<size_t>(index)];
    return symbol.origin == ir::SymbolOrigin::kStepResult && !symbol.bound;
  });
  return is_open ? read_count(shape_values(DType::kI64, {Dim(1)}, {computed}), bound) : computed;
}

Dim Emitter::read_count(ValueId x, Dim bound) {
  if (value(x).is_constant()) return read_ints(value(x)).at(0);
  return add_result_symbols(x, 0, ir::range_of(bound).max, bound).at(0);
}

void Emitter::guard_equal(Dim left, Dim right, const std::string& reason) {
  if (ir::proven_equal(left, right)) return;
  if (ir::proven_different(left, right)) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: {}: {} is not {}", layer_, reason, to_string(left), to_string(right)));
  }
  graph_.guards.push_back({true, left, right, layer_, reason});
}

void Emitter::guard_at_most(Dim left, Dim right, const std::string& reason) {
  if (ir::proven_at_most(left, right)) return;
  if (ir::proven_at_most(right + 1, left)) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: {}: {} is more than {}", layer_, reason, to_string(left), to_string(right)));
  }
  graph_.guards.push_back({false, left, right, layer_, reason});
}

}  // namespace planwright::builder::importer
