#include <xxhash.h>

#include <algorithm>

#include "planfmt/limits.h"
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

// Whether values of the type are numbers that a range can hold; of others it holds the bytes, and is one point.
bool has_range(const plan::Binding& binding) {
  const auto dtype = static_cast<DType>(binding.dtype());
  return dtype == DType::kI64 || dtype == DType::kI32;
}

// How many values an input has, where these may be shapes: its dims are constants. Otherwise 0.
uint32_t value_count(const plan::Plan& plan, const plan::Binding& binding) {
  uint64_t count = 1;
  for (const uint32_t dim : *binding.dims()) {
    const plan::Expr& expression = *plan.expressions()->Get(dim);
    if (expression.op() != plan::ExprOp::Constant || expression.value() < 0 || expression.value() > kMaxInputValues) {
      return 0;
    }
    count *= static_cast<uint64_t>(expression.value());
    if (count > kMaxInputValues) return 0;
  }
  return static_cast<uint32_t>(count);
}

Status verify_symbols(const plan::Plan& plan) {
  const uint32_t inputs = input_count(plan);
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    const plan::Symbol& symbol = *plan.symbols()->Get(i);
    if (symbol.origin() > plan::SymbolOrigin::MAX) {
      return error(StatusCode::kCorrupt, "symbol %u has the unknown origin %u", i,
                   static_cast<unsigned>(symbol.origin()));
    }
    if (symbol.min() > symbol.max()) return error(StatusCode::kCorrupt, "symbol %u has an empty range", i);
    if (symbol.origin() == plan::SymbolOrigin::StepResult) continue;  // verify_program() finds its step
    if (symbol.source() >= inputs) return error(StatusCode::kCorrupt, "symbol %u is of no input", i);
    const plan::Binding& binding = *plan.bindings()->Get(symbol.source());
    const bool is_dim = symbol.origin() == plan::SymbolOrigin::InputDim;
    if (!is_dim && !has_range(binding)) {
      return error(StatusCode::kCorrupt, "symbol %u is a value of input %s, which is no integer", i,
                   binding.name()->c_str());
    }
    if (symbol.element() >= (is_dim ? binding.dims()->size() : value_count(plan, binding))) {
      return error(StatusCode::kCorrupt, "symbol %u is no dim or value of input %s", i, binding.name()->c_str());
    }
    if (is_dim && symbol.min() < 0) return error(StatusCode::kCorrupt, "symbol %u has a negative range", i);
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

Status verify_value_range(const plan::Plan& plan, const plan::Binding& binding, const plan::ShapeRange& range) {
  if (!has_values(range.value_min()) && !has_values(range.value_opt()) && !has_values(range.value_max())) {
    return kOkStatus;
  }
  const uint32_t count = value_count(plan, binding);
  for (const auto* values : {range.value_min(), range.value_opt(), range.value_max()}) {
    if (values == nullptr || values->size() != count || !is_aligned(*values, 8)) {
      return error(StatusCode::kCorrupt, "a profile's values for input %s are not one for each of its elements",
                   binding.name()->c_str());
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t opt = range.value_opt()->Get(i);
    const int64_t min = range.value_min()->Get(i), max = range.value_max()->Get(i);
    if (min > opt || opt > max || (!has_range(binding) && min != max)) {
      return error(StatusCode::kCorrupt, "a profile's range for value %u of input %s is not ordered", i,
                   binding.name()->c_str());
    }
  }
  return kOkStatus;
}

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
  return verify_value_range(plan, binding, range);
}

// That every value which a shape depends on has a range, and with it a value at the profile's opt.
Status verify_value_symbols(const plan::Plan& plan, const plan::Profile& profile) {
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    const plan::Symbol& symbol = *plan.symbols()->Get(i);
    if (symbol.origin() == plan::SymbolOrigin::InputValue &&
        !has_values(profile.inputs()->Get(symbol.source())->value_min())) {
      return error(StatusCode::kCorrupt, "a profile has no range for the values of input %s",
                   plan.bindings()->Get(symbol.source())->name()->c_str());
    }
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
    PW_RETURN_IF_ERROR(verify_value_symbols(plan, *plan.profiles()->Get(i)));
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
