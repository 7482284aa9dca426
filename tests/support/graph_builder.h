// Small graphs for tests, one short call a node.
#ifndef PLANWRIGHT_TESTS_SUPPORT_GRAPH_BUILDER_H_
#define PLANWRIGHT_TESTS_SUPPORT_GRAPH_BUILDER_H_

#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/ir/infer.h"
#include "builder/ir/interpret.h"
#include "builder/ir/program_ssa.h"

namespace planwright::testing {

template <typename T>
ir::Bytes bytes_of(const std::vector<T>& values) {
  ir::Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Every node is named after its first output, and its ONNX name is the same.
class GraphBuilder {
 public:
  ir::Graph graph;

  ir::Dim symbol(const std::string& name, int64_t min, int64_t max, int input = 0, int axis = 0) {
    return graph.exprs().add_symbol({ir::SymbolOrigin::kInputDim, input, axis, min, max, name});
  }

  ir::ValueId input(const std::string& name, ir::Shape dims, DType dtype = DType::kF32) {
    const ir::ValueId id = graph.add_value(name, dtype, std::move(dims)).id;
    graph.inputs.push_back(id);
    return id;
  }

  ir::ValueId constant(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    return graph.add_constant(name, DType::kF32, dims, bytes_of(values)).id;
  }
  ir::ValueId constant_int(const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<int64_t>& values) {
    return graph.add_constant(name, DType::kI64, dims, bytes_of(values)).id;
  }
  // Elements in [-1, 1), the same for the same name.
  ir::ValueId weights(const std::string& name, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(name)));
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
    return constant(name, dims, values);
  }

  void output(ir::ValueId id) {
    graph.outputs.push_back(id);
    graph.output_names.push_back(graph.value(id).name);
  }

  // A node of one output; dims and type as inferred where `dims` is empty.
  ir::Node& node(OpKind kind, const std::string& name, std::vector<ir::ValueId> inputs, ir::Params params,
                 const ir::Shape* dims = nullptr, DType dtype = DType::kF32) {
    const ir::ValueId out = graph.add_value(name, dtype, dims == nullptr ? ir::Shape{} : *dims).id;
    ir::Node& node = graph.add_node(kind, std::move(params), std::move(inputs), {out});
    node.name = name;
    node.onnx = {name};
    if (dims == nullptr) {
      const auto inferred = ir::infer_dims(graph, node, &graph.guards)[0];
      if (!inferred) throw std::logic_error(name + " needs its dims said");
      graph.value(out).dims = *inferred;
      if (const auto type = ir::infer_types(graph, node)[0]) graph.value(out).dtype = *type;
    }
    return node;
  }
  ir::ValueId add(OpKind kind, const std::string& name, std::vector<ir::ValueId> inputs, ir::Params params) {
    return node(kind, name, std::move(inputs), std::move(params)).outputs[0];
  }
  ir::ValueId add(OpKind kind, const std::string& name, std::vector<ir::ValueId> inputs, ir::Params params,
                  const ir::Shape& dims) {
    const DType dtype = graph.value(inputs.at(0)).dtype;
    return node(kind, name, std::move(inputs), std::move(params), &dims, dtype).outputs[0];
  }

  // `body` stores output 0 from the loads it is given.
  using Body = std::function<ir::PwValue(ir::SsaProgram&, const std::vector<ir::PwValue>&)>;
  ir::ValueId pointwise(const std::string& name, const std::vector<ir::ValueId>& operands, const Body& body) {
    ir::SsaProgram program;
    std::vector<ir::PwValue> loads;
    for (size_t i = 0; i < operands.size(); ++i) {
      loads.push_back(program.load(static_cast<int>(i), class_of(graph.value(operands[i]).dtype)));
    }
    program.store(body(program, loads));
    ir::Node& made = node(OpKind::kPointwise, name, operands, NoParams{});
    made.program = *program.to_program();
    return made.outputs[0];
  }
  ir::ValueId unary(PwOp op, const std::string& name, ir::ValueId x) {
    return pointwise(name, {x}, [op](ir::SsaProgram& p, const auto& in) { return p.unary(op, in[0]); });
  }
  ir::ValueId binary(PwOp op, const std::string& name, ir::ValueId a, ir::ValueId b) {
    return pointwise(name, {a, b}, [op](ir::SsaProgram& p, const auto& in) { return p.binary(op, in[0], in[1]); });
  }
  ir::ValueId relu(const std::string& name, ir::ValueId x) {
    return pointwise(name, {x},
                     [](ir::SsaProgram& p, const auto& in) { return p.binary(PwOp::kMax, in[0], p.constant(0)); });
  }
  // op(x, value) with a constant inside the program.
  ir::ValueId scalar(PwOp op, const std::string& name, ir::ValueId x, double value) {
    return pointwise(name, {x},
                     [op, value](ir::SsaProgram& p, const auto& in) { return p.binary(op, in[0], p.constant(value)); });
  }

  // A 2-D convolution of stride 1 and equal padding on all sides; W's dims say the rest.
  ir::ValueId conv(const std::string& name, ir::ValueId x, ir::ValueId w, int64_t pad = 0, int group = 1) {
    ConvParams params;
    params.group = group;
    const ir::Shape in = graph.value(x).dims, kernel = graph.value(w).dims;
    ir::Shape dims{in[0], kernel[0]};
    for (size_t axis = 2; axis < 4; ++axis) {
      dims.push_back(ir::window_output(in[axis], pad, pad, kernel[axis].constant(), 1, 1, false));
    }
    ir::Node& made = node(OpKind::kConv, name, {x, w}, params, &dims);
    made.scalars = {pad, pad};
    return made.outputs[0];
  }
  ir::ValueId matmul(const std::string& name, ir::ValueId a, ir::ValueId b) {
    return add(OpKind::kMatMul, name, {a, b}, NoParams{});
  }
  ir::ValueId transpose(const std::string& name, ir::ValueId x, const std::vector<int>& perm) {
    TransposeParams params;
    std::copy(perm.begin(), perm.end(), params.perm);
    return add(OpKind::kTranspose, name, {x}, params);
  }
  ir::ValueId reshape(const std::string& name, ir::ValueId x, const ir::Shape& dims) {
    return add(OpKind::kReshape, name, {x}, NoParams{}, dims);
  }
  ir::ValueId reduce(const std::string& name, ReduceKind kind, ir::ValueId x, uint32_t axes) {
    return add(OpKind::kReduce, name, {x}, ReduceParams{kind, axes});
  }
};

// A float tensor with elements in [low, high).
inline ir::Tensor random_tensor(const std::vector<int64_t>& dims, unsigned seed, float low = -2, float high = 2) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = std::uniform_real_distribution<float>(low, high)(random);
  return {DType::kF32, dims, bytes_of(values)};
}

template <typename T>
std::vector<T> elements_of(const ir::Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_GRAPH_BUILDER_H_
