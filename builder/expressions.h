// The plan's table of expressions, each stored once.
#ifndef PLANWRIGHT_BUILDER_EXPRESSIONS_H_
#define PLANWRIGHT_BUILDER_EXPRESSIONS_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "builder/ir/dim.h"
#include "planfmt/plan_model.h"

namespace planwright::builder {

class ExpressionTable {
 public:
  // The index of the expression's value.
  uint32_t add(ir::Dim dim);
  std::vector<uint32_t> add(const ir::Shape& shape);
  // The table as the plan holds it; `symbols` receives those that it uses, in the pool's order, `index_of` where each
  // of the pool's is among them, -1 for one that is not.
  std::vector<planfmt::ExprModel> to_models(const std::vector<ir::Symbol>& pool,
                                            std::vector<planfmt::SymbolModel>* symbols,
                                            std::vector<int64_t>* index_of) const;

 private:
  std::vector<ir::ExprInstr> list_;
  // Only looked up: its order never shows.
  std::unordered_map<const ir::ExprNode*, uint32_t> known_;
  std::unordered_map<int64_t, uint32_t> known_constants_;
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_EXPRESSIONS_H_
