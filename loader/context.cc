#include "loader/context.h"

#include "loader/clock.h"
#include "loader/options.h"
#include "planfmt/header.h"
#include "planfmt/limits.h"
#include "planfmt/verify.h"

using planwright::error;
using planwright::error_context;
using planwright::kOkStatus;
using planwright::Status;
using planwright::StatusCode;
namespace loader = planwright::loader;
namespace planfmt = planwright::planfmt;
namespace plan = planwright::plan;

pw_context::~pw_context() {
  planwright::ThreadPool::destroy(pool_);
  if (engine_ != nullptr) loader::release(engine_);
}

Status pw_context::create(pw_engine* engine, const pw_context_options& options) {
  loader::keep(engine);
  engine_ = engine;
  options_ = options;
  const uint32_t profiles = engine->plan().profiles()->size();
  if (options.profile < 0 || static_cast<uint32_t>(options.profile) > profiles) {
    return error(StatusCode::kInvalid, "profile %d: give 1 to %u, or 0 for the tightest that holds the shapes",
                 options.profile, profiles);
  }
  if (reinterpret_cast<uintptr_t>(options.arena) % planfmt::kBlobAlignment != 0) {
    return error(StatusCode::kInvalid, "the arena given does not begin at a multiple of %llu bytes",
                 static_cast<unsigned long long>(planfmt::kBlobAlignment));
  }
  PW_RETURN_IF_ERROR(make_executor());
  PW_RETURN_IF_ERROR(inputs_.prepare(*engine, options.profile - 1));
  return buffers_.allocate(engine->plan().bindings()->size());
}

Status pw_context::make_executor() {
  const int32_t threads = options_.threads == 0 ? engine_->plan().threads() : options_.threads;
  if (threads < 1 || threads > planfmt::kMaxThreads) {
    return error(StatusCode::kInvalid, "%d threads: give 1 to %d, or 0 for what the engine was tuned for", threads,
                 planfmt::kMaxThreads);
  }
  if (options_.parallel_for != nullptr) {
    caller_executor_.set(options_.parallel_for, options_.parallel_for_user, threads);
    executor_ = &caller_executor_;
  } else if (threads == 1) {
    executor_ = &inline_executor_;
  } else {
    PW_RETURN_IF_ERROR(planwright::ThreadPool::create(threads, &pool_));
    executor_ = pool_;
  }
  return kOkStatus;
}

Status pw_context::set_input_shape(const char* name, const int64_t* dims, size_t rank) {
  uint32_t input;
  PW_RETURN_IF_ERROR(engine_->find_binding(name, &input));
  if (input >= engine_->input_count) {
    return error(StatusCode::kInvalid, "%s is an output; its shape follows from the inputs'", name);
  }
  if (dims == nullptr && rank > 0) return error(StatusCode::kInvalid, "the dims of input %s are NULL", name);
  if (resolved_ && inputs_.is_same(input, dims, rank)) return kOkStatus;
  const loader::InputShapes::Input before = inputs_.get(input);
  PW_RETURN_IF_ERROR(inputs_.set(input, dims, rank));
  resolved_ = false;
  if (inputs_.first_missing() >= 0) return kOkStatus;
  const Status status = resolve();
  if (status.ok() || !inputs_.all_fresh()) return kOkStatus;  // what is amiss may be the next input's to mend
  inputs_.put(input, before);
  return status;
}

Status pw_context::resolve() {
  if (resolved_) return kOkStatus;
  const plan::Plan& plan = engine_->plan();
  if (const int64_t missing = inputs_.first_missing(); missing >= 0) {
    return error(StatusCode::kPrecondition, "input %s has no shape yet: call pw_context_set_input_shape",
                 plan.bindings()->Get(static_cast<uint32_t>(missing))->name()->c_str());
  }
  uint32_t profile;
  PW_RETURN_IF_ERROR(inputs_.pick_profile(&profile));
  if (profile_ != static_cast<int64_t>(profile)) PW_RETURN_IF_ERROR(enter_profile(profile));
  PW_RETURN_IF_ERROR(shapes_.set_dims(inputs_.shapes()));
  schedule_.use({*planfmt::program_of(engine_->plan(), profile, engine_->catalog), inputs_.are_up_to_opt(profile)});
  PW_RETURN_IF_ERROR(schedule_.place(shapes_, planfmt::kDimsStage, memory_));
  inputs_.settle();
  resolved_ = true;
  bound_ = valued_ = ran_ = false;
  return kOkStatus;
}

Status pw_context::enter_profile(uint32_t profile) {
  profile_ = -1;
  const plan::Program& program = *planfmt::program_of(engine_->plan(), profile, engine_->catalog);
  PW_RETURN_IF_ERROR(allocate_memory(program));
  PW_RETURN_IF_ERROR(shapes_.prepare(engine_->plan(), program));
  PW_RETURN_IF_ERROR(values_.prepare(*engine_, profile));
  PW_RETURN_IF_ERROR(schedule_.prepare(*engine_, program, shapes_.stages()));
  PW_RETURN_IF_ERROR(known_at_.allocate(schedule_.steps().size()));
  profile_ = profile;
  return kOkStatus;
}

Status pw_context::allocate_memory(const plan::Program& program) {
  // Both at most kMaxBytes (verified), and at most 256 workers: no sum here wraps.
  const uint64_t arena = planwright::align_up(program.arena_size(), planfmt::kBlobAlignment);
  const uint64_t scratch = planwright::align_up(program.scratch_per_worker(), planfmt::kBlobAlignment);
  memory_bytes_ = arena + scratch * static_cast<uint64_t>(executor_->workers());
  std::byte* base = static_cast<std::byte*>(options_.arena);
  if (base == nullptr) {
    const Status status = owned_.allocate(memory_bytes_);
    if (!status.ok()) return error_context(status, "the context's arena: ");
    base = owned_.data();
  } else if (memory_bytes_ > options_.arena_bytes) {
    return error(StatusCode::kResource, "the arena given has %zu bytes, this profile needs %llu", options_.arena_bytes,
                 static_cast<unsigned long long>(memory_bytes_));
  }
  memory_ = {base, base + arena, scratch, executor_};
  return kOkStatus;
}

Status pw_context::shape_of(const char* name, int64_t* dims, size_t* rank) {
  uint32_t index;
  PW_RETURN_IF_ERROR(engine_->find_binding(name, &index));
  PW_RETURN_IF_ERROR(resolve());
  const plan::Binding& binding = *engine_->plan().bindings()->Get(index);
  const auto& expressions = *binding.dims();
  if (rank == nullptr || *rank < expressions.size() || (dims == nullptr && expressions.size() > 0)) {
    return error(StatusCode::kInvalid, "%s has %u dims: give room for them and say in *rank how much", name,
                 expressions.size());
  }
  const planfmt::Stage stage = shapes_.stages().of_binding(binding);
  if (stage == planfmt::kValuesStage) {
    if (const int64_t input = values_.first_unbound(buffers_.data()); input >= 0) {
      return error(StatusCode::kPrecondition, "the shape of %s depends on the values of input %s: bind it first", name,
                   engine_->plan().bindings()->Get(static_cast<uint32_t>(input))->name()->c_str());
    }
    PW_RETURN_IF_ERROR(take_values());
  } else if (stage > planfmt::kValuesStage && !ran_) {
    return error(StatusCode::kPrecondition,
                 "the shape of %s depends on computed values: it is known after a run; until then "
                 "pw_context_output_limit says how large it may be",
                 name);
  }
  for (uint32_t axis = 0; axis < expressions.size(); ++axis) dims[axis] = shapes_.values()[expressions.Get(axis)];
  *rank = expressions.size();
  return kOkStatus;
}

Status pw_context::output_limit(const char* name, size_t* bytes) {
  uint32_t index;
  PW_RETURN_IF_ERROR(engine_->find_binding(name, &index));
  PW_RETURN_IF_ERROR(resolve());
  if (bytes == nullptr) return error(StatusCode::kInvalid, "there is no room for the limit of %s", name);
  const plan::Program& program =
      *planfmt::program_of(engine_->plan(), static_cast<uint32_t>(profile_), engine_->catalog);
  *bytes = 0;
  for (const plan::Storage* storage : *program.storages()) {
    if (storage->kind() == plan::StorageKind::Binding && storage->index() == index) *bytes = storage->size();
  }
  return kOkStatus;
}

Status pw_context::bind(const char* name, void* data, size_t bytes) {
  uint32_t index;
  PW_RETURN_IF_ERROR(engine_->find_binding(name, &index));
  const loader::Buffer buffer = {data, bytes};
  PW_RETURN_IF_ERROR(check_buffer(*engine_->plan().bindings()->Get(index), buffer));
  buffers_[index] = buffer;
  bound_ = false;
  return kOkStatus;
}

Status pw_context::enter_stage(planfmt::Stage stage) {
  PW_RETURN_IF_ERROR(shapes_.evaluate(stage));
  if (bound_) PW_RETURN_IF_ERROR(check_buffers(engine_->plan(), shapes_, stage, buffers_.data()));
  PW_RETURN_IF_ERROR(schedule_.place(shapes_, stage, memory_));
  schedule_.bind(buffers_.data());
  return kOkStatus;
}

Status pw_context::take_values() {
  if (!values_.any()) return kOkStatus;
  bool changed = false;
  PW_RETURN_IF_ERROR(values_.read(buffers_.data(), &changed));
  if (valued_ && !changed) return kOkStatus;
  valued_ = ran_ = false;
  const auto& symbols = *engine_->plan().symbols();
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const plan::Symbol& symbol = *symbols.Get(i);
    if (symbol.origin() == plan::SymbolOrigin::InputValue) {
      shapes_.set_symbol(i, values_.at(symbol.source(), symbol.element()));
    }
  }
  PW_RETURN_IF_ERROR(enter_stage(planfmt::kValuesStage));
  valued_ = true;
  return kOkStatus;
}

Status pw_context::take_results(uint32_t step) {
  const auto* results = schedule_.results(step);
  if (results == nullptr || results->size() == 0) return kOkStatus;
  bool changed = known_at_[step] < newest_known_;
  for (const plan::StepResult* result : *results) {
    int64_t value = 0;
    PW_RETURN_IF_ERROR(schedule_.read_result(step, *result, &value));
    changed |= value != shapes_.symbol(result->symbol());
    shapes_.set_symbol(result->symbol(), value);
  }
  if (changed) {
    PW_RETURN_IF_ERROR(enter_stage(planfmt::result_stage(step)));
    known_at_[step] = ++known_;
  }
  newest_known_ = known_at_[step];
  return kOkStatus;
}

Status pw_context::run_body(uint32_t step, uint32_t body) {
  const planfmt::StepList& steps = schedule_.steps();
  PW_RETURN_IF_ERROR(shapes_.check_region(steps[step].regions()->Get(body)));
  const uint32_t end = steps.body_end(step, body);
  for (uint32_t i = steps.body_begin(step, body); i < end; i = steps.end(i)) PW_RETURN_IF_ERROR(run_step(i));
  return kOkStatus;
}

Status pw_context::run_loop(uint32_t step) {
  const int64_t trips = schedule_.trip_count(step);
  int64_t done = 0;
  for (; done < trips && schedule_.goes_on(step); ++done) {
    schedule_.set_iteration(step, done);
    PW_RETURN_IF_ERROR(take_results(step));
    PW_RETURN_IF_ERROR(run_body(step, 0));
  }
  schedule_.set_iteration(step, done);
  return kOkStatus;
}

Status pw_context::run_step(uint32_t step) {
  // Says again why it could not be placed.
  if (schedule_.is_left_out(step)) PW_RETURN_IF_ERROR(schedule_.place_again(step, shapes_, memory_));
  Status status = kOkStatus;
  switch (schedule_.steps().bodies(step)) {
    case 0:
      status = schedule_.run(step);
      if (status.ok()) status = take_results(step);
      break;
    case 1: status = run_loop(step); break;
    default: status = run_body(step, schedule_.branch(step)); break;
  }
  return status.ok() ? kOkStatus : error_context(status, "layer %s: ", schedule_.layer(step));
}

Status pw_context::run() {
  PW_RETURN_IF_ERROR(resolve());
  if (!bound_) {
    PW_RETURN_IF_ERROR(check_buffers(engine_->plan(), shapes_, planfmt::kDimsStage, buffers_.data()));
    schedule_.bind(buffers_.data());
    bound_ = true;
    valued_ = ran_ = false;
  }
  PW_RETURN_IF_ERROR(take_values());
  if (!ran_) known_before_ = ++known_;  // what is new, or the last run stopped halfway
  newest_known_ = known_before_;
  ran_ = false;
  const double start = options_.layer_hook == nullptr ? 0 : loader::now_ms();
  double begin = 0;
  const planfmt::StepList& steps = schedule_.steps();
  size_t position = 0;
  for (uint32_t step = 0; step < steps.size(); step = steps.end(step), ++position) {
    PW_RETURN_IF_ERROR(run_step(step));
    if (options_.layer_hook == nullptr) continue;
    const double end = loader::now_ms() - start;
    const pw_layer_event event = {position, schedule_.layer(step), begin, end};
    options_.layer_hook(options_.layer_hook_user, &event);
    begin = loader::now_ms() - start;
  }
  ran_ = true;
  return kOkStatus;
}

Status pw_context::get_info(pw_context_info* info) {
  const bool ready = inputs_.first_missing() < 0 && resolve().ok();
  pw_context_info answer = {};
  answer.profile = ready ? static_cast<int32_t>(profile_) : -1;
  answer.threads = executor_->workers();
  answer.arena_bytes = ready ? memory_bytes_ : 0;
  answer.step_count = ready ? engine_->own_steps(static_cast<uint32_t>(profile_)).size() : 0;
  return loader::give_info(answer, info);
}
