// Walks a model's nodes in order and has each imported.
#ifndef PLANWRIGHT_BUILDER_ONNX_GRAPH_IMPORTER_H_
#define PLANWRIGHT_BUILDER_ONNX_GRAPH_IMPORTER_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "builder/onnx/import.h"
#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// The names of one graph or function body, and what stands for each.
struct Scope {
  // The value of something that no importer could make; everything that reads it is skipped.
  static constexpr ValueId kUnknown = -2;
  // A sequence, or an optional that is empty: from this number down.
  static constexpr ValueId kFirstList = -16;
  static constexpr bool is_list(ValueId id) { return id <= kFirstList; }

  Scope* outer = nullptr;      // names of enclosing graphs are seen from a subgraph, not from a function
  ir::Graph* graph = nullptr;  // what its nodes are imported into: that of the scope around it, or a body of its own
  std::unordered_map<std::string, ValueId> values;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers;  // those not read yet
  std::unordered_map<std::string, Declaration> declarations;
  std::unordered_map<std::string, int64_t> opsets;  // by domain, "" for ONNX's own
  // What the layers of this scope are called after, and the user's node they do the work of; empty at the top.
  std::string layer, onnx;
  int depth = 0;
  uint32_t bodies = 0;  // around it, that run with the engine

  // Of a body of its own: what it takes from the graph around it, in the order of its inputs, and what stands for it.
  std::vector<ValueId> captures;
  std::unordered_map<ValueId, ValueId> captured;
};

// A Loop or a Scan, read.
struct LoopParts;

class GraphImporter {
 public:
  GraphImporter(const OnnxModel& model, const std::vector<Profile>& profiles);

  // Imports everything the outputs need. Throws Error(kInvalid); collects what is not supported.
  void run();

  std::vector<Unsupported>& unsupported() { return unsupported_; }
  ir::Graph& graph() { return graph_; }

 private:
  void add_inputs(Scope& scope);
  void add_initializers(Scope& scope);
  void add_outputs(Scope& scope);
  void check_output(const TensorDecl& declared, const ir::Value& value);

  // Throws Error(kUnsupported) where a model that is small as it is written becomes too large as it is written out.
  void count_import(const std::string& layer);
  void import_node(const onnx::NodeProto& node, Scope& scope);
  // Nothing where one of them cannot be known, because what makes it is refused; or refuses the node for it.
  std::optional<std::vector<ValueId>> find_inputs(const onnx::NodeProto& node, Scope& scope);
  // Refuses a node whose inputs are not known if its operator is not, and so the nodes of its graphs or function.
  void judge_by_name(const onnx::NodeProto& node, const Scope& scope);
  void import_operator(const onnx::NodeProto& node, Scope& scope, std::vector<ValueId> inputs);
  void import_function(const onnx::FunctionProto& function, const onnx::NodeProto& call, Scope& scope,
                       const std::vector<ValueId>& inputs, const std::string& layer);
  static void name_value(ValueId id, ValueId first_made, const Scope& scope, const std::string& name);
  void refuse(const onnx::NodeProto& node, const Scope& scope, const std::string& reason);

  // Imports the branch of an If whose condition is known.
  void import_branch(const onnx::GraphProto& branch, const onnx::NodeProto& node, Scope& scope,
                     const std::string& layer);

  // ---- control_flow.cc
  // An If, Loop or Scan whose bodies run when the engine does.
  void import_control(const onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& inputs,
                      const std::string& layer);
  void import_if(const onnx::NodeProto& node, Scope& scope, ValueId condition, const std::string& layer);
  struct Branch;
  // A branch as a body of its own; nothing where something was refused.
  std::optional<Branch> import_if_body(const onnx::GraphProto& proto, const onnx::NodeProto& node, Scope& scope,
                                       const std::string& layer);
  static std::optional<Dim> room_for(const std::vector<Branch>& branches, size_t output);
  static void fill_room(Branch& branch, size_t output, Dim room, const std::string& layer);
  // The If whose branch `failing` cannot run at the profile's shapes becomes the other branch, which must be taken.
  void import_only_branch(const onnx::NodeProto& node, Scope& scope, ValueId condition, const std::string& layer,
                          const Branch& failing);
  void import_loop(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts, const std::string& layer);
  struct LoopBody;
  // False where something was refused.
  bool import_loop_body(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts, const std::string& layer,
                        LoopBody* body);
  // One iteration after the other, in the graph around it.
  void unroll_loop(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts, const std::string& layer);
  void add_loop(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts, const std::string& layer,
                LoopBody* body);
  // Gives the node's outputs the carried values and, of what is stacked, all that it wants.
  static void bind_results(const onnx::NodeProto& node, Scope& scope, size_t carried,
                           const std::vector<ValueId>& results, ValueId first_made);
  // The scope of a graph among the node's attributes; `graph`: where to import it to.
  static Scope inner_scope(const onnx::GraphProto& proto, const onnx::NodeProto& node, Scope& outer,
                           const std::string& layer, ir::Graph* graph);
  // Imports the nodes of `inner`, and makes outputs[i] its output of that name. False where something was refused.
  bool import_body(const onnx::GraphProto& proto, Scope& inner, const std::vector<std::string>& names,
                   std::vector<ValueId>* outputs);
  // What stands for a value of the graph around it in a body of its own.
  ValueId capture(Scope& scope, ValueId id);

  // ---- sequences.cc
  struct List {
    std::vector<ValueId> elements;
    bool is_absent;  // an optional without a value
  };
  void import_sequence(const onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& inputs,
                       const std::string& layer);
  void map_sequence(const onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& inputs,
                    const std::string& layer);
  // The number that stands for the list.
  ValueId add_list(std::vector<ValueId> elements, bool is_absent = false);
  // Throws Error(kInvalid) where it is no sequence.
  List list_of(const onnx::NodeProto& node, ValueId id, const std::string& layer) const;

  // What stands for the name in the scope or those around it; reads an initializer at its first use.
  std::optional<ValueId> find(Scope& scope, const std::string& name);
  void bind_outputs(const NodeContext& context, ValueId first_made, const onnx::NodeProto& node, Scope& scope);

  const OnnxModel& model_;
  const std::vector<Profile>& profiles_;
  bool static_inputs_ = true;
  ir::Graph graph_;
  std::vector<Unsupported> unsupported_;
  int64_t imported_ = 0;  // nodes, those of bodies and functions each time
  std::vector<List> lists_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;  // the model's own, by domain::name
};

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_GRAPH_IMPORTER_H_
