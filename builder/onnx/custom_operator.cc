#include "builder/onnx/custom_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <set>

#include "builder/onnx/node_check.h"

namespace planwright::builder::importer {
namespace {

// A node as its plugin's shape() sees it. Nothing may throw through the plugin's code: the first failure is kept, what
// follows it is ignored, and rethrow() throws it afterwards.
class NodeView {
 public:
  NodeView(NodeContext& context, const CustomOperator& op) : context_(context), op_(op) {
    for (int i = 0; i < context.input_count(); ++i) inputs_.push_back(tensor_of(i));
    view_.node.struct_size = sizeof view_.node;
    view_.node.name = context.layer().c_str();
    view_.node.inputs = inputs_.data();
    view_.node.input_count = context.input_count();
    view_.node.output_count = std::max(context.output_count(), op.functions.min_outputs);
    view_.node.attribute = [](pw_node* node, const char* name) { return of(node).attribute(name); };
    view_.node.constant = [](pw_node* node, int64_t value) { return of(node).make([&] { return Dim(value); }); };
    view_.node.input_dim = [](pw_node* node, int32_t input, int32_t axis) {
      return of(node).make([&] { return of(node).input_dim(input, axis); });
    };
    view_.node.combine = [](pw_node* node, int32_t operation, pw_dim a, pw_dim b) {
      return of(node).make([&] { return of(node).combine(operation, a, b); });
    };
    view_.node.require_equal = [](pw_node* node, pw_dim left, pw_dim right, const char* reason) {
      NodeView& self = of(node);
      self.guarded([&] { self.context_.guard_equal(self.dim(left), self.dim(right), words_of(reason)); });
    };
    view_.node.require_at_most = [](pw_node* node, pw_dim left, pw_dim right, const char* reason) {
      NodeView& self = of(node);
      self.guarded([&] { self.context_.guard_at_most(self.dim(left), self.dim(right), words_of(reason)); });
    };
    view_.node.set_output = [](pw_node* node, int32_t output, int32_t dtype, int32_t rank, const pw_dim* dims) {
      of(node).guarded([&] { of(node).set_output(output, dtype, rank, dims); });
    };
    view_.self = this;
    results_.resize(static_cast<size_t>(view_.node.output_count));
  }
  NodeView(const NodeView&) = delete;
  NodeView& operator=(const NodeView&) = delete;

  pw_node* node() { return &view_.node; }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  // The outputs as set; those that nobody names and the plugin can do without are not wanted.
  std::vector<Result> results() const {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i].dtype) fault(fmt::format("its shape() does not set output {}", i));
    }
    std::vector<Result> results = results_;
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].wanted = static_cast<int>(i) < op_.functions.min_outputs || context_.wants(static_cast<int>(i));
    }
    return results;
  }

  // Misspelt attributes would else be defaults.
  void refuse_unread_attributes() const {
    for (const onnx::AttributeProto& attribute : context_.node().attribute()) {
      if (read_.contains(attribute.name()) || attribute.name().starts_with("__")) continue;
      context_.invalid(fmt::format("its plugin knows no attribute '{}'", attribute.name()));
    }
  }

 private:
  struct View {
    pw_node node = {};  // first: a pointer to it is one to the view
    NodeView* self = nullptr;
  };
  struct Attribute {
    pw_attribute view;
    std::string string;
    std::vector<int64_t> ints;
    std::vector<float> floats;
  };

  static std::string words_of(const char* reason) { return reason == nullptr ? "its plugin demands it" : reason; }
  static NodeView& of(pw_node* node) { return *reinterpret_cast<View*>(node)->self; }

  [[noreturn]] void fault(const std::string& what) const {
    throw Refusal(context_.title(), fmt::format("a fault of its plugin: {}", what));
  }

  template <typename Act>
  void guarded(const Act& act) {
    if (failure_) return;
    try {
      act();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  template <typename Make>
  pw_dim make(const Make& make_dim) {
    guarded([&] { dims_.push_back(make_dim()); });
    return failure_ ? -1 : static_cast<pw_dim>(dims_.size() - 1);
  }

  Dim dim(pw_dim handle) const {
    if (handle < 0 || static_cast<size_t>(handle) >= dims_.size()) fault(fmt::format("there is no dim {}", handle));
    return dims_[static_cast<size_t>(handle)];
  }

  pw_tensor tensor_of(int input) const {
    pw_tensor tensor = {};
    tensor.given = context_.has(input);
    if (!tensor.given) return tensor;
    const ir::Value& value = context_.input(input);
    tensor.dtype = static_cast<int32_t>(value.dtype);
    tensor.rank = value.rank();
    for (size_t axis = 0; axis < value.dims.size(); ++axis) {
      tensor.dims[axis] = value.dims[axis].is_constant() ? value.dims[axis].constant() : -1;
    }
    if (value.is_constant()) tensor.data = const_cast<std::byte*>(value.constant->data());
    return tensor;
  }

  Dim input_dim(int32_t input, int32_t axis) const {
    if (input < 0 || !context_.has(input) || axis < 0 || axis >= context_.in_rank(input)) {
      fault(fmt::format("it asks for axis {} of input {}, which is not there", axis, input));
    }
    return context_.in_dims(input)[static_cast<size_t>(axis)];
  }

  Dim combine(int32_t op, pw_dim left, pw_dim right) const {
    const Dim a = dim(left), b = dim(right);
    if ((op == PW_DIM_FLOOR_DIV || op == PW_DIM_CEIL_DIV || op == PW_DIM_MOD) && ir::range_of(b).min < 1) {
      fault(fmt::format("it divides by {}, which may be less than 1", ir::to_string(b)));
    }
    switch (op) {
      case PW_DIM_ADD: return a + b;
      case PW_DIM_SUB: return a - b;
      case PW_DIM_MUL: return a * b;
      case PW_DIM_FLOOR_DIV: return floor_div(a, b);
      case PW_DIM_CEIL_DIV: return ceil_div(a, b);
      case PW_DIM_MOD: return mod(a, b);
      case PW_DIM_MIN: return min(a, b);
      case PW_DIM_MAX: return max(a, b);
    }
    fault(fmt::format("there is no dim operation {}", op));
  }

  void set_output(int32_t output, int32_t dtype, int32_t rank, const pw_dim* dims) {
    if (output < 0 || static_cast<size_t>(output) >= results_.size()) {
      fault(fmt::format("it sets output {} of {}", output, results_.size()));
    }
    if (dtype < 0 || dtype >= kDTypeCount) fault(fmt::format("there is no type {}", dtype));
    if (rank < 0 || rank > PW_MAX_RANK || (rank > 0 && dims == nullptr)) fault(fmt::format("it sets rank {}", rank));
    Shape shape;
    for (int32_t axis = 0; axis < rank; ++axis) shape.push_back(dim(dims[axis]));
    results_[static_cast<size_t>(output)] = {static_cast<DType>(dtype), std::move(shape)};
  }

  const pw_attribute* attribute(const char* name) {
    const pw_attribute* found = nullptr;
    guarded([&] {
      if (name == nullptr) fault("it asks for an attribute without a name");
      read_.insert(name);
      const onnx::AttributeProto* proto = context_.attribute(name);
      if (proto != nullptr) found = &add_attribute(*proto).view;
    });
    return found;
  }

  const Attribute& add_attribute(const onnx::AttributeProto& proto) {
    Attribute& made = attributes_.emplace_back();
    const auto view = [&](pw_attribute_type type, size_t count) {
      made.view = {type, count, made.ints.data(), made.floats.data(), made.string.c_str()};
    };
    switch (proto.type()) {
      case onnx::AttributeProto::INT: made.ints = {proto.i()}; break;
      case onnx::AttributeProto::INTS: made.ints = {proto.ints().begin(), proto.ints().end()}; break;
      case onnx::AttributeProto::FLOAT: made.floats = {proto.f()}; break;
      case onnx::AttributeProto::FLOATS: made.floats = {proto.floats().begin(), proto.floats().end()}; break;
      case onnx::AttributeProto::STRING: made.string = proto.s(); break;
      default:
        throw Refusal(
            context_.title(),
            fmt::format("its attribute '{}' is of type {}; a plugin takes integers, floats, lists of them, and "
                        "a string. Make it an input",
                        proto.name(), onnx::AttributeProto_AttributeType_Name(proto.type())));
    }
    if (proto.type() == onnx::AttributeProto::STRING) {
      view(PW_ATTRIBUTE_STRING, made.string.size());
    } else if (proto.type() == onnx::AttributeProto::FLOAT || proto.type() == onnx::AttributeProto::FLOATS) {
      view(PW_ATTRIBUTE_FLOATS, made.floats.size());
    } else {
      view(PW_ATTRIBUTE_INTS, made.ints.size());
    }
    return made;
  }

  NodeContext& context_;
  const CustomOperator& op_;
  View view_;
  std::vector<pw_tensor> inputs_;
  std::deque<Attribute> attributes_;  // which stay where they are
  std::set<std::string> read_;
  std::vector<Dim> dims_;
  std::vector<Result> results_;
  std::exception_ptr failure_;
};

void check_counts(const NodeContext& node, const pw_operator& op) {
  const auto check = [&](const char* what, int given, int least, int most) {
    node.require(given >= least && given <= most, fmt::format("it has {} {}, not {} to {}", given, what, least, most));
  };
  check("inputs", node.input_count(), op.min_inputs, op.max_inputs);
  for (int i = 0; i < op.min_inputs; ++i) node.require(node.has(i), fmt::format("its input {} is missing", i));
  check("outputs", node.output_count(), 1, op.max_outputs);
}

}  // namespace

const CustomOperator* find_custom(const onnx::NodeProto& node) {
  return find_custom_operator(plain_domain(node.domain()).c_str(), node.op_type().c_str());
}

void import_custom(NodeContext& node, const CustomOperator& op) {
  check_counts(node, op.functions);
  if (op.functions.shape == nullptr) node.unsupported("its plugin has no shape(), so it only runs engines");
  ir::CustomParams params;
  params.op = &op;
  params.parameters.assign(op.functions.parameter_bytes, std::byte{0});
  NodeView view(node, op);
  char message[PW_MESSAGE_BYTES] = {};
  const int status = op.functions.shape(view.node(), params.parameters.data(), message);
  message[PW_MESSAGE_BYTES - 1] = 0;
  view.rethrow();
  if (status != PW_OK) {
    const std::string words = message[0] == 0 ? "its plugin refuses it without a reason" : message;
    if (status == PW_INVALID) node.invalid(words);
    node.unsupported(words);
  }
  view.refuse_unread_attributes();

  Operation operation{OpKind::kCustom, std::move(params), node.ins()};
  operation.results = view.results();
  const std::vector<ValueId> outputs = node.emit(std::move(operation));
  for (int i = 0; i < node.output_count(); ++i) node.set(i, outputs[static_cast<size_t>(i)]);
}

}  // namespace planwright::builder::importer
