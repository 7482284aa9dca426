// Sequences and optionals: lists of values while a model is imported, gone when it has been. Where in a sequence
// something happens must be known by then.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "builder/onnx/elements.h"
#include "builder/onnx/graph_check.h"
#include "builder/onnx/graph_importer.h"
#include "builder/onnx/loop_parts.h"

namespace planwright::builder::importer {
namespace {

// A sequence of this many tensors is no longer one that a model's author had in mind.
constexpr int64_t kMaxLength = 4096;

constexpr std::array kOperators = {"SequenceEmpty", "SequenceConstruct", "SequenceAt",         "SequenceInsert",
                                   "SequenceErase", "SequenceLength",    "SplitToSequence",    "ConcatFromSequence",
                                   "SequenceMap",   "Optional",          "OptionalHasElement", "OptionalGetElement"};

int64_t int_attribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return fallback;
}

// The integers of a value that are known by now.
std::vector<int64_t> known_ints(const Emitter& emitter, ValueId id, const std::string& what) {
  const ir::Value& value = emitter.value(id);
  if (value.dtype != DType::kI32 && value.dtype != DType::kI64) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: its '{}' is {}, not int32 or int64", emitter.layer(), what, name_of(value.dtype)));
  }
  if (value.is_constant()) return read_ints(value);
  std::vector<int64_t> ints;
  for (const Dim& element : value.elements.value_or(Shape{})) {
    if (element.is_constant()) ints.push_back(element.constant());
  }
  if (!value.elements || ints.size() != value.elements->size() || ints.empty()) {
    throw Refusal(emitter.layer(), fmt::format("'{}' is known only when the engine runs; make it a constant", what));
  }
  return ints;
}

class Sequences {
 public:
  Sequences(const onnx::NodeProto& node, Emitter emitter) : node_(node), emitter_(std::move(emitter)) {}

  [[noreturn]] void invalid(const std::string& what) const {
    throw Error(StatusCode::kInvalid, fmt::format("{} ({}): {}", emitter_.layer(), node_.op_type(), what));
  }

  // A place in a sequence of `length`, counted from the front; `past` more may be named.
  int64_t position(ValueId id, size_t length, int64_t past = 0) const {
    const std::vector<int64_t> given = known_ints(emitter_, id, "position");
    const auto count = static_cast<int64_t>(length);
    if (given.size() != 1 || given[0] < -count || given[0] >= count + past) {
      invalid(fmt::format("position {} is not in a sequence of {}", given.empty() ? 0 : given[0], length));
    }
    return given[0] < 0 ? given[0] + count : given[0];
  }

  // What a sequence may hold: tensors of one type.
  std::vector<ValueId> checked(std::vector<ValueId> elements) const {
    for (const ValueId element : elements) {
      if (Scope::is_list(element)) invalid("a sequence of sequences");
      const DType dtype = emitter_.value(element).dtype, first = emitter_.value(elements.front()).dtype;
      if (dtype != first) invalid(fmt::format("a sequence of {} and {}", name_of(first), name_of(dtype)));
    }
    return elements;
  }

  int axis(int64_t axis, int rank) const {
    if (axis < -rank || axis >= rank) invalid(fmt::format("axis {} is not in [{}, {})", axis, -rank, rank));
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }

  std::vector<ValueId> split(const std::vector<ValueId>& inputs) {
    const ValueId x = inputs[0];
    const int along = axis(int_attribute(node_, "axis", 0), emitter_.rank(x));
    const bool has_lengths = inputs.size() > 1 && inputs[1] != ir::kNone;
    const bool keeps = has_lengths || int_attribute(node_, "keepdims", 1) != 0;
    std::vector<ValueId> parts;
    Dim start = 0;
    for (const Dim& length : lengths(x, along, has_lengths ? inputs[1] : ir::kNone)) {
      const ValueId part = emitter_.slice(x, along, start, length);
      parts.push_back(keeps ? part : emitter_.squeeze(part, 1u << along));
      start = start + length;
    }
    emitter_.guard_equal(start, emitter_.dims(x)[static_cast<size_t>(along)],
                         "the parts of a split add up to the axis");
    return parts;
  }

  ValueId concat(std::vector<ValueId> parts) {
    if (parts.empty()) invalid("it joins an empty sequence");
    const bool is_new = int_attribute(node_, "new_axis", 0) != 0;
    const int rank = emitter_.rank(parts[0]), along = axis(int_attribute(node_, "axis", 0), rank + (is_new ? 1 : 0));
    for (const ValueId part : parts) {
      if (emitter_.rank(part) != rank) {
        invalid(fmt::format("it joins tensors of {} and {} axes", rank, emitter_.rank(part)));
      }
    }
    for (ValueId& part : parts) {
      if (is_new) part = emitter_.unsqueeze(part, along);
    }
    return emitter_.concat(std::move(parts), along);
  }

  Emitter& emitter() { return emitter_; }

 private:
  Shape lengths(ValueId x, int along, ValueId given) {
    const Dim whole = emitter_.dims(x)[static_cast<size_t>(along)];
    int64_t each = 1;
    if (given != ir::kNone) {
      const std::vector<int64_t> ints = known_ints(emitter_, given, "split");
      for (const int64_t length : ints) {
        if (length < 0) invalid(fmt::format("a part of {} elements", length));
      }
      if (emitter_.rank(given) > 0) return {ints.begin(), ints.end()};
      each = ints[0];
    }
    if (each < 1) invalid(fmt::format("parts of {} elements", each));
    if (!whole.is_constant()) {
      throw Refusal(emitter_.layer(),
                    fmt::format("into how many parts it splits {} is known only when shapes are set; give "
                                "the lengths, or make the axis static",
                                ir::to_string(whole)));
    }
    const int64_t count = whole.constant() / each + (whole.constant() % each == 0 ? 0 : 1);
    if (count > kMaxLength) throw Refusal(emitter_.layer(), fmt::format("a sequence of {} tensors", count));
    Shape parts(static_cast<size_t>(count), Dim(each));
    if (count > 0) parts.back() = whole.constant() - (count - 1) * each;
    return parts;
  }

  const onnx::NodeProto& node_;
  Emitter emitter_;
};

}  // namespace

bool is_sequence_operator(const std::string& domain, const std::string& op) {
  return domain.empty() && std::find(kOperators.begin(), kOperators.end(), op) != kOperators.end();
}

ValueId GraphImporter::add_list(std::vector<ValueId> elements, bool is_absent) {
  lists_.push_back({std::move(elements), is_absent});
  return Scope::kFirstList - static_cast<ValueId>(lists_.size() - 1);
}

// Copied: what is imported meanwhile may add lists.
GraphImporter::List GraphImporter::list_of(const onnx::NodeProto& node, ValueId id, const std::string& layer) const {
  if (!Scope::is_list(id) || lists_[static_cast<size_t>(Scope::kFirstList - id)].is_absent) {
    throw Error(StatusCode::kInvalid, fmt::format("{} ({}): an input is no sequence", layer, node.op_type()));
  }
  return lists_[static_cast<size_t>(Scope::kFirstList - id)];
}

void GraphImporter::import_sequence(const onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& inputs,
                                    const std::string& layer) {
  const std::string& op = node.op_type();
  const ValueId first_made = scope.graph->value_count();
  Sequences sequences(node, Emitter(*scope.graph, layer, scope.onnx.empty() ? layer : scope.onnx, layer + ":part"));
  const auto give = [&](ValueId id) {
    scope.values[node.output(0)] = id;
    name_value(id, first_made, scope, node.output(0));
  };
  const auto list = [&](size_t input) {
    return list_of(node, input < inputs.size() ? inputs[input] : ir::kNone, layer).elements;
  };
  const auto tensor = [&](size_t input) {
    if (input < inputs.size() && inputs[input] >= 0) return inputs[input];
    sequences.invalid(fmt::format("input {} is no tensor", input));
  };
  const bool is_there =
      !inputs.empty() && inputs[0] != ir::kNone &&
      !(Scope::is_list(inputs[0]) && lists_[static_cast<size_t>(Scope::kFirstList - inputs[0])].is_absent);

  if (op == "SequenceEmpty") return give(add_list({}));
  if (op == "SequenceMap") return map_sequence(node, scope, inputs, layer);
  if (op == "Optional") return give(is_there ? inputs[0] : add_list({}, true));
  if (op == "OptionalHasElement") return give(sequences.emitter().scalar(DType::kBool, is_there ? 1 : 0));
  if (op == "OptionalGetElement") {
    if (!is_there) sequences.invalid("the optional is empty");
    return give(inputs[0]);
  }
  if (op == "SequenceConstruct") {
    for (size_t i = 0; i < inputs.size(); ++i) tensor(i);
    return give(add_list(sequences.checked(inputs)));
  }
  if (op == "SplitToSequence") {
    tensor(0);
    return give(add_list(sequences.split(inputs)));
  }
  std::vector<ValueId> elements = list(0);
  if (op == "SequenceLength") {
    return give(sequences.emitter().shape_values(DType::kI64, {}, {static_cast<int64_t>(elements.size())}));
  }
  if (op == "ConcatFromSequence") return give(sequences.concat(std::move(elements)));
  if (op == "SequenceAt") return give(elements[static_cast<size_t>(sequences.position(tensor(1), elements.size()))]);
  if (op == "SequenceErase") {
    const size_t at =
        inputs.size() > 1 ? static_cast<size_t>(sequences.position(tensor(1), elements.size())) : elements.size() - 1;
    if (elements.empty()) sequences.invalid("the sequence is empty");
    elements.erase(elements.begin() + static_cast<ptrdiff_t>(at));
    return give(add_list(std::move(elements)));
  }
  // SequenceInsert
  const int64_t at =
      inputs.size() > 2 ? sequences.position(tensor(2), elements.size(), 1) : static_cast<int64_t>(elements.size());
  elements.insert(elements.begin() + at, tensor(1));
  give(add_list(sequences.checked(std::move(elements))));
}

void GraphImporter::map_sequence(const onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& inputs,
                                 const std::string& layer) {
  const Sequences sequences(node, Emitter(*scope.graph, layer, layer, layer + ":part"));
  const onnx::GraphProto& body = graph_attribute(node, "body");
  const size_t length = list_of(node, inputs.empty() ? ir::kNone : inputs[0], layer).elements.size();
  if (body.input_size() != static_cast<int>(inputs.size()) || body.output_size() < node.output_size()) {
    throw Error(StatusCode::kInvalid, fmt::format("{} (SequenceMap): its body has {} inputs and {} outputs", layer,
                                                  body.input_size(), body.output_size()));
  }
  std::vector<std::string> names;
  for (int i = 0; i < node.output_size(); ++i) names.push_back(body.output(i).name());
  std::vector<std::vector<ValueId>> results(names.size());
  for (size_t at = 0; at < length; ++at) {
    count_import(layer);  // a body of no nodes costs its part too
    Scope inner = inner_scope(body, node, scope, fmt::format("{}/{}", layer, at), scope.graph);
    for (size_t i = 0; i < inputs.size(); ++i) {
      ValueId value = inputs[i];
      if (Scope::is_list(value)) {
        const std::vector<ValueId> elements = list_of(node, value, layer).elements;
        if (elements.size() != length) {
          throw Error(StatusCode::kInvalid, fmt::format("{} (SequenceMap): its sequences have {} and {} tensors", layer,
                                                        length, elements.size()));
        }
        value = elements[at];
      }
      inner.values[body.input(static_cast<int>(i)).name()] = value;
    }
    std::vector<ValueId> made;
    if (!import_body(body, inner, names, &made)) return;
    for (size_t i = 0; i < made.size(); ++i) results[i].push_back(made[i]);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    scope.values[node.output(i)] = add_list(sequences.checked(std::move(results[static_cast<size_t>(i)])));
  }
}

}  // namespace planwright::builder::importer
