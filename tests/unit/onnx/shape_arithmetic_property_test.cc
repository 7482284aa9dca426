// Random graphs of the operators that shape arithmetic knows. What becomes of integers must not depend on where they
// come from: from the dims of an input, followed as expressions; from an input's values, followed beside what kernels
// compute; or from an initializer, where every node is folded by a reference kernel as soon as it is imported and shape
// arithmetic has no say. The last is the truth.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "builder/onnx/tensor_data.h"
#include "onnx/defs/printer.h"
#include "onnx/defs/schema.h"
#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

constexpr int kGraphs = 3000;
constexpr int kMostNodes = 6;
// Of one tensor: what a graph computes could make others as long as a dim.
constexpr int64_t kMostElements = 512;

using Ints = std::vector<int64_t>;

int64_t count_of(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// Of any type but floats and those of less than a byte.
int64_t integer_at(const ir::Tensor& tensor, size_t index) {
  const size_t size = size_of(tensor.dtype);
  int64_t value = 0;
  std::memcpy(&value, tensor.data.data() + index * size, size);
  if (is_unsigned(tensor.dtype) || tensor.dtype == DType::kBool || size == sizeof(value)) return value;
  const size_t unused = 8 * (sizeof(value) - size);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

Ints integers_of(const ir::Tensor& tensor) {
  Ints values;
  for (int64_t i = 0; i < count_of(tensor.dims); ++i) values.push_back(integer_at(tensor, static_cast<size_t>(i)));
  return values;
}

// Little-endian: the low bytes are the element.
ir::Tensor tensor_of_ints(DType dtype, const Ints& dims, const Ints& values) {
  const size_t size = size_of(dtype);
  ir::Tensor tensor{dtype, dims, ir::Bytes(values.size() * size)};
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(tensor.data.data() + i * size, &values[i], size);
  return tensor;
}

std::string text_of(const ir::Tensor& tensor) {
  std::vector<std::string> values;
  for (const int64_t value : integers_of(tensor)) values.push_back(std::to_string(value));
  return fmt::format("{}[{}] {{{}}}", name_of(tensor.dtype), fmt::join(tensor.dims, ", "), fmt::join(values, ", "));
}

bool operator==(const ir::Tensor& a, const ir::Tensor& b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.data == b.data;
}

// Where the integers come from.
enum class Source { kDims, kValues, kInitializer };

std::string name_of(Source source) {
  return source == Source::kDims ? "from dims" : source == Source::kValues ? "from values" : "from an initializer";
}

struct Outcome {
  std::vector<ir::Tensor> tensors;  // where it is not refused
  Failure failure;
  // An output whose elements, as the importer knows them, are not those that were computed.
  std::string contradiction;
  std::vector<bool> has_fixed_dims;  // each tensor
  bool refused() const { return failure.code != StatusCode::kOk; }
};

struct Value {
  std::string name;
  ir::Tensor tensor;
  bool has_fixed_dims = true;  // whatever the dims of the graph's input
};

struct Tally {
  std::map<std::string, int> computed;  // nodes, by operator
  int refused_from_dims = 0;            // what is computed from an initializer
};

class RandomGraph {
 public:
  RandomGraph(uint64_t seed, Tally* tally) : random_(seed), tally_(tally) {
    static constexpr int kOpsets[] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 28};
    opset_ = kOpsets[index(std::size(kOpsets))];
    draw_dims();
  }

  // Appends nodes, one after the other, each compared with the truth once it is there. The first fault; empty: none.
  std::string check() {
    const auto nodes = between(1, kMostNodes);
    for (int tries = 0; tries < 4 * kMostNodes && static_cast<int64_t>(nodes_.size()) < nodes; ++tries) {
      const std::optional<onnx::NodeProto> node = draw_node();
      if (!node) continue;
      nodes_.push_back(*node);
      if (!is_kept(*node)) nodes_.pop_back();
      if (!fault_.empty()) return fault_;
    }
    // All at once: what another node reads as data is an operator's result for the nodes after it.
    Outcome truth = run(Source::kInitializer, all_outputs());
    for (const Source source : {Source::kDims, Source::kValues}) compare(source, all_outputs(), truth);
    return fault_;
  }

  static std::vector<std::string> operator_names() {
    std::vector<std::string> names;
    for (const auto& [name, draw] : operators()) names.push_back(name);
    return names;
  }

 private:
  // ---- Chance

  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  size_t index(size_t count) { return static_cast<size_t>(between(0, static_cast<int64_t>(count) - 1)); }
  bool chance(int64_t one_in) { return between(1, one_in) == 1; }
  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[index(choices.size())];
  }

  // ---- What comes in

  // x is empty, so that its dims may be as large as they like.
  void draw_dims() {
    const auto [low, high] = one_of<std::pair<int64_t, int64_t>>(
        {{1, 64}, {0, 8}, {5, 5}, {0, 1 << 20}, {0, INT32_MAX}, {250, 270}, {1, 3}});
    low_ = low;
    high_ = high;
    const auto draw = [&, l = low, h = high] { return chance(3) ? l : chance(3) ? h : between(l, std::min(h, l + 9)); };
    same_ = chance(4);
    const int64_t n = draw(), h = same_ ? n : draw();
    x_dims_ = {n, 0, h, 3};
    start_ = opset_ >= 15 && chance(3) ? std::optional(between(-5, 5)) : std::nullopt;
    end_ = opset_ >= 15 && chance(3) ? std::optional(between(-5, 5)) : std::nullopt;
    const auto place = [](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + 4 : at, 0, 4); };
    const int64_t from = place(start_.value_or(0)), to = std::max(from, place(end_.value_or(4)));
    const Ints part(x_dims_.begin() + from, x_dims_.begin() + to);
    pool_.push_back({"s", tensor_of_ints(chance(4) ? DType::kI32 : DType::kI64, {to - from}, part)});
    spread_ = chance(3) ? std::nullopt : std::optional(one_of<int64_t>({0, 1, 9, 1000}));
  }

  void add_source(Source source, onnx::GraphProto* graph) {
    if (source == Source::kInitializer) {
      add_initializer(pool_[0], graph);
      return;
    }
    onnx::ValueInfoProto& input = *graph->add_input();
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.mutable_shape();
    if (source == Source::kValues) {
      input.set_name("s");
      type.set_elem_type(onnx_type_of(pool_[0].tensor.dtype));
      type.mutable_shape()->add_dim()->set_dim_value(pool_[0].tensor.dims[0]);
      return;
    }
    input.set_name("x");
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("n");
    type.mutable_shape()->add_dim()->set_dim_value(0);
    type.mutable_shape()->add_dim()->set_dim_param(same_ ? "n" : "h");
    type.mutable_shape()->add_dim()->set_dim_value(3);
    const bool is_cast = pool_[0].tensor.dtype != DType::kI64;
    onnx::NodeProto& node = *graph->add_node();
    node.set_op_type("Shape");
    node.add_input("x");
    node.add_output(is_cast ? "dims" : "s");
    if (start_) set_int(&node, "start", *start_);
    if (end_) set_int(&node, "end", *end_);
    if (!is_cast) return;
    onnx::NodeProto& cast = *graph->add_node();
    cast.set_op_type("Cast");
    cast.add_input("dims");
    cast.add_output("s");
    set_type(&cast, pool_[0].tensor.dtype);
  }

  static void add_initializer(const Value& value, onnx::GraphProto* graph) {
    onnx::TensorProto& tensor = *graph->add_initializer();
    tensor = proto_of(value.tensor);
    tensor.set_name(value.name);
  }

  static onnx::TensorProto proto_of(const ir::Tensor& tensor) {
    onnx::TensorProto proto;
    proto.set_data_type(onnx_type_of(tensor.dtype));
    for (const int64_t dim : tensor.dims) proto.add_dims(dim);
    proto.set_raw_data(std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()));
    return proto;
  }

  Profile profile_of(const OnnxModel& model, Source source) {
    Profile profile = builder::profile_of(model, low_, high_);
    if (source == Source::kValues && spread_) {
      for (const int64_t value : integers_of(pool_[0].tensor)) {
        profile.inputs[0].value_min.push_back(value - *spread_);
        profile.inputs[0].value_opt.push_back(value);
        profile.inputs[0].value_max.push_back(std::min<int64_t>(value + *spread_, INT32_MAX));
      }
    }
    return profile;
  }

  // ---- Running

  using Outputs = std::vector<std::pair<std::string, DType>>;

  Outputs all_outputs() const {
    Outputs outputs;
    for (const onnx::NodeProto& node : nodes_) {
      for (const std::string& output : node.output()) outputs.emplace_back(output, types_.at(output));
    }
    return outputs;
  }

  onnx::ModelProto model_proto(Source source, const Outputs& outputs) {
    onnx::ModelProto model;
    model.set_ir_version(10);
    model.add_opset_import()->set_version(opset_);
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("g");
    add_source(source, &graph);
    std::set<std::string> added;
    for (const onnx::NodeProto& node : nodes_) {
      for (const std::string& input : node.input()) {
        const auto used = constants_.find(input);
        if (used != constants_.end() && added.insert(input).second) add_initializer({input, used->second}, &graph);
      }
      *graph.add_node() = node;
    }
    for (const auto& [name, dtype] : outputs) {
      onnx::ValueInfoProto& output = *graph.add_output();
      output.set_name(name);
      output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx_type_of(dtype));
    }
    return model;
  }

  Outcome run(Source source, const Outputs& outputs) {
    Outcome outcome;
    outcome.failure = failure_of([&] {
      const OnnxModel model = OnnxModel::from_proto(model_proto(source, outputs));
      const ir::Graph graph = import_model(model, {profile_of(model, source)});
      EXPECT_EQ(ir::verify(graph), "");
      std::vector<ir::Tensor> inputs;
      if (source == Source::kDims) inputs.push_back({DType::kF32, x_dims_, {}});
      if (source == Source::kValues) inputs.push_back(pool_[0].tensor);
      outcome.tensors = ir::interpret(graph, inputs);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const ir::Value& value = graph.value(graph.outputs[i]);
        outcome.has_fixed_dims.push_back(
            std::all_of(value.dims.begin(), value.dims.end(), [](const ir::Dim& dim) { return dim.is_constant(); }));
        if (!value.elements || !outcome.contradiction.empty()) continue;
        const std::string wrong = contradiction(graph, *value.elements, outcome.tensors[i], inputs);
        if (!wrong.empty()) outcome.contradiction = fmt::format("{}: {}", outputs[i].first, wrong);
      }
    });
    return outcome;
  }

  // Where an element, as an expression, has another value than what was computed.
  static std::string contradiction(const ir::Graph& graph, const ir::Shape& elements, const ir::Tensor& computed,
                                   const std::vector<ir::Tensor>& inputs) {
    const std::vector<ir::Symbol>& symbols = graph.expr_pool()->symbols();
    for (size_t i = 0; i < elements.size(); ++i) {
      const std::vector<int> used = ir::symbols_of({elements[i]});
      const bool is_read = std::any_of(used.begin(), used.end(), [&](int symbol) {
        return symbols[static_cast<size_t>(symbol)].origin == ir::SymbolOrigin::kStepResult;
      });
      if (is_read) continue;  // by an operator, whose result it is
      int64_t known = 0;
      const Failure failure = failure_of([&] {
        known = ir::evaluate(elements[i], [&](int index) {
          const ir::Symbol& symbol = symbols[static_cast<size_t>(index)];
          const ir::Tensor& input = inputs[static_cast<size_t>(symbol.source)];
          const auto element = static_cast<size_t>(symbol.element);
          return symbol.origin == ir::SymbolOrigin::kInputDim ? input.dims[element] : integer_at(input, element);
        });
      });
      if (failure.code != StatusCode::kOk) continue;  // it overflows, and is refused where it is used
      const int64_t made = integer_at(computed, i);
      if (known == made && (known >= 0 || computed.dtype != DType::kU64)) continue;
      return fmt::format("element {} is {}, known as {} = {}", i, made, ir::to_string(elements[i]), known);
    }
    return "";
  }

  // Refusals of what can be computed that are right, or at least meant.
  static bool may_refuse(const Failure& failure) {
    static constexpr const char* kReasons[] = {
        // Numbers that are no sizes wrap in kernels; expressions do not.
        "overflows 64 bits",
        "a size computed in int32 must fit it",
        // 0 and -1 have a meaning of their own in a constant shape.
        "is computed as a size and must be one",
        // The other sizes of an empty tensor have no bound.
        "where its input is empty",
        // Which of two dims is a 1 that broadcasts is settled at import.
        "operands meet at axis",
        "do not broadcast at axis",
        // What decides a shape and is no constant: axes; the result of a kernel; an input's values without a profile.
        "is not a constant; make it an initializer",
        "computed from data",
        "shapes depend on",
        "depends on values without bounds",
    };
    return std::any_of(std::begin(kReasons), std::end(kReasons),
                       [&](const char* reason) { return failure.mentions(reason); });
  }

  void compare(Source source, const Outputs& outputs, const Outcome& truth) {
    if (!fault_.empty()) return;
    const Outcome outcome = run(source, outputs);
    if (outcome.refused()) {
      if (truth.refused()) return;
      if (source == Source::kDims) ++tally_->refused_from_dims;
      if (may_refuse(outcome.failure)) return;
      fault_ = fmt::format("refused: {}", outcome.failure.message);
    } else if (truth.refused()) {
      fault_ = fmt::format("{} {}, refused as a constant: {}", outputs[0].first, text_of(outcome.tensors[0]),
                           truth.failure.message);
    } else {
      for (size_t i = 0; i < outputs.size() && fault_.empty(); ++i) {
        if (outcome.tensors[i] == truth.tensors[i]) continue;
        fault_ =
            fmt::format("{} is {}, not {}", outputs[i].first, text_of(outcome.tensors[i]), text_of(truth.tensors[i]));
      }
      if (fault_.empty()) fault_ = outcome.contradiction;
    }
    if (fault_.empty()) return;
    fault_ += fmt::format("\n{} {}, dims in [{}, {}]\n{}", name_of(source), text_of(pool_[0].tensor), low_, high_,
                          onnx::ProtoToString(model_proto(source, outputs)));
  }

  // Compares a node that was just added; whether others can use what it makes.
  bool is_kept(const onnx::NodeProto& node) {
    Outputs outputs;
    for (const std::string& output : node.output()) outputs.emplace_back(output, types_.at(output));
    const Outcome truth = run(Source::kInitializer, outputs);
    compare(Source::kDims, outputs, truth);
    compare(Source::kValues, outputs, truth);
    const Outcome followed = run(Source::kDims, outputs);
    if (truth.refused() || followed.refused()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      pool_.push_back({outputs[i].first, truth.tensors[i], followed.has_fixed_dims[i]});
    }
    ++tally_->computed[node.op_type()];
    return true;
  }

  // ---- Drawing nodes

  // That a Cast makes: a name until opset 6, a number since.
  void set_type(onnx::NodeProto* node, DType to) const {
    if (opset_ >= 6) return set_int(node, "to", onnx_type_of(to));
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(onnx_type_of(to))));
  }

  static void set_int(onnx::NodeProto* node, const std::string& name, int64_t value) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void set_ints(onnx::NodeProto* node, const std::string& name, const Ints& values) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
  }

  const Value* find(const std::string& name) const {
    const auto found = std::find_if(pool_.begin(), pool_.end(), [&](const Value& value) { return value.name == name; });
    return found == pool_.end() ? nullptr : &*found;
  }

  const ir::Tensor& tensor(const std::string& name) const {
    const Value* value = find(name);
    return value == nullptr ? constants_.at(name) : value->tensor;
  }

  std::string constant(ir::Tensor tensor) {
    const std::string name = fmt::format("c{}", constants_.size());
    constants_.emplace(name, std::move(tensor));
    return name;
  }

  Ints small_dims(int64_t most_rank = 3) {
    Ints dims(static_cast<size_t>(between(0, most_rank)));
    for (int64_t& dim : dims) dim = one_of<int64_t>({1, 1, 2, 3, 4, 0});
    return dims;
  }

  // Small numbers, seldom others.
  std::string random_constant(DType dtype, const Ints& dims) {
    Ints values(static_cast<size_t>(count_of(dims)));
    const bool large = chance(12);
    for (int64_t& value : values)
      value = large ? one_of<int64_t>({INT64_MAX, INT64_MIN, INT32_MAX, 300, 255, -129}) : between(-3, 6);
    if (dtype == DType::kBool) {
      for (int64_t& value : values) value &= 1;
    }
    if (!is_float(dtype)) return constant(tensor_of_ints(dtype, dims, values));
    if (dtype != DType::kF32) dtype = DType::kF64;
    std::vector<float> floats(values.begin(), values.end());
    std::vector<double> doubles(values.begin(), values.end());
    return constant(dtype == DType::kF32 ? tensor_of(dtype, dims, floats) : tensor_of(dtype, dims, doubles));
  }

  std::string data() {
    return chance(15) ? random_constant(one_of<DType>({DType::kI64, DType::kI32}), small_dims())
                      : pool_[index(pool_.size())].name;
  }

  // A value of that type, of the graph where there is one.
  std::string data_of(DType dtype, const Ints& like) {
    std::vector<std::string> fitting;
    for (const Value& value : pool_) {
      if (value.tensor.dtype == dtype) fitting.push_back(value.name);
    }
    if (!fitting.empty() && chance(2)) return one_of(fitting);
    Ints dims = chance(2) ? like : small_dims(2);
    for (int64_t& dim : dims) {
      if (chance(4) || dim > 8) dim = 1;
    }
    return random_constant(dtype, dims);
  }

  // An operand that decides a shape: nearly always a constant, as such operands must be.
  std::string decider(const Ints& values, DType dtype = DType::kI64) {
    if (chance(20)) return data_of(dtype, {static_cast<int64_t>(values.size())});
    return constant(tensor_of_ints(dtype, {static_cast<int64_t>(values.size())}, values));
  }

  // An axis of that many, counted from either end; seldom one that there is not.
  int64_t axis(size_t rank) {
    const auto most = static_cast<int64_t>(rank);
    return most == 0 || chance(15) ? between(-most - 1, most) : between(-most, most - 1);
  }

  bool takes(const std::string& attribute) const { return schema_->attributes().contains(attribute); }
  bool takes_input(size_t input) const { return schema_->inputs().size() > input; }

  // Axes, as this opset takes them.
  void give_axes(onnx::NodeProto* node, const Ints& axes) {
    if (takes("axes")) {
      set_ints(node, "axes", axes);
    } else {
      node->add_input(decider(axes));
    }
  }

  std::string make(onnx::NodeProto* node, DType dtype) {
    const std::string name = fmt::format("v{}", types_.size());
    types_.emplace(name, dtype);
    node->add_output(name);
    return name;
  }

  // Gives a node its operands, attributes and outputs; whether the opset has it and it makes no large tensor.
  using Draw = bool (RandomGraph::*)(onnx::NodeProto*);

  static const std::vector<std::pair<std::string, Draw>>& operators() {
    static const std::vector<std::pair<std::string, Draw>> rows = {
        {"Add", &RandomGraph::binary},
        {"Sub", &RandomGraph::binary},
        {"Mul", &RandomGraph::binary},
        {"Div", &RandomGraph::binary},
        {"Mod", &RandomGraph::binary},
        {"Min", &RandomGraph::variadic},
        {"Max", &RandomGraph::variadic},
        {"Neg", &RandomGraph::unary},
        {"Abs", &RandomGraph::unary},
        {"Identity", &RandomGraph::unary},
        {"Not", &RandomGraph::logic},
        {"Equal", &RandomGraph::comparison},
        {"Less", &RandomGraph::comparison},
        {"Greater", &RandomGraph::comparison},
        {"LessOrEqual", &RandomGraph::comparison},
        {"GreaterOrEqual", &RandomGraph::comparison},
        {"And", &RandomGraph::logic},
        {"Or", &RandomGraph::logic},
        {"Where", &RandomGraph::where},
        {"Cast", &RandomGraph::cast},
        {"Cast", &RandomGraph::cast},
        {"Gather", &RandomGraph::gather},
        {"Gather", &RandomGraph::gather},
        {"Slice", &RandomGraph::slice},
        {"Slice", &RandomGraph::slice},
        {"Concat", &RandomGraph::concat},
        {"Squeeze", &RandomGraph::squeeze},
        {"Unsqueeze", &RandomGraph::unsqueeze},
        {"Reshape", &RandomGraph::reshape},
        {"ConstantOfShape", &RandomGraph::constant_of_shape},
        {"Expand", &RandomGraph::expand},
        {"Range", &RandomGraph::range},
        {"ReduceProd", &RandomGraph::reduce},
        {"ReduceSum", &RandomGraph::reduce},
        {"ReduceMax", &RandomGraph::reduce},
        {"ReduceMin", &RandomGraph::reduce},
        {"Split", &RandomGraph::split},
        {"Split", &RandomGraph::split},
        {"Shape", &RandomGraph::shape},
        {"Size", &RandomGraph::shape},
    };
    return rows;
  }

  std::optional<onnx::NodeProto> draw_node() {
    const auto& [op, draw] = operators()[index(operators().size())];
    schema_ = onnx::OpSchemaRegistry::Schema(op, opset_, "");
    if (schema_ == nullptr) return std::nullopt;
    onnx::NodeProto node;
    node.set_op_type(op);
    if (!(this->*draw)(&node)) return std::nullopt;
    return node;
  }

  bool unary(onnx::NodeProto* node) {
    const std::string x = data();
    node->add_input(x);
    make(node, tensor(x).dtype);
    return true;
  }

  bool logic(onnx::NodeProto* node) {
    const std::string x = data_of(DType::kBool, {4});
    node->add_input(x);
    if (node->op_type() != "Not") node->add_input(data_of(DType::kBool, tensor(x).dims));
    make(node, DType::kBool);
    return true;
  }

  void draw_pair(onnx::NodeProto* node, DType* dtype) {
    const std::string a = data(), b = data_of(tensor(a).dtype, tensor(a).dims);
    const bool swapped = chance(3);
    node->add_input(swapped ? b : a);
    node->add_input(swapped ? a : b);
    *dtype = tensor(a).dtype;
    if (takes("broadcast") && chance(2)) {
      set_int(node, "broadcast", between(0, 1));
      if (chance(2)) set_int(node, "axis", axis(tensor(node->input(0)).dims.size()));
    } else if (takes("broadcast") && chance(2)) {
      put_at_axis(node);
    }
    if (takes("fmod") && chance(2)) set_int(node, "fmod", between(0, 1));
  }

  // As before opset 7: the second operand, of fewer axes than the first, at one that may not be its last.
  void put_at_axis(onnx::NodeProto* node) {
    const std::string b = node->input(1);
    Ints dims = tensor(b).dims;
    for (int64_t& dim : dims) {
      if (dim > 8) dim = 1;
    }
    const int64_t before = between(0, 1);
    if (before != 0) dims.insert(dims.begin(), between(1, 2));
    if (chance(2)) dims.push_back(between(1, 4));
    node->set_input(0, random_constant(tensor(b).dtype, dims));
    set_int(node, "broadcast", 1);
    set_int(node, "axis", before);
  }

  bool binary(onnx::NodeProto* node) {
    DType dtype{};
    draw_pair(node, &dtype);
    make(node, dtype);
    return true;
  }

  bool comparison(onnx::NodeProto* node) {
    DType dtype{};
    draw_pair(node, &dtype);
    make(node, DType::kBool);
    return true;
  }

  bool variadic(onnx::NodeProto* node) {
    const std::string first = data();
    node->add_input(first);
    for (int64_t more = between(0, 2); more > 0; --more) {
      node->add_input(data_of(tensor(first).dtype, tensor(first).dims));
    }
    make(node, tensor(first).dtype);
    return true;
  }

  bool where(onnx::NodeProto* node) {
    const std::string a = data();
    node->add_input(data_of(DType::kBool, tensor(a).dims));
    const std::string b = data_of(tensor(a).dtype, tensor(a).dims);
    const bool swapped = chance(2);
    node->add_input(swapped ? b : a);
    node->add_input(swapped ? a : b);
    make(node, tensor(a).dtype);
    return true;
  }

  bool cast(onnx::NodeProto* node) {
    const std::string x = data();
    const auto to =
        one_of<DType>({DType::kI64, DType::kI64, DType::kI32, DType::kI32, DType::kI16, DType::kI8, DType::kU8,
                       DType::kU16, DType::kU32, DType::kU64, DType::kBool, DType::kBool, DType::kF32, DType::kF64});
    node->add_input(x);
    set_type(node, to);
    make(node, to);
    return true;
  }

  bool gather(onnx::NodeProto* node) {
    const std::string x = data();
    const Ints dims = tensor(x).dims;
    const int64_t at = axis(dims.size());
    const int64_t length = dims.empty() ? 1 : dims[static_cast<size_t>(std::max<int64_t>(at, 0)) % dims.size()];
    const Ints shape = small_dims(2);
    Ints indices(static_cast<size_t>(count_of(shape)));
    for (int64_t& value : indices) value = length == 0 || chance(40) ? between(-5, 5) : between(-length, length - 1);
    node->add_input(x);
    const DType type = chance(3) ? DType::kI32 : DType::kI64;
    node->add_input(chance(20) ? data_of(type, shape) : constant(tensor_of_ints(type, shape, indices)));
    if (at != 0 || chance(2)) set_int(node, "axis", at);
    make(node, tensor(x).dtype);
    return true;
  }

  bool slice(onnx::NodeProto* node) {
    const std::string x = data();
    const auto rank = static_cast<int64_t>(tensor(x).dims.size());
    const auto cuts = static_cast<size_t>(chance(4) ? between(0, rank) : std::min<int64_t>(rank, 1));
    Ints starts(cuts), ends(cuts), axes(cuts), steps(cuts);
    const auto place = [&] {
      return chance(6) ? one_of<int64_t>({INT64_MAX, INT64_MIN, INT32_MAX, -100}) : between(-6, 6);
    };
    const bool ordered = chance(2);
    for (size_t i = 0; i < cuts; ++i) {
      starts[i] = place();
      ends[i] = place();
      axes[i] = ordered ? static_cast<int64_t>(i) - (chance(3) ? rank : 0) : axis(static_cast<size_t>(rank));
      steps[i] = chance(20) ? one_of<int64_t>({0, INT64_MAX, INT64_MIN}) : one_of<int64_t>({1, 1, -1, -1, 2, -2, 3});
    }
    node->add_input(x);
    if (takes("starts")) {
      set_ints(node, "starts", starts);
      set_ints(node, "ends", ends);
      if (chance(2)) set_ints(node, "axes", axes);
    } else {
      const DType type = chance(4) ? DType::kI32 : DType::kI64;
      if (type == DType::kI32) {
        for (Ints* list : {&starts, &ends, &steps}) {
          for (int64_t& value : *list) value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
        }
      }
      node->add_input(decider(starts, type));
      node->add_input(decider(ends, type));
      const bool has_axes = chance(2), has_steps = chance(2);
      if (has_axes || has_steps) node->add_input(has_axes ? decider(axes, type) : "");
      if (has_steps) node->add_input(decider(steps, type));
    }
    make(node, tensor(x).dtype);
    return true;
  }

  bool concat(onnx::NodeProto* node) {
    const std::string x = data();
    const DType dtype = tensor(x).dtype;
    const Ints dims = tensor(x).dims;
    node->add_input(x);
    for (int64_t more = between(0, 2); more > 0; --more) {
      Ints like = dims;
      for (int64_t& dim : like) {
        if (dim > 8) return false;
      }
      if (!like.empty()) like[0] = between(0, 3);
      node->add_input(chance(2) ? random_constant(dtype, like) : data_of(dtype, like));
    }
    if (schema_->SinceVersion() >= 4 || chance(2)) set_int(node, "axis", chance(2) ? 0 : axis(dims.size()));
    make(node, dtype);
    return true;
  }

  bool squeeze(onnx::NodeProto* node) {
    const std::string x = data();
    const Ints dims = tensor(x).dims;
    node->add_input(x);
    // Without axes, those of length 1 at import are taken away: which they are must not hang on the input's dims.
    const Value* value = find(x);
    if (!chance(3) || (value != nullptr && !value->has_fixed_dims)) {
      Ints axes;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] != 1 ? chance(20) : chance(2))
          axes.push_back(static_cast<int64_t>(i) - (chance(2) ? static_cast<int64_t>(dims.size()) : 0));
      }
      if (!axes.empty() && chance(20)) axes.push_back(axes[0]);
      if (chance(30)) axes.push_back(axis(dims.size()));
      give_axes(node, axes);
    } else if (takes_input(1) && chance(2)) {
      node->add_input("");
    }
    make(node, tensor(x).dtype);
    return true;
  }

  bool unsqueeze(onnx::NodeProto* node) {
    const std::string x = data();
    const auto added = between(chance(5) ? 0 : 1, 2);
    const auto rank = static_cast<int64_t>(tensor(x).dims.size()) + added;
    if (rank > 4) return false;
    Ints axes;
    while (static_cast<int64_t>(axes.size()) < added) {
      const int64_t drawn = axis(static_cast<size_t>(rank));
      const bool twice = std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return (a - drawn) % rank == 0; });
      if (!twice || chance(10)) axes.push_back(drawn);
    }
    node->add_input(x);
    give_axes(node, axes);
    make(node, tensor(x).dtype);
    return true;
  }

  bool reshape(onnx::NodeProto* node) {
    const std::string x = data();
    const int64_t count = count_of(tensor(x).dims);
    const Ints shape = one_of<Ints>({{-1},
                                     {-1},
                                     {count},
                                     {count},
                                     {},
                                     {0},
                                     {0, -1},
                                     {1, -1},
                                     {-1, 1},
                                     {count, 1},
                                     {2, -1},
                                     {0, 0},
                                     {0, 1},
                                     {-1, 0},
                                     {2}});
    node->add_input(x);
    if (takes("shape")) {
      set_ints(node, "shape", shape);
    } else {
      node->add_input(shape.size() == 1 && chance(20) ? constant(tensor_of_ints(DType::kI64, {}, shape))
                                                      : decider(shape));
    }
    if (takes("allowzero") && chance(2)) set_int(node, "allowzero", between(0, 1));
    make(node, tensor(x).dtype);
    return true;
  }

  // Whether a graph may make a tensor of these dims. Those that are wrong are refused before it is made.
  static bool is_small(const ir::Tensor& dims) {
    if (is_float(dims.dtype)) return true;
    __int128 count = 1;
    for (const int64_t dim : integers_of(dims)) {
      if (dim < 0) return true;
      count *= dim;
      if (count > kMostElements) return false;
    }
    return true;
  }

  bool constant_of_shape(onnx::NodeProto* node) {
    const std::string shape = chance(2) ? constant(tensor_of_ints(DType::kI64, {2}, {between(0, 3), 1})) : data();
    if (!is_small(tensor(shape))) return false;
    node->add_input(shape);
    DType dtype = DType::kF32;
    if (!chance(5)) {
      dtype = one_of<DType>({DType::kI64, DType::kI64, DType::kI32, DType::kBool, DType::kU8, DType::kF32});
      const ir::Tensor value =
          dtype == DType::kF32 ? floats({1}, {2}) : tensor_of_ints(dtype, {1}, {dtype == DType::kI64 ? -3 : 1});
      onnx::AttributeProto& attribute = *node->add_attribute();
      attribute.set_name("value");
      attribute.set_type(onnx::AttributeProto::TENSOR);
      *attribute.mutable_t() = proto_of(value);
    }
    make(node, dtype);
    return true;
  }

  bool expand(onnx::NodeProto* node) {
    const std::string x = data();
    Ints shape = chance(2) ? tensor(x).dims : small_dims();
    if (chance(2)) shape.insert(shape.begin(), between(0, 2));
    const std::string to = chance(4) ? data_of(DType::kI64, {1}) : decider(shape);
    const ir::Tensor& dims = tensor(to);
    if (!is_small(dims) || (count_of(dims.dims) > 0 && count_of(tensor(x).dims) > 64)) return false;
    node->add_input(x);
    node->add_input(to);
    make(node, tensor(x).dtype);
    return true;
  }

  // A scalar, or another tensor of one element.
  bool range(onnx::NodeProto* node) {
    std::vector<std::string> scalars;
    for (const Value& value : pool_) {
      const DType dtype = value.tensor.dtype;
      if (count_of(value.tensor.dims) == 1 && (dtype == DType::kI64 || dtype == DType::kI32))
        scalars.push_back(value.name);
    }
    const std::string given = scalars.empty() ? random_constant(DType::kI64, {}) : one_of(scalars);
    const DType dtype = tensor(given).dtype;
    const int64_t number = integer_at(tensor(given), 0);
    if (number > (int64_t{1} << 30) || number < -(int64_t{1} << 30)) return false;
    const auto scalar = [&](int64_t value) {
      return constant(tensor_of_ints(dtype, chance(4) ? Ints{1} : Ints{}, {value}));
    };
    const auto other = [&] {
      const std::string drawn = scalars.empty() ? given : one_of(scalars);
      const bool near = tensor(drawn).dtype == dtype && std::abs(integer_at(tensor(drawn), 0) / 2 - number / 2) < 50;
      return near && chance(2) ? drawn : scalar(number + between(-8, 8));
    };
    const bool first = chance(2);
    node->add_input(first ? given : other());
    node->add_input(first ? other() : given);
    node->add_input(scalar(chance(20) ? 0 : one_of<int64_t>({1, 1, 2, 3, -1, -2})));
    make(node, dtype);
    return true;
  }

  bool reduce(onnx::NodeProto* node) {
    const std::string x = data();
    const size_t rank = tensor(x).dims.size();
    node->add_input(x);
    if (!chance(3)) {
      Ints axes;
      for (size_t i = 0; i < rank; ++i) {
        if (chance(2)) axes.push_back(static_cast<int64_t>(i) - (chance(2) ? static_cast<int64_t>(rank) : 0));
      }
      if (!axes.empty() && chance(20)) axes.push_back(axes[0]);
      if (chance(30)) axes.push_back(axis(rank));
      give_axes(node, axes);
    } else if (takes_input(1) && chance(2)) {
      node->add_input("");
    }
    if (chance(2)) set_int(node, "keepdims", between(0, 1));
    if (takes("noop_with_empty_axes") && chance(2)) set_int(node, "noop_with_empty_axes", between(0, 1));
    make(node, tensor(x).dtype);
    return true;
  }

  bool split(onnx::NodeProto* node) {
    const std::string x = data();
    const Ints dims = tensor(x).dims;
    const int64_t along = chance(2) ? 0 : axis(dims.size());
    const int64_t length =
        dims.empty()
            ? 0
            : dims[static_cast<size_t>(along < 0 ? along + static_cast<int64_t>(dims.size()) : along) % dims.size()];
    const int64_t pieces = between(1, 4);
    node->add_input(x);
    if (along != 0 || chance(2)) set_int(node, "axis", along);
    if (chance(2)) {
      Ints sizes;
      int64_t left = length;
      for (int64_t i = 1; i < pieces; ++i) left -= sizes.emplace_back(between(0, left));
      sizes.push_back(chance(15) ? between(-1, 3) : left);
      if (chance(30)) sizes.pop_back();
      if (takes("split")) {
        set_ints(node, "split", sizes);
      } else {
        node->add_input(decider(sizes));
      }
    } else {
      if (takes("split") && chance(8)) set_ints(node, "split", {});
      if (takes("num_outputs")) set_int(node, "num_outputs", chance(15) ? between(1, 4) : pieces);
    }
    for (int64_t i = 0; i < pieces; ++i) make(node, tensor(x).dtype);
    return true;
  }

  bool shape(onnx::NodeProto* node) {
    node->add_input(data());
    if (takes("start") && chance(2)) set_int(node, "start", between(-4, 4));
    if (takes("end") && chance(2)) set_int(node, "end", between(-4, 4));
    make(node, DType::kI64);
    return true;
  }

  std::mt19937_64 random_;
  Tally* tally_;
  std::string fault_;  // the first one
  int opset_ = 0;
  int64_t low_ = 0, high_ = 0;
  bool same_ = false;
  Ints x_dims_;
  std::optional<int64_t> start_, end_;
  std::optional<int64_t> spread_;  // of a profile's values around those that come; none: it gives none
  const onnx::OpSchema* schema_ = nullptr;
  std::vector<onnx::NodeProto> nodes_;
  std::vector<Value> pool_;  // what nodes may read, the integers that come in first
  std::map<std::string, ir::Tensor> constants_;
  std::map<std::string, DType> types_;  // of what nodes make
};

TEST(ShapeArithmeticProperty, ResultsDoNotDependOnWhereIntegersComeFrom) {
  Tally tally;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const std::string fault = RandomGraph(seed, &tally).check();
    ASSERT_TRUE(fault.empty()) << "seed " << seed << ": " << fault;
  }
  // That it is so of graphs that do something.
  for (const std::string& op : RandomGraph::operator_names()) EXPECT_GE(tally.computed[op], kGraphs / 40) << op;
  EXPECT_LE(tally.refused_from_dims, kGraphs / 40);
}

}  // namespace
}  // namespace planwright::builder
