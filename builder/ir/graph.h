// The graph: one small IR for the whole build.
#ifndef PLANWRIGHT_BUILDER_IR_GRAPH_H_
#define PLANWRIGHT_BUILDER_IR_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "builder/ir/dim.h"
#include "schemas/types/dtype.h"
#include "tactics/kernels/op.h"
#include "tactics/kernels/params.h"
#include "tactics/kernels/program.h"

namespace planwright {
struct CustomOperator;  // tactics/kernels/custom.h
}

namespace planwright::ir {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNone = -1;  // no value (an optional input not given), no producer

// A constant's elements: dense, row-major, little-endian, size_of(dtype) bytes each.
using Bytes = std::vector<std::byte>;

// The physical order of a value's axes, outermost first; empty means row-major. {0, 2, 3, 1} of [N, C, H, W] is
// channels-last. `block` > 1 splits the axis `block_axis` into blocks that become the innermost axis (nChw16c).
struct Layout {
  std::vector<uint8_t> order;
  int32_t block_axis = kNone;
  int32_t block = 1;
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Where the elements of a value lie when they are part of another value's storage. Element strides, never negative.
struct View {
  ValueId base = kNone;  // a value without a view of its own
  Dim offset = 0;        // elements, from the base's first
  Shape strides;
};

struct Value {
  ValueId id = kNone;
  std::string name;  // the ONNX value's name; unique; kept through every pass
  DType dtype = DType::kF32;
  Shape dims;
  std::shared_ptr<const Bytes> constant;  // null unless the value is a constant
  std::optional<Shape> elements;          // contents of a small integer tensor, as expressions, where known
  Layout layout;                          // set by the layout pass
  std::optional<View> view;               // set by the views pass
  NodeId producer = kNone;                // kNone: graph input or constant

  bool is_constant() const { return constant != nullptr; }
  int rank() const { return static_cast<int>(dims.size()); }
};

// Of a Loop, here only: a step of the plan carries its values by where they lie.
struct LoopParams {
  int32_t carried = 0;        // values that an iteration hands to the next
  int32_t has_condition = 0;  // the first of them says whether there is a next one
};

// A plugin's operator and what its shape() wrote; a step of the plan has only the latter, and its kernel's name.
struct CustomParams {
  const CustomOperator* op = nullptr;
  Bytes parameters;
};

using Params =
    std::variant<NoParams, ConvParams, ConvTransposeParams, PoolParams, ResizeParams, ReduceParams, ArgReduceParams,
                 SoftmaxParams, LayerNormParams, GroupNormParams, LrnParams, CumulativeParams, AttentionParams,
                 GatherParams, GatherElementsParams, GatherNDParams, ScatterElementsParams, ScatterNDParams, TopKParams,
                 OneHotParams, TriluParams, TransposeParams, SliceParams, ConcatParams, PadParams,
                 ReverseSequenceParams, FillParams, RnnParams, ShapeValuesParams, TreeEnsembleParams, GridSampleParams,
                 RoiAlignParams, DeformConvParams, RandomParams, LoopParams, UniqueParams, NonMaxSuppressionParams,
                 BlockMatMulParams, CustomParams>;

// The struct that belongs to an operator, with its defaults.
Params default_params(OpKind kind);
// The struct's bytes as a step of the engine stores them; empty for NoParams.
Bytes to_bytes(const Params& params);

class Graph;

struct Node {
  NodeId id = kNone;
  OpKind kind = OpKind::kPointwise;
  Params params;
  Shape scalars;                               // see params.h
  std::vector<PwInstr> program;                // a Pointwise node's body, a contraction's epilogue, else empty
  std::vector<ValueId> inputs;                 // the operator's own, then the program's operands
  int32_t core_inputs = 0;                     // how many are the operator's own (0 for Pointwise)
  std::vector<ValueId> outputs;                // kNone: an optional output nobody wants
  std::string name;                            // the layer's name in reports
  std::vector<std::string> onnx;               // the user's nodes it does the work of; grows when nodes are fused
  std::vector<std::shared_ptr<Graph>> bodies;  // of an If: then, else; of a Loop: one (control.h)

  template <typename T>
  const T& as() const {
    return std::get<T>(params);
  }
  template <typename T>
  T& as() {
    return std::get<T>(params);
  }
};

// left == right, or left <= right, must hold for the shapes that are set.
struct Guard {
  bool equal = true;
  Dim left, right;
  std::string layer;   // the user's layer that needs it
  std::string reason;  // "Add joins axis 2"
  // The number() of the body of an If that needs it; -1: needed however branches go. Of guards that build() collected.
  int32_t branch = -1;
};

class Graph {
 public:
  Graph();
  // A body in a graph whose expressions it shares.
  explicit Graph(std::shared_ptr<ExprPool> exprs) : exprs_(std::move(exprs)), number_(exprs_->number_graph()) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  // Shares expressions and the elements of constants, and is the same graph to the expressions: use one at a time.
  Graph copy() const;

  std::string name;
  std::vector<ValueId> inputs;            // bindings, in the model's order
  std::vector<ValueId> outputs;           // may hold a graph input, a constant, or one value twice
  std::vector<std::string> output_names;  // binding names, one per output
  std::vector<Guard> guards;
  std::vector<std::string> warnings;  // what of the model its user should know, with the layer; of a body: at the top

  // Tells the graph from others over the same expressions.
  int32_t number() const { return number_; }
  ExprPool& exprs() { return *exprs_; }
  const std::shared_ptr<ExprPool>& expr_pool() const { return exprs_; }

  // ---- Values. References stay valid until the graph is destroyed.
  Value& add_value(std::string name, DType dtype, Shape dims);  // makes the name unique ("x", "x#2", ...)
  void rename_value(ValueId id, const std::string& name);       // the same
  // `data`: dense row-major; its size must fit.
  Value& add_constant(std::string name, DType dtype, const std::vector<int64_t>& dims, Bytes data);
  Value& value(ValueId id) { return *values_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return *values_[static_cast<size_t>(id)]; }
  int32_t value_count() const { return static_cast<int32_t>(values_.size()); }

  // ---- Nodes. `order()` is the order of execution; producers come before users (the verifier checks).
  // Appends (or inserts before `before`); sets the outputs' producer.
  Node& add_node(OpKind kind, Params params, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                 NodeId before = kNone);
  Node& node(NodeId id) { return *nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return *nodes_[static_cast<size_t>(id)]; }
  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }  // erased ones included
  // Whether `id` is a node's and the node was not erased.
  bool has_node(NodeId id) const { return id >= 0 && id < node_count() && nodes_[static_cast<size_t>(id)] != nullptr; }
  const std::vector<NodeId>& order() const { return order_; }
  void set_order(std::vector<NodeId> order) { order_ = std::move(order); }
  void erase_node(NodeId id);  // its outputs stay, without a producer

  // ---- Uses
  // The nodes that read a value, in order, once each. O(nodes); a pass that asks often builds a Users.
  std::vector<NodeId> users(ValueId id) const;
  bool is_output(ValueId id) const;
  // Every node input and graph output that is `from` becomes `to`.
  void replace_uses(ValueId from, ValueId to);

 private:
  Graph(const Graph& other);
  std::string take_name(const std::string& wanted);

  std::shared_ptr<ExprPool> exprs_;
  int32_t number_ = 0;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;  // null where erased
  std::vector<NodeId> order_;
  std::unordered_set<std::string> names_;           // of values
  std::unordered_map<std::string, int> next_copy_;  // the last "#n" given to a name
};

// Users of every value at one moment.
class Users {
 public:
  explicit Users(const Graph& graph);
  const std::vector<NodeId>& of(ValueId id) const { return users_[static_cast<size_t>(id)]; }

 private:
  std::vector<std::vector<NodeId>> users_;
};

// Row-major strides of dims, or those of a layout.
Shape dense_strides(const Shape& dims, const Layout& layout = {});

// The strides and offset a value's elements have in its storage (its view's, else its layout's), and that storage.
struct Placement {
  ValueId storage = kNone;
  Dim offset = 0;
  Shape strides;
};
Placement placement_of(const Graph& graph, ValueId id);

// The text form used by dumps and golden tests, one node a line:
//   %y: fp32[n, 64, h + 1, 56] = Conv(%x, %w; %b) {group=1 stride=2,2 [3, 3]} [max(add(acc, in0), 0)]  "conv1"+"relu1"
// The scalars stand in brackets after the attributes; what a program uses twice is named: [t0 = exp(in0); ...].
// The bodies of an If or a Loop follow their node, further in.
std::string print(const Graph& graph);
std::string print_program(const std::vector<PwInstr>& program);

// Checks every rule of the graph; the first broken one as a message naming the node, empty when all hold.
// Rules: ids in range; values defined before use; one producer; arities and params match the kind; programs valid;
// dtypes and ranks agree as the operator demands; output dims are what the operator infers (proven or guarded);
// constants have the right size; views lie on a base without a view.
std::string verify(const Graph& graph);

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_GRAPH_H_
