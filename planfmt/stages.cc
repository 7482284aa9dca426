#include "planfmt/stages.h"

#include <algorithm>

namespace planwright::planfmt {
namespace {

Status find_symbol_stages(const plan::Plan& plan, const StepList& steps, Array<Stage>* stages) {
  PW_RETURN_IF_ERROR(stages->allocate(plan.symbols()->size()));
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    (*stages)[i] = plan.symbols()->Get(i)->origin() == plan::SymbolOrigin::InputValue ? kValuesStage : kDimsStage;
  }
  for (uint32_t step = 0; step < steps.size(); ++step) {
    const auto* results = steps[step].results();
    if (results == nullptr) continue;
    for (const plan::StepResult* result : *results) (*stages)[result->symbol()] = result_stage(step);
  }
  return kOkStatus;
}

}  // namespace

Status Stages::prepare(const plan::Plan& plan, const plan::Program& program) {
  plan_ = &plan;
  program_ = &program;
  Array<Stage> symbols;
  PW_RETURN_IF_ERROR(steps_.prepare(program));
  PW_RETURN_IF_ERROR(find_symbol_stages(plan, steps_, &symbols));
  PW_RETURN_IF_ERROR(expressions_.allocate(plan.expressions()->size()));
  PW_RETURN_IF_ERROR(guards_.allocate(plan.guards()->size()));
  for (uint32_t i = 0; i < expressions_.size(); ++i) {
    const plan::Expr& expression = *plan.expressions()->Get(i);
    switch (expression.op()) {
      case plan::ExprOp::Constant: expressions_[i] = kDimsStage; break;
      case plan::ExprOp::Symbol: expressions_[i] = symbols[static_cast<size_t>(expression.value())]; break;
      default: expressions_[i] = std::max(expressions_[expression.a()], expressions_[expression.b()]); break;
    }
  }
  for (uint32_t i = 0; i < guards_.size(); ++i) {
    const plan::Guard& guard = *plan.guards()->Get(i);
    guards_[i] = std::max(expressions_[guard.left()], expressions_[guard.right()]);
  }
  PW_RETURN_IF_ERROR(find_early());
  PW_RETURN_IF_ERROR(sort(expressions_, &expressions_by_stage_));
  return sort(guards_, &guards_by_stage_);
}

Status Stages::find_early() {
  // Of each region: the steps of its bodies.
  struct Span {
    uint32_t begin, end;
  };
  Array<Span> spans;
  PW_RETURN_IF_ERROR(spans.allocate(program_->regions()->size()));
  for (uint32_t step = 0; step < steps_.size(); ++step) {
    for (uint32_t body = 0; body < steps_.bodies(step); ++body) {
      spans[steps_[step].regions()->Get(body)] = {steps_.body_begin(step, body), steps_.body_end(step, body)};
    }
  }
  PW_RETURN_IF_ERROR(is_early_.allocate(guards_.size()));
  for (uint32_t i = 0; i < guards_.size(); ++i) {
    const plan::Guard& guard = *plan_->guards()->Get(i);
    if (guard.region() >= spans.size()) {
      return error(StatusCode::kCorrupt, "a guard of layer %s is of region %u, which is not there",
                   guard.layer()->c_str(), guard.region());
    }
    const Span& span = spans[guard.region()];
    const bool is_of_a_step_in_it =
        guards_[i] > kValuesStage && step_of(guards_[i]) >= span.begin && step_of(guards_[i]) < span.end;
    is_early_[i] = guard.region() != 0 && !is_of_a_step_in_it;
  }
  return kOkStatus;
}

Status Stages::sort(const Array<Stage>& stages, Array<uint32_t>* by_stage) {
  PW_RETURN_IF_ERROR(by_stage->allocate(stages.size()));
  for (uint32_t i = 0; i < stages.size(); ++i) (*by_stage)[i] = i;
  std::sort(by_stage->begin(), by_stage->end(),
            [&](uint32_t a, uint32_t b) { return stages[a] != stages[b] ? stages[a] < stages[b] : a < b; });
  return kOkStatus;
}

IndexRange Stages::at(const Array<uint32_t>& by_stage, const Array<Stage>& stages, Stage stage) {
  const auto before = [&](uint32_t index, Stage wanted) { return stages[index] < wanted; };
  const uint32_t* first = std::lower_bound(by_stage.begin(), by_stage.end(), stage, before);
  return {first, std::lower_bound(first, by_stage.end(), stage + 1, before)};
}

Stage Stages::latest(const flatbuffers::Vector<uint32_t>& list) const {
  Stage stage = kDimsStage;
  for (const uint32_t expression : list) stage = std::max(stage, expressions_[expression]);
  return stage;
}

Stage Stages::of_tensors(const flatbuffers::Vector<int32_t>& tensors) const {
  Stage stage = kDimsStage;
  for (const int32_t index : tensors) {
    if (index < 0) continue;
    const plan::Tensor& tensor = *program_->tensors()->Get(static_cast<uint32_t>(index));
    stage = std::max({stage, latest(*tensor.dims()), latest(*tensor.strides()), expressions_[tensor.offset()]});
    const plan::Storage& storage = *program_->storages()->Get(tensor.storage());
    if (storage.kind() == plan::StorageKind::Binding) {
      stage = std::max(stage, of_binding(*plan_->bindings()->Get(storage.index())));
    }
  }
  return stage;
}

Stage Stages::of_step(const plan::Step& step) const {
  const Stage operands = std::max(of_tensors(*step.inputs()), of_tensors(*step.outputs()));
  return step.scalars() == nullptr ? operands : std::max(operands, latest(*step.scalars()));
}

}  // namespace planwright::planfmt
