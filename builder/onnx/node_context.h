// What an importer sees of the one ONNX node it is called for, and how it answers.
#ifndef PLANWRIGHT_BUILDER_ONNX_NODE_CONTEXT_H_
#define PLANWRIGHT_BUILDER_ONNX_NODE_CONTEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "builder/onnx/elements.h"
#include "builder/onnx/emitter.h"
#include "builder/onnx/tensor_data.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "schemas/types/error.h"

namespace planwright::builder::importer {

// A node that Planwright does not do. `reason` is the bare reason; what() names the node too.
class Refusal : public Error {
 public:
  Refusal(const std::string& node, const std::string& why)
      : Error(StatusCode::kUnsupported, node + ": " + why), reason(why) {}
  std::string reason;
};

// Stands for strings, with which nothing computes: what reads them is refused, and they matter to no one else.
inline constexpr ValueId kText = -3;

// What the model declares of a value: type, and dims where it gives any (nothing for a dim it leaves open).
struct Declaration {
  std::optional<DType> dtype;
  std::optional<std::vector<std::optional<Dim>>> dims;
};

class NodeContext : public Emitter {
 public:
  struct Setting {
    const onnx::NodeProto* node = nullptr;
    const onnx::OpSchema* schema = nullptr;  // null for operators outside ONNX's own domains
    int64_t opset = 0;                       // of the node's domain
    std::vector<ValueId> inputs;             // kNone where not given; trailing ones cut
    std::vector<Declaration> declared;       // one an output
    std::string layer, onnx, prefix;
  };
  NodeContext(ir::Graph& graph, Setting setting);

  const onnx::NodeProto& node() const { return *setting_.node; }
  int64_t opset() const { return setting_.opset; }
  // The opset in which this form of the operator came; 0 outside ONNX's own domains.
  int since() const { return setting_.schema == nullptr ? 0 : setting_.schema->since_version(); }
  const onnx::OpSchema* schema() const { return setting_.schema; }

  // ---- Inputs
  int input_count() const { return static_cast<int>(setting_.inputs.size()); }
  bool has(int input) const {
    return input < input_count() && setting_.inputs[static_cast<size_t>(input)] != ir::kNone;
  }
  ValueId in(int input) const;  // throws Error(kInvalid) where it is not given
  const std::vector<ValueId>& ins() const { return setting_.inputs; }
  const ir::Value& input(int i) const { return value(in(i)); }
  const Shape& in_dims(int i) const { return input(i).dims; }
  DType in_type(int i) const { return input(i).dtype; }
  int in_rank(int i) const { return input(i).rank(); }

  // ---- Attributes: the node's own, else the schema's default, else `fallback`
  bool has_attribute(const std::string& name) const { return attribute(name) != nullptr; }
  const onnx::AttributeProto* attribute(const std::string& name) const;
  int64_t get_int(const std::string& name, int64_t fallback = 0) const;
  int32_t get_int32(const std::string& name, int32_t fallback = 0) const;  // refuses one that does not fit
  float get_float(const std::string& name, float fallback = 0) const;
  std::string get_string(const std::string& name, const std::string& fallback = "") const;
  std::vector<int64_t> get_ints(const std::string& name, const std::vector<int64_t>& fallback = {}) const;
  std::vector<float> get_floats(const std::string& name) const;
  std::vector<std::string> get_strings(const std::string& name) const;

  // ---- What is known of an input's contents
  // Expressions, where all of a small integer tensor's elements are known as such.
  const std::optional<Shape>& elements(int input) const { return value(in(input)).elements; }
  // Integers that must be known now; `what` names the input in the refusal.
  std::vector<int64_t> constant_ints(int input, const std::string& what) const;
  int64_t constant_int(int input, const std::string& what) const;
  std::vector<double> constant_doubles(int input, const std::string& what) const;
  double constant_double(int input, const std::string& what) const;

  // `axis` counted from the front. Throws Error(kInvalid) where it is not in [-rank, rank).
  int normalize_axis(int64_t axis, int rank, const std::string& what = "axis") const;
  // A set of axes; throws where one is out of range or stands twice.
  uint32_t axis_mask(const std::vector<int64_t>& axes, int rank) const;

  // ---- Outputs
  int output_count() const { return node().output_size(); }
  bool wants(int output) const { return output < output_count() && !node().output(output).empty(); }
  void set(int output, ValueId value) { outputs_[static_cast<size_t>(output)] = value; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const Declaration& declared(int output) const { return setting_.declared[static_cast<size_t>(output)]; }

  // ---- Failing
  [[noreturn]] void invalid(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& why) const;
  void require(bool holds, const std::string& what) const {
    if (!holds) invalid(what);
  }
  // "conv1 (Conv)"
  std::string title() const { return layer() + " (" + node().op_type() + ")"; }

 private:
  Setting setting_;
  std::vector<ValueId> outputs_;
};

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_NODE_CONTEXT_H_
