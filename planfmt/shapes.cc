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

Status refuse(const plan::Guard& guard, int64_t left, int64_t right) {
  const bool has_reason = guard.reason() != nullptr && guard.reason()->size() > 0;
  return error(StatusCode::kInvalid, "layer %s cannot run at these shapes: it needs %lld %s %lld%s%s",
               guard.layer()->c_str(), printable(left),
               guard.kind() == plan::GuardKind::Equal ? "to equal" : "to be at most", printable(right),
               has_reason ? ": " : "", has_reason ? guard.reason()->c_str() : "");
}

}  // namespace

uint32_t input_count(const plan::Plan& plan) {
  uint32_t count = 0;
  while (count < plan.bindings()->size() && plan.bindings()->Get(count)->kind() == plan::BindingKind::Input) ++count;
  return count;
}

Status ShapeValues::prepare(const plan::Plan& plan, const plan::Program& program) {
  plan_ = &plan;
  PW_RETURN_IF_ERROR(stages_.prepare(plan, program));
  PW_RETURN_IF_ERROR(symbols_.allocate(plan.symbols()->size()));
  PW_RETURN_IF_ERROR(is_broken_.allocate(plan.guards()->size()));
  broken_count_ = 0;
  return values_.allocate(plan.expressions()->size());
}

Status ShapeValues::set_dims(const Shape* inputs) {
  for (uint32_t i = 0; i < plan_->symbols()->size(); ++i) {
    const plan::Symbol& symbol = *plan_->symbols()->Get(i);
    if (symbol.origin() == plan::SymbolOrigin::InputDim) {
      symbols_[i] = inputs[symbol.source()].dims[symbol.element()];
    }
  }
  PW_RETURN_IF_ERROR(evaluate(kDimsStage));
  return check_inputs(inputs);
}

Status ShapeValues::evaluate(Stage stage) {
  for (const uint32_t i : stages_.expressions_at(stage)) {
    const plan::Expr& expression = *plan_->expressions()->Get(i);
    if (expression.op() == plan::ExprOp::Constant) {
      values_[i] = expression.value();
    } else if (expression.op() == plan::ExprOp::Symbol) {
      values_[i] = symbols_[static_cast<size_t>(expression.value())];
    } else if (!apply(expression.op(), values_[expression.a()], values_[expression.b()], &values_[i])) {
      return error(
          StatusCode::kInvalid,
          "the shapes are too large or divide by zero: %s of %lld and %lld, which sizes inside the model need, "
          "has no value",
          plan::EnumNameExprOp(expression.op()), printable(values_[expression.a()]),
          printable(values_[expression.b()]));
    }
  }
  return check_guards(stage);
}

Status ShapeValues::check_inputs(const Shape* inputs) const {
  const uint32_t count = input_count(*plan_);
  for (uint32_t i = 0; i < count; ++i) {
    const plan::Binding& binding = *plan_->bindings()->Get(i);
    for (uint32_t axis = 0; axis < binding.dims()->size(); ++axis) {
      const int64_t expected = values_[binding.dims()->Get(axis)];
      if (inputs[i].dims[axis] == expected) continue;
      return error(StatusCode::kInvalid,
                   "dim %u of input %s is %lld, but with the other inputs' shapes the model needs %lld there", axis,
                   binding.name()->c_str(), printable(inputs[i].dims[axis]), printable(expected));
    }
  }
  return kOkStatus;
}

Status ShapeValues::check_guards(Stage stage) {
  for (const uint32_t i : stages_.guards_at(stage)) {
    const plan::Guard& guard = *plan_->guards()->Get(i);
    const int64_t left = values_[guard.left()], right = values_[guard.right()];
    const bool holds = guard.kind() == plan::GuardKind::Equal ? left == right : left <= right;
    if (!holds && !stages_.is_early(i)) return refuse(guard, left, right);
    broken_count_ = broken_count_ + (holds ? 0 : 1) - (is_broken_[i] ? 1 : 0);
    is_broken_[i] = !holds;
  }
  return kOkStatus;
}

Status ShapeValues::check_region(uint32_t region) const {
  if (broken_count_ == 0) return kOkStatus;
  for (uint32_t i = 0; i < is_broken_.size(); ++i) {
    const plan::Guard& guard = *plan_->guards()->Get(i);
    if (!is_broken_[i] || guard.region() != region) continue;
    return refuse(guard, values_[guard.left()], values_[guard.right()]);
  }
  return kOkStatus;
}

}  // namespace planwright::planfmt
