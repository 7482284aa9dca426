#include "builder/expressions.h"

namespace planwright::builder {

uint32_t ExpressionTable::add(ir::Dim dim) {
  if (dim.is_constant()) {
    const auto [entry, is_new] = known_constants_.try_emplace(dim.constant());
    if (is_new) entry->second = flatten(dim, list_);
    return entry->second;
  }
  const auto [entry, is_new] = known_.try_emplace(dim.node());
  if (is_new) entry->second = flatten(dim, list_);
  return entry->second;
}

std::vector<uint32_t> ExpressionTable::add(const ir::Shape& shape) {
  std::vector<uint32_t> indices;
  for (const ir::Dim dim : shape) indices.push_back(add(dim));
  return indices;
}

std::vector<planfmt::ExprModel> ExpressionTable::to_models() const {
  std::vector<planfmt::ExprModel> models;
  for (const ir::ExprInstr& instr : list_) {
    // The two enums have the same numbers: those of plan.fbs.
    models.push_back({static_cast<planfmt::ExprOp>(instr.op), instr.value, instr.a, instr.b});
  }
  return models;
}

}  // namespace planwright::builder
