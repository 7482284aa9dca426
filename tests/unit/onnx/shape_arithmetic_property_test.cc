// Random graphs of the operators that shape arithmetic knows. What becomes of integers must not depend on where they
// come from: from the dims of an input, followed as expressions; from an input's values, followed beside what kernels
// compute; or from an initializer, where every node is folded by a reference kernel as soon as it is imported and shape
// arithmetic has no say. The last is the truth.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/onnx/tensor_data.h"
#include "onnx/defs/printer.h"
#include "tests/support/onnx_text.h"
#include "tests/unit/onnx/random_integer_nodes.h"

namespace planwright::builder {
namespace {

constexpr int kGraphs = 3000;
constexpr int kMostNodes = 6;

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

struct Tally {
  std::map<std::string, int> computed;  // nodes, by operator
  int refused_from_dims = 0;            // what is computed from an initializer
};

class RandomGraph {
 public:
  RandomGraph(uint64_t seed, Tally* tally) : drawn_(seed), tally_(tally) { draw_dims(); }

  // Appends nodes, one after the other, each compared with the truth once it is there. The first fault; empty: none.
  std::string check() {
    const auto nodes = drawn_.between(1, kMostNodes);
    for (int tries = 0; tries < 4 * kMostNodes && static_cast<int64_t>(nodes_.size()) < nodes; ++tries) {
      const std::optional<onnx::NodeProto> node = drawn_.draw();
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

 private:
  // ---- What comes in

  // x is empty, so that its dims may be as large as they like.
  void draw_dims() {
    const auto [low, high] = drawn_.one_of<std::pair<int64_t, int64_t>>(
        {{1, 64}, {0, 8}, {5, 5}, {0, 1 << 20}, {0, INT32_MAX}, {250, 270}, {1, 3}});
    low_ = low;
    high_ = high;
    const auto draw = [&, l = low, h = high] {
      return drawn_.chance(3) ? l : drawn_.chance(3) ? h : drawn_.between(l, std::min(h, l + 9));
    };
    same_ = drawn_.chance(4);
    const int64_t n = draw(), h = same_ ? n : draw();
    x_dims_ = {n, 0, h, 3};
    start_ = drawn_.opset() >= 15 && drawn_.chance(3) ? std::optional(drawn_.between(-5, 5)) : std::nullopt;
    end_ = drawn_.opset() >= 15 && drawn_.chance(3) ? std::optional(drawn_.between(-5, 5)) : std::nullopt;
    const auto place = [](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + 4 : at, 0, 4); };
    const int64_t from = place(start_.value_or(0)), to = std::max(from, place(end_.value_or(4)));
    const Ints part(x_dims_.begin() + from, x_dims_.begin() + to);
    drawn_.add({"s", tensor_of_ints(drawn_.chance(4) ? DType::kI32 : DType::kI64, {to - from}, part)});
    spread_ = drawn_.chance(3) ? std::nullopt : std::optional(drawn_.one_of<int64_t>({0, 1, 9, 1000}));
  }

  void add_source(Source source, onnx::GraphProto* graph) {
    if (source == Source::kInitializer) {
      add_initializer(drawn_.pool()[0], graph);
      return;
    }
    onnx::ValueInfoProto& input = *graph->add_input();
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.mutable_shape();
    if (source == Source::kValues) {
      input.set_name("s");
      type.set_elem_type(onnx_type_of(drawn_.pool()[0].tensor.dtype));
      type.mutable_shape()->add_dim()->set_dim_value(drawn_.pool()[0].tensor.dims[0]);
      return;
    }
    input.set_name("x");
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("n");
    type.mutable_shape()->add_dim()->set_dim_value(0);
    type.mutable_shape()->add_dim()->set_dim_param(same_ ? "n" : "h");
    type.mutable_shape()->add_dim()->set_dim_value(3);
    const bool is_cast = drawn_.pool()[0].tensor.dtype != DType::kI64;
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
    drawn_.set_type(&cast, drawn_.pool()[0].tensor.dtype);
  }

  static void add_initializer(const RandomIntegerNodes::Value& value, onnx::GraphProto* graph) {
    onnx::TensorProto& tensor = *graph->add_initializer();
    tensor = proto_of(value.tensor);
    tensor.set_name(value.name);
  }

  Profile profile_of(const OnnxModel& model, Source source) {
    Profile profile = builder::profile_of(model, low_, high_);
    if (source == Source::kValues && spread_) {
      for (const int64_t value : integers_of(drawn_.pool()[0].tensor)) {
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
      for (const std::string& output : node.output()) outputs.emplace_back(output, drawn_.type_of(output));
    }
    return outputs;
  }

  onnx::ModelProto model_proto(Source source, const Outputs& outputs) {
    onnx::ModelProto model;
    model.set_ir_version(10);
    model.add_opset_import()->set_version(drawn_.opset());
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("g");
    add_source(source, &graph);
    std::set<std::string> added;
    for (const onnx::NodeProto& node : nodes_) {
      for (const std::string& input : node.input()) {
        const auto used = drawn_.constants().find(input);
        if (used != drawn_.constants().end() && added.insert(input).second)
          add_initializer({input, used->second}, &graph);
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
      if (source == Source::kValues) inputs.push_back(drawn_.pool()[0].tensor);
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
    fault_ += fmt::format("\n{} {}, dims in [{}, {}]\n{}", name_of(source), text_of(drawn_.pool()[0].tensor), low_,
                          high_, onnx::ProtoToString(model_proto(source, outputs)));
  }

  // Compares a node that was just added; whether others can use what it makes.
  bool is_kept(const onnx::NodeProto& node) {
    Outputs outputs;
    for (const std::string& output : node.output()) outputs.emplace_back(output, drawn_.type_of(output));
    const Outcome truth = run(Source::kInitializer, outputs);
    compare(Source::kDims, outputs, truth);
    compare(Source::kValues, outputs, truth);
    const Outcome followed = run(Source::kDims, outputs);
    if (truth.refused() || followed.refused()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      drawn_.add({outputs[i].first, truth.tensors[i], followed.has_fixed_dims[i]});
    }
    ++tally_->computed[node.op_type()];
    return true;
  }

  RandomIntegerNodes drawn_;
  Tally* tally_;
  std::string fault_;  // the first one
  int64_t low_ = 0, high_ = 0;
  bool same_ = false;
  Ints x_dims_;
  std::optional<int64_t> start_, end_;
  std::optional<int64_t> spread_;  // of a profile's values around those that come; none: it gives none
  std::vector<onnx::NodeProto> nodes_;
};

TEST(ShapeArithmeticProperty, ResultsDoNotDependOnWhereIntegersComeFrom) {
  Tally tally;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const std::string fault = RandomGraph(seed, &tally).check();
    ASSERT_TRUE(fault.empty()) << "seed " << seed << ": " << fault;
  }
  // That it is so of graphs that do something.
  for (const std::string& op : RandomIntegerNodes::operator_names()) EXPECT_GE(tally.computed[op], kGraphs / 40) << op;
  EXPECT_LE(tally.refused_from_dims, kGraphs / 40);
}

}  // namespace
}  // namespace planwright::builder
