// Appends core operators to a graph: what importers say once their ONNX node is understood.
#ifndef PLANWRIGHT_BUILDER_ONNX_EMITTER_H_
#define PLANWRIGHT_BUILDER_ONNX_EMITTER_H_

#include <optional>
#include <string>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/onnx/program_builder.h"

namespace planwright::builder::importer {

using ir::Dim;
using ir::Shape;
using ir::ValueId;

// Type and dims of an output; what is not given is inferred. One that is not wanted becomes ir::kNone.
struct Result {
  std::optional<DType> dtype = std::nullopt;
  std::optional<Shape> dims = std::nullopt;
  bool wanted = true;
};

// A core operator about to be appended.
struct Operation {
  OpKind kind = OpKind::kPointwise;
  ir::Params params = NoParams{};
  std::vector<ValueId> inputs = {};  // all the operator's own; for Pointwise, the program's operands
  Shape scalars = {};
  std::vector<PwInstr> program = {};
  std::vector<Result> results = {Result{}};
};

// An operator whose inputs are all constants is computed on the spot when its result has at most this many bytes, so
// that shapes and scales that a model computes are there when an importer asks. Larger ones wait for the folding pass.
inline constexpr size_t kFoldBytes = 64 << 10;

class Emitter {
 public:
  // What is emitted belongs to `layer`, does the work of the user's node `onnx` (may be empty) and gets value names
  // that begin with `prefix`.
  Emitter(ir::Graph& graph, std::string layer, std::string onnx, std::string prefix)
      : graph_(graph), layer_(std::move(layer)), onnx_(std::move(onnx)), prefix_(std::move(prefix)) {}

  ir::Graph& graph() { return graph_; }
  // Throws Error(kInvalid) naming the layer where it is no tensor: an input that is not given, a sequence.
  const ir::Value& value(ValueId id) const;
  DType dtype(ValueId id) const { return value(id).dtype; }
  const Shape& dims(ValueId id) const { return value(id).dims; }
  int rank(ValueId id) const { return value(id).rank(); }

  const std::string& layer() const { return layer_; }

  // Appends an operator. Inputs that exist only as shape arithmetic become ShapeValues first. Throws Error(kInvalid)
  // naming the layer where the inputs cannot be right.
  std::vector<ValueId> emit(Operation operation);
  ValueId emit_one(Operation operation) { return emit(std::move(operation)).front(); }

  // ---- Constants
  ValueId constant(DType dtype, const std::vector<int64_t>& dims, ir::Bytes data);
  ValueId scalar(DType dtype, double value);         // rank 0; `value` is converted
  ValueId ints(const std::vector<int64_t>& values);  // int64[n]
  // A small integer tensor whose elements are these expressions: a constant where all of them are.
  ValueId shape_values(DType dtype, Shape dims, Shape elements);
  // The producer of a value that so far is shape arithmetic only is appended; others are left alone.
  void materialize(ValueId id);
  // Whether the value exists as shape arithmetic only.
  bool is_virtual(ValueId id) const;

  // ---- Operators with one output
  ValueId pointwise(const ProgramBuilder& program, std::vector<ValueId> operands, DType dtype);
  ValueId unary(PwOp op, ValueId x);
  ValueId binary(PwOp op, ValueId a, ValueId b);  // a and b of one type, which the result has too
  ValueId cast(ValueId x, DType dtype);
  // A float shorter than fp32 as fp32, others as they are: what takes an operator several steps to compute is rounded
  // to its type at the end, once.
  ValueId widened(ValueId x);
  ValueId reshape(ValueId x, Shape dims);  // a guard where the element counts are not proven equal
  ValueId squeeze(ValueId x, uint32_t axes);
  ValueId unsqueeze(ValueId x, int axis);
  ValueId transpose(ValueId x, const std::vector<int>& perm);
  ValueId swap_last_axes(ValueId x);
  ValueId expand(ValueId x, Shape dims);
  ValueId slice(ValueId x, int axis, Dim start, Dim length);
  ValueId concat(std::vector<ValueId> xs, int axis);
  ValueId matmul(ValueId a, ValueId b);                       // ranks >= 2; short floats are widened for it
  ValueId reduce(ReduceKind kind, ValueId x, uint32_t axes);  // the axes stay with length 1
  ValueId fill(DType dtype, Shape dims, double value);
  ValueId gather(ValueId data, ValueId indices, int axis);

  // ---- Values that become shapes when they have been computed
  // Each element of a small integer tensor: its expression where that is known, else a symbol that may be anything.
  // Shapes must not depend on such a symbol but through read_dim().
  Shape read_elements(ValueId x);
  // `computed`, which may depend on such symbols, as a dim: a symbol from 0 to `bound`, else `computed` itself.
  Dim read_dim(Dim computed, Dim bound);
  // The one element of an integer tensor, which is from 0 to `bound`.
  Dim read_count(ValueId x, Dim bound);

  // ---- What must hold for the shapes that are set
  void guard_equal(Dim left, Dim right, const std::string& reason);    // throws Error(kInvalid) where it cannot hold
  void guard_at_most(Dim left, Dim right, const std::string& reason);  // the same

 private:
  std::vector<ValueId> add(Operation& operation);
  Shape add_result_symbols(ValueId x, int64_t min, int64_t max, std::optional<Dim> bound);
  ir::Node& add_producer(OpKind kind, ir::Params params, std::vector<ValueId> inputs, ValueId output);
  bool fold(ir::NodeId node);
  // Throws Error(kInvalid) where `axis` is none of `count`.
  void require_axis(int axis, size_t count, const Shape& of) const;

  ir::Graph& graph_;
  const std::string layer_, onnx_, prefix_;
};

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_EMITTER_H_
