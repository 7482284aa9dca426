#include "builder/structure_hash.h"

#include <algorithm>

#include "planfmt/checksum.h"

namespace planwright::builder {
namespace {

using ir::ValueId;

// What is hashed of a value or a node, one after another.
class Words {
 public:
  void add(uint64_t word) { add_bytes(&word, sizeof word); }
  void add_bytes(const void* data, size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  uint64_t hash() const { return planfmt::checksum_of(bytes_.data(), bytes_.size()); }

 private:
  ir::Bytes bytes_;
};

uint64_t of_constant(const ir::Value& value) {
  Words words;
  words.add(static_cast<uint64_t>(value.dtype));
  for (const ir::Dim dim : value.dims) words.add(static_cast<uint64_t>(dim.constant()));
  words.add(planfmt::checksum_of(value.constant->data(), value.constant->size()));
  return words.hash();
}

// A body by its text, which has no elements of constants, and those.
void add_body(const ir::Graph& body, Words* words) {
  const std::string text = ir::print(body);
  words->add_bytes(text.data(), text.size());
  for (ValueId id = 0; id < body.value_count(); ++id) {
    if (body.value(id).is_constant()) words->add(of_constant(body.value(id)));
  }
}

}  // namespace

uint64_t StructureHash::of_node(const ir::Node& node) {
  Words words;
  words.add(static_cast<uint64_t>(node.kind));
  const ir::Bytes params = ir::to_bytes(node.params);
  words.add_bytes(params.data(), params.size());
  for (const ir::Dim scalar : node.scalars) {
    if (scalar.is_constant()) words.add(static_cast<uint64_t>(scalar.constant()));
  }
  words.add_bytes(node.program.data(), node.program.size() * sizeof(PwInstr));
  words.add(static_cast<uint64_t>(node.core_inputs));
  for (const ValueId input : node.inputs) words.add(input == ir::kNone ? 0 : known_.at(input));
  for (const auto& body : node.bodies) add_body(*body, &words);
  return words.hash();
}

uint64_t StructureHash::of(ValueId wanted) {
  std::vector<ValueId> open{wanted};
  while (!open.empty()) {
    const ValueId id = open.back();
    if (known_.contains(id)) {
      open.pop_back();
      continue;
    }
    const ir::Value& value = graph_.value(id);
    if (value.is_constant()) {
      known_[id] = of_constant(value);
    } else if (value.producer == ir::kNone) {
      Words words;
      words.add(
          static_cast<uint64_t>(std::find(graph_.inputs.begin(), graph_.inputs.end(), id) - graph_.inputs.begin()));
      known_[id] = words.hash();
    } else {
      const ir::Node& node = graph_.node(value.producer);
      const size_t before = open.size();
      for (const ValueId input : node.inputs) {
        if (input != ir::kNone && !known_.contains(input)) open.push_back(input);
      }
      if (open.size() != before) continue;
      Words words;
      words.add(of_node(node));
      words.add(static_cast<uint64_t>(std::find(node.outputs.begin(), node.outputs.end(), id) - node.outputs.begin()));
      known_[id] = words.hash();
    }
  }
  return known_.at(wanted);
}

}  // namespace planwright::builder
