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

std::vector<planfmt::ExprModel> ExpressionTable::to_models(const std::vector<ir::Symbol>& pool,
                                                           std::vector<planfmt::SymbolModel>* symbols,
                                                           std::vector<int64_t>* index_of) const {
  std::vector<bool> used(pool.size());
  for (const ir::ExprInstr& instr : list_) {
    if (instr.op == ir::ExprOp::kSymbol) used[static_cast<size_t>(instr.value)] = true;
  }
  // The enums of both sides have the same numbers, those of plan.fbs; a graph input's index is its binding's.
  index_of->assign(pool.size(), -1);
  for (size_t i = 0; i < pool.size(); ++i) {
    if (!used[i]) continue;
    (*index_of)[i] = static_cast<int64_t>(symbols->size());
    symbols->push_back({static_cast<uint8_t>(pool[i].origin), static_cast<uint32_t>(pool[i].source),
                        static_cast<uint32_t>(pool[i].element), pool[i].min, pool[i].max});
  }
  std::vector<planfmt::ExprModel> models;
  for (const ir::ExprInstr& instr : list_) {
    const bool is_symbol = instr.op == ir::ExprOp::kSymbol;
    models.push_back({static_cast<planfmt::ExprOp>(instr.op),
                      is_symbol ? (*index_of)[static_cast<size_t>(instr.value)] : instr.value, instr.a, instr.b});
  }
  return models;
}

}  // namespace planwright::builder
