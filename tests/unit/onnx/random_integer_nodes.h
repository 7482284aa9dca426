// Random nodes of the operators that shape arithmetic knows, on integers that come in and what nodes before them made.
#ifndef PLANWRIGHT_TESTS_UNIT_ONNX_RANDOM_INTEGER_NODES_H_
#define PLANWRIGHT_TESTS_UNIT_ONNX_RANDOM_INTEGER_NODES_H_

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "builder/ir/interpret.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace planwright::builder {

using Ints = std::vector<int64_t>;

int64_t count_of(const Ints& dims);
// Of any type but floats and those of less than a byte.
int64_t integer_at(const ir::Tensor& tensor, size_t index);
Ints integers_of(const ir::Tensor& tensor);
ir::Tensor tensor_of_ints(DType dtype, const Ints& dims, const Ints& values);
onnx::TensorProto proto_of(const ir::Tensor& tensor);
void set_int(onnx::NodeProto* node, const std::string& name, int64_t value);

class RandomIntegerNodes {
 public:
  // What nodes may read.
  struct Value {
    std::string name;
    ir::Tensor tensor;
    bool has_fixed_dims = true;  // whatever the dims of the graph's input
  };

  // Of a random opset.
  explicit RandomIntegerNodes(uint64_t seed);

  int opset() const { return opset_; }
  // The integers that come in first.
  const std::vector<Value>& pool() const { return pool_; }
  void add(Value value) { pool_.push_back(std::move(value)); }
  // Operands of drawn nodes that are neither in the pool nor another node's.
  const std::map<std::string, ir::Tensor>& constants() const { return constants_; }
  // Of an output of a drawn node.
  DType type_of(const std::string& output) const { return types_.at(output); }

  // Nothing where the opset lacks the operator or the node would make a large tensor.
  std::optional<onnx::NodeProto> draw();
  static std::vector<std::string> operator_names();

  // That a Cast makes: a name until opset 6, a number since.
  void set_type(onnx::NodeProto* node, DType to) const;

  // ---- Chance
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  size_t index(size_t count) { return static_cast<size_t>(between(0, static_cast<int64_t>(count) - 1)); }
  bool chance(int64_t one_in) { return between(1, one_in) == 1; }
  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[index(choices.size())];
  }

 private:
  const Value* find(const std::string& name) const;
  const ir::Tensor& tensor(const std::string& name) const;
  std::string constant(ir::Tensor tensor);
  Ints small_dims(int64_t most_rank = 3);
  // Small numbers, seldom others.
  std::string random_constant(DType dtype, const Ints& dims);
  std::string data();
  // A value of that type, of the graph where there is one.
  std::string data_of(DType dtype, const Ints& like);
  // An operand that decides a shape: nearly always a constant, as such operands must be.
  std::string decider(const Ints& values, DType dtype = DType::kI64);
  // An axis of that many, counted from either end; seldom one that there is not.
  int64_t axis(size_t rank);
  bool takes(const std::string& attribute) const { return schema_->attributes().contains(attribute); }
  bool takes_input(size_t input) const { return schema_->inputs().size() > input; }
  // Axes, as this opset takes them.
  void give_axes(onnx::NodeProto* node, const Ints& axes);
  std::string make(onnx::NodeProto* node, DType dtype);
  // Gives a node its operands, attributes and outputs; whether the opset has it and it makes no large tensor.
  using Draw = bool (RandomIntegerNodes::*)(onnx::NodeProto*);
  static const std::vector<std::pair<std::string, Draw>>& operators();

  bool unary(onnx::NodeProto* node);
  bool logic(onnx::NodeProto* node);
  void draw_pair(onnx::NodeProto* node, DType* dtype);
  // As before opset 7: the second operand, of fewer axes than the first, at one that may not be its last.
  void put_at_axis(onnx::NodeProto* node);
  bool binary(onnx::NodeProto* node);
  bool comparison(onnx::NodeProto* node);
  bool variadic(onnx::NodeProto* node);
  bool where(onnx::NodeProto* node);
  bool cast(onnx::NodeProto* node);
  bool gather(onnx::NodeProto* node);
  bool slice(onnx::NodeProto* node);
  bool concat(onnx::NodeProto* node);
  bool squeeze(onnx::NodeProto* node);
  bool unsqueeze(onnx::NodeProto* node);
  bool reshape(onnx::NodeProto* node);
  // Whether a graph may make a tensor of these dims. Those that are wrong are refused before it is made.
  static bool is_small(const ir::Tensor& dims);
  bool constant_of_shape(onnx::NodeProto* node);
  bool expand(onnx::NodeProto* node);
  // A scalar, or another tensor of one element.
  bool range(onnx::NodeProto* node);
  bool reduce(onnx::NodeProto* node);
  bool split(onnx::NodeProto* node);
  bool shape(onnx::NodeProto* node);

  std::mt19937_64 random_;
  int opset_ = 0;
  const onnx::OpSchema* schema_ = nullptr;  // of the node that is being drawn
  std::vector<Value> pool_;
  std::map<std::string, ir::Tensor> constants_;
  std::map<std::string, DType> types_;  // of what nodes make
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_TESTS_UNIT_ONNX_RANDOM_INTEGER_NODES_H_
