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

  Scope* outer = nullptr;  // names of enclosing graphs are seen from a subgraph, not from a function
  std::unordered_map<std::string, ValueId> values;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers;  // those not read yet
  std::unordered_map<std::string, Declaration> declarations;
  std::unordered_map<std::string, int64_t> opsets;  // by domain, "" for ONNX's own
  // What the layers of this scope are called after, and the user's node they do the work of; empty at the top.
  std::string layer, onnx;
  int depth = 0;
};

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
  void check_output(const TensorDecl& declared, const ir::Value& value) const;

  void import_node(const onnx::NodeProto& node, Scope& scope);
  void import_operator(const onnx::NodeProto& node, Scope& scope, std::vector<ValueId> inputs);
  void import_function(const onnx::FunctionProto& function, const onnx::NodeProto& call, Scope& scope,
                       const std::vector<ValueId>& inputs, const std::string& layer);
  void name_value(ValueId id, ValueId first_made, const Scope& scope, const std::string& name);
  void refuse(const onnx::NodeProto& node, const Scope& scope, const std::string& reason);

  // Imports the branch of an If whose condition is known.
  void import_branch(const onnx::GraphProto& branch, const onnx::NodeProto& node, Scope& scope,
                     const std::string& layer);
  // What stands for the name in the scope or those around it; reads an initializer at its first use.
  std::optional<ValueId> find(Scope& scope, const std::string& name);
  void bind_outputs(const NodeContext& context, ValueId first_made, const onnx::NodeProto& node, Scope& scope);

  const OnnxModel& model_;
  const std::vector<Profile>& profiles_;
  bool static_inputs_ = true;
  ir::Graph graph_;
  std::vector<Unsupported> unsupported_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;  // the model's own, by domain::name
};

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_GRAPH_IMPORTER_H_
