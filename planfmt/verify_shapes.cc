#include <xxhash.h>

#include <algorithm>

#include "planfmt/shapes.h"
#include "planfmt/verify_parts.h"

namespace planwright::planfmt {
namespace {

Status verify_expressions(const plan::Plan& plan) {
  const auto& expressions = *plan.expressions();
  for (uint32_t i = 0; i < expressions.size(); ++i) {
    const plan::Expr& expression = *expressions.Get(i);
    if (expression.op() > plan::ExprOp::MAX) {
      return error(StatusCode::kCorrupt, "expression %u has the unknown operator %u", i,
                   static_cast<unsigned>(expression.op()));
    }
    if (expression.op() == plan::ExprOp::Constant) continue;
    if (expression.op() == plan::ExprOp::Symbol) {
      if (static_cast<uint64_t>(expression.value()) >= plan.symbols()->size()) {
        return error(StatusCode::kCorrupt, "expression %u reads a symbol that is not there", i);
      }
    } else if (expression.a() >= i || expression.b() >= i) {
      return error(StatusCode::kCorrupt, "expression %u uses one that does not come before it", i);
    }
  }
  return kOkStatus;
}

Status verify_bindings(const plan::Plan& plan) {
  const uint32_t inputs = input_count(plan);
  Array<uint64_t> names;
  PW_RETURN_IF_ERROR(names.allocate(plan.bindings()->size()));
  for (uint32_t i = 0; i < plan.bindings()->size(); ++i) {
    const plan::Binding& binding = *plan.bindings()->Get(i);
    if (binding.kind() > plan::BindingKind::MAX || (i >= inputs && binding.kind() != plan::BindingKind::Output)) {
      return error(StatusCode::kCorrupt, "binding %u is neither an input nor an output after all inputs", i);
    }
    if (!is_valid(static_cast<DType>(binding.dtype())) || binding.dims()->size() > kMaxRank) {
      return error(StatusCode::kCorrupt, "binding %u has the type number %u and rank %u", i, binding.dtype(),
                   binding.dims()->size());
    }
    for (const uint32_t dim : *binding.dims()) {
      if (dim >= plan.expressions()->size()) {
        return error(StatusCode::kCorrupt, "binding %u has a dim that is no expression", i);
      }
    }
    names[i] = XXH3_64bits(binding.name()->data(), binding.name()->size());
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
    return error(StatusCode::kCorrupt, "two bindings have one name");
  }
  return kOkStatus;
}

Status verify_symbols(const plan::Plan& plan) {
  const uint32_t inputs = input_count(plan);
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    const plan::Symbol& symbol = *plan.symbols()->Get(i);
    if (symbol.origin() > plan::SymbolOrigin::MAX) {
      return error(StatusCode::kCorrupt, "symbol %u has the unknown origin %u", i,
                   static_cast<unsigned>(symbol.origin()));
    }
    if (symbol.origin() != plan::SymbolOrigin::InputDim) {
      return error(
          StatusCode::kIncompatible,
          "the engine has shapes that depend on computed values; this library takes them from input dims only");
    }
    if (symbol.source() >= inputs || symbol.element() >= plan.bindings()->Get(symbol.source())->dims()->size()) {
      return error(StatusCode::kCorrupt, "symbol %u is no dim of an input", i);
    }
    if (symbol.min() < 0 || symbol.min() > symbol.max()) {
      return error(StatusCode::kCorrupt, "symbol %u has an empty or negative range", i);
    }
  }
  return kOkStatus;
}

Status verify_guards(const plan::Plan& plan) {
  for (uint32_t i = 0; i < plan.guards()->size(); ++i) {
    const plan::Guard& guard = *plan.guards()->Get(i);
    if (guard.kind() > plan::GuardKind::MAX || guard.left() >= plan.expressions()->size() ||
        guard.right() >= plan.expressions()->size()) {
      return error(StatusCode::kCorrupt, "guard %u of layer %s has an unknown kind or no expression", i,
                   guard.layer()->c_str());
    }
  }
  return kOkStatus;
}

bool has_values(const flatbuffers::Vector<int64_t>* values) { return values != nullptr && values->size() > 0; }

Status verify_range(const plan::Plan& plan, uint32_t input, const plan::ShapeRange& range) {
  const plan::Binding& binding = *plan.bindings()->Get(input);
  const uint32_t rank = binding.dims()->size();
  if (range.binding() != input || range.min()->size() != rank || range.opt()->size() != rank ||
      range.max()->size() != rank) {
    return error(StatusCode::kCorrupt, "a profile's range for input %s has another input's rank",
                 binding.name()->c_str());
  }
  if (!is_aligned(*range.min(), 8) || !is_aligned(*range.opt(), 8) || !is_aligned(*range.max(), 8)) {
    return error(StatusCode::kCorrupt, "a profile's range for input %s is not aligned", binding.name()->c_str());
  }
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const int64_t min = range.min()->Get(axis), opt = range.opt()->Get(axis), max = range.max()->Get(axis);
    if (min < 0 || min > opt || opt > max) {
      return error(StatusCode::kCorrupt, "a profile's range for dim %u of input %s is not ordered", axis,
                   binding.name()->c_str());
    }
  }
  if (has_values(range.value_min()) || has_values(range.value_opt()) || has_values(range.value_max())) {
    return error(StatusCode::kIncompatible, "input %s gives a shape by its values; this library does not do that",
                 binding.name()->c_str());
  }
  return kOkStatus;
}

Status verify_profiles(const plan::Plan& plan) {
  const uint32_t inputs = input_count(plan);
  for (uint32_t i = 0; i < plan.profiles()->size(); ++i) {
    const auto& ranges = *plan.profiles()->Get(i)->inputs();
    if (ranges.size() != inputs) {
      return error(StatusCode::kCorrupt, "profile %u has ranges for %u inputs of %u", i, ranges.size(), inputs);
    }
    for (uint32_t input = 0; input < inputs; ++input) {
      PW_RETURN_IF_ERROR(verify_range(plan, input, *ranges.Get(input)));
    }
  }
  return kOkStatus;
}

}  // namespace

Status verify_shapes(const plan::Plan& plan) {
  PW_RETURN_IF_ERROR(verify_expressions(plan));
  PW_RETURN_IF_ERROR(verify_bindings(plan));
  PW_RETURN_IF_ERROR(verify_symbols(plan));
  PW_RETURN_IF_ERROR(verify_guards(plan));
  return verify_profiles(plan);
}

}  // namespace planwright::planfmt
