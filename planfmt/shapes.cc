#include "planfmt/shapes.h"

#include "schemas/types/checked.h"

namespace planwright::planfmt {
namespace {

long long printable(int64_t value) { return value; }

// Rounds towards minus infinity. b > 0.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// False where the result does not fit or a divisor is not positive.
bool apply(plan::ExprOp op, int64_t a, int64_t b, int64_t* result) {
  switch (op) {
    case plan::ExprOp::Add: return checked_add(a, b, result);
    case plan::ExprOp::Sub: return checked_sub(a, b, result);
    case plan::ExprOp::Mul: return checked_mul(a, b, result);
    case plan::ExprOp::FloorDiv:
      if (b <= 0) return false;
      *result = floor_div(a, b);
      return true;
    case plan::ExprOp::CeilDiv:
      if (b <= 0) return false;
      *result = a / b + (a % b > 0);
      return true;
    case plan::ExprOp::Mod:
      if (b <= 0) return false;
      *result = a % b + (a % b < 0 ? b : 0);
      return true;
    case plan::ExprOp::Min: *result = a < b ? a : b; return true;
    case plan::ExprOp::Max: *result = a > b ? a : b; return true;
    case plan::ExprOp::Constant:
    case plan::ExprOp::Symbol: break;  // have no operands
  }
  return false;
}

Status evaluate_expressions(const plan::Plan& plan, const int64_t* symbols, int64_t* values) {
  const auto& expressions = *plan.expressions();
  for (uint32_t i = 0; i < expressions.size(); ++i) {
    const plan::Expr& expression = *expressions.Get(i);
    if (expression.op() == plan::ExprOp::Constant) {
      values[i] = expression.value();
    } else if (expression.op() == plan::ExprOp::Symbol) {
      values[i] = symbols[expression.value()];
    } else if (!apply(expression.op(), values[expression.a()], values[expression.b()], &values[i])) {
      return error(
          StatusCode::kInvalid,
          "the shapes are too large or divide by zero: %s of %lld and %lld, which sizes inside the model need, "
          "has no value",
          plan::EnumNameExprOp(expression.op()), printable(values[expression.a()]), printable(values[expression.b()]));
    }
  }
  return kOkStatus;
}

Status check_inputs(const plan::Plan& plan, const Shape* inputs, const int64_t* values) {
  const uint32_t count = input_count(plan);
  for (uint32_t i = 0; i < count; ++i) {
    const plan::Binding& binding = *plan.bindings()->Get(i);
    for (uint32_t axis = 0; axis < binding.dims()->size(); ++axis) {
      const int64_t expected = values[binding.dims()->Get(axis)];
      if (inputs[i].dims[axis] == expected) continue;
      return error(StatusCode::kInvalid,
                   "dim %u of input %s is %lld, but with the other inputs' shapes the model needs %lld there", axis,
                   binding.name()->c_str(), printable(inputs[i].dims[axis]), printable(expected));
    }
  }
  return kOkStatus;
}

Status check_guards(const plan::Plan& plan, const int64_t* values) {
  const auto& guards = *plan.guards();
  for (uint32_t i = 0; i < guards.size(); ++i) {
    const plan::Guard& guard = *guards.Get(i);
    const int64_t left = values[guard.left()], right = values[guard.right()];
    const bool equal = guard.kind() == plan::GuardKind::Equal;
    if (equal ? left == right : left <= right) continue;
    const bool has_reason = guard.reason() != nullptr && guard.reason()->size() > 0;
    return error(StatusCode::kInvalid, "layer %s cannot run at these shapes: it needs %lld %s %lld%s%s",
                 guard.layer()->c_str(), printable(left), equal ? "to equal" : "to be at most", printable(right),
                 has_reason ? ": " : "", has_reason ? guard.reason()->c_str() : "");
  }
  return kOkStatus;
}

}  // namespace

uint32_t input_count(const plan::Plan& plan) {
  uint32_t count = 0;
  while (count < plan.bindings()->size() && plan.bindings()->Get(count)->kind() == plan::BindingKind::Input) ++count;
  return count;
}

Status ShapeValues::prepare(const plan::Plan& plan) {
  PW_RETURN_IF_ERROR(symbols_.allocate(plan.symbols()->size()));
  return values_.allocate(plan.expressions()->size());
}

Status ShapeValues::evaluate(const plan::Plan& plan, const Shape* inputs) {
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    const plan::Symbol& symbol = *plan.symbols()->Get(i);
    symbols_[i] = inputs[symbol.source()].dims[symbol.element()];
  }
  PW_RETURN_IF_ERROR(evaluate_expressions(plan, symbols_.data(), values_.data()));
  PW_RETURN_IF_ERROR(check_inputs(plan, inputs, values_.data()));
  return check_guards(plan, values_.data());
}

}  // namespace planwright::planfmt
