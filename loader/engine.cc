#include "loader/engine.h"

#include <cstring>

#include "loader/clock.h"
#include "loader/options.h"
#include "planfmt/shapes.h"
#include "planfmt/verify.h"
#include "tactics/kernels/cpu.h"

using planwright::error;
using planwright::Status;
using planwright::StatusCode;

Status pw_engine::verify() {
  catalog = planwright::loader::RegistryCatalog(planwright::detect_isa());
  PW_RETURN_IF_ERROR(
      planwright::planfmt::verify_plan(plan(), {file.plan_bytes(), file.weights_bytes()}, catalog, &kernels));
  input_count = planwright::planfmt::input_count(plan());
  return planwright::kOkStatus;
}

Status pw_engine::find_binding(const char* name, uint32_t* index) const {
  if (name == nullptr) return error(StatusCode::kInvalid, "the binding's name is NULL");
  const auto& bindings = *plan().bindings();
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    if (strcmp(bindings.Get(i)->name()->c_str(), name) == 0) {
      *index = i;
      return planwright::kOkStatus;
    }
  }
  const Status status =
      error(StatusCode::kInvalid, "%s%s%s", bindings.size() > 0 ? bindings.Get(0)->name()->c_str() : "no bindings",
            bindings.size() > 1 ? ", " : "", bindings.size() > 1 ? bindings.Get(1)->name()->c_str() : "");
  return error_context(status, "the engine has no input or output named %s; it has %u: ", name, bindings.size());
}

const flatbuffers::Vector<flatbuffers::Offset<planwright::plan::Step>>& pw_engine::own_steps(uint32_t profile) const {
  return *planwright::planfmt::program_of(plan(), profile, catalog)->regions()->Get(0)->steps();
}

namespace planwright::loader {

void keep(pw_engine* engine) { engine->references.fetch_add(1, std::memory_order_relaxed); }

void release(pw_engine* engine) {
  if (engine->references.fetch_sub(1, std::memory_order_acq_rel) == 1) planfmt::destroy(engine);
}

namespace {

// Opens with `open(engine, mode)`, verifies, and hands the engine out.
template <typename Open>
Status open_engine(const pw_open_options* given, pw_engine** result, const Open& open) {
  const double start = now_ms();
  if (result == nullptr) return error(StatusCode::kInvalid, "the engine's address is NULL");
  *result = nullptr;
  pw_open_options options = {sizeof(pw_open_options), PW_SOURCE_MAP, 0};
  PW_RETURN_IF_ERROR(take_options(given, &options));
  if (options.source != PW_SOURCE_MAP && options.source != PW_SOURCE_READ) {
    return error(StatusCode::kInvalid, "source %d is neither PW_SOURCE_MAP nor PW_SOURCE_READ", options.source);
  }
  pw_engine* engine = planfmt::make<pw_engine>();
  if (engine == nullptr) return Status(StatusCode::kResource);
  const planfmt::OpenMode mode = {.read = options.source == PW_SOURCE_READ, .trusted = options.trusted != 0};
  const Status status = open(engine, mode);
  if (!status.ok()) {
    planfmt::destroy(engine);
    return status;
  }
  engine->open_ms = now_ms() - start;
  *result = engine;
  return kOkStatus;
}

int code_of(Status status) { return static_cast<int>(status.code()); }

Status get_binding(const pw_engine* engine, size_t index, pw_binding* binding) {
  if (engine == nullptr || binding == nullptr) return error(StatusCode::kInvalid, "engine or binding is NULL");
  const plan::Plan& plan = engine->plan();
  if (index >= plan.bindings()->size()) {
    return error(StatusCode::kInvalid, "there are %u bindings, none of index %zu", plan.bindings()->size(), index);
  }
  const plan::Binding& found = *plan.bindings()->Get(static_cast<uint32_t>(index));
  *binding = {};
  binding->name = found.name()->c_str();
  binding->dtype = found.dtype();
  binding->is_input = found.kind() == plan::BindingKind::Input;
  binding->rank = found.dims()->size();
  for (uint32_t axis = 0; axis < found.dims()->size(); ++axis) {
    const plan::Expr& dim = *plan.expressions()->Get(found.dims()->Get(axis));
    binding->dims[axis] = dim.op() == plan::ExprOp::Constant ? dim.value() : -1;
  }
  return kOkStatus;
}

// The range of an input in a profile.
Status find_range(const pw_engine* engine, size_t profile, const char* input, const plan::ShapeRange** range) {
  if (engine == nullptr) return error(StatusCode::kInvalid, "the engine is NULL");
  const plan::Plan& plan = engine->plan();
  if (profile >= plan.profiles()->size()) {
    return error(StatusCode::kInvalid, "there are %u profiles, none of index %zu", plan.profiles()->size(), profile);
  }
  uint32_t index;
  PW_RETURN_IF_ERROR(engine->find_binding(input, &index));
  if (index >= engine->input_count) return error(StatusCode::kInvalid, "%s is an output, profiles name inputs", input);
  *range = plan.profiles()->Get(static_cast<uint32_t>(profile))->inputs()->Get(index);
  return kOkStatus;
}

// Nothing where the list or its place is not there.
void copy_list(const flatbuffers::Vector<int64_t>* list, int64_t* to) {
  for (uint32_t i = 0; list != nullptr && to != nullptr && i < list->size(); ++i) to[i] = list->Get(i);
}

Status get_profile(const pw_engine* engine, size_t profile, const char* input, int64_t* min, int64_t* opt, int64_t* max,
                   size_t* rank) {
  const plan::ShapeRange* range;
  PW_RETURN_IF_ERROR(find_range(engine, profile, input, &range));
  if (rank == nullptr) return error(StatusCode::kInvalid, "there is no room for the rank");
  *rank = range->min()->size();
  copy_list(range->min(), min);
  copy_list(range->opt(), opt);
  copy_list(range->max(), max);
  return kOkStatus;
}

Status get_profile_values(const pw_engine* engine, size_t profile, const char* input, int64_t* min, int64_t* opt,
                          int64_t* max, size_t* count) {
  const plan::ShapeRange* range;
  PW_RETURN_IF_ERROR(find_range(engine, profile, input, &range));
  if (count == nullptr) return error(StatusCode::kInvalid, "there is no room for the count");
  *count = range->value_min() == nullptr ? 0 : range->value_min()->size();
  copy_list(range->value_min(), min);
  copy_list(range->value_opt(), opt);
  copy_list(range->value_max(), max);
  return kOkStatus;
}

bool is_this_device(const char* device) {
  char cpu[256] = "cpu:";
  describe_cpu(cpu + 4, sizeof cpu - 4);
  return strcmp(cpu, device) == 0;
}

Status get_info(const pw_engine* engine, pw_engine_info* info) {
  if (engine == nullptr) return error(StatusCode::kInvalid, "the engine is NULL");
  pw_engine_info answer = {};
  answer.producer = engine->plan().producer()->c_str();
  answer.device = engine->plan().device()->c_str();
  answer.tuned_threads = engine->plan().threads();
  answer.same_device = is_this_device(answer.device);
  answer.file_bytes = engine->file.file_bytes();
  answer.weight_bytes = engine->file.weights_bytes();
  answer.open_ms = engine->open_ms;
  answer.note = engine->plan().note() == nullptr ? "" : engine->plan().note()->c_str();
  return give_info(answer, info);
}

// The steps of a profile as this CPU runs them; null where there is no such profile.
const flatbuffers::Vector<flatbuffers::Offset<plan::Step>>* steps_of(const pw_engine* engine, size_t profile) {
  if (engine == nullptr || profile >= engine->plan().profiles()->size()) return nullptr;
  return &engine->own_steps(static_cast<uint32_t>(profile));
}

Status get_step(const pw_engine* engine, size_t profile, size_t index, pw_step_info* info) {
  const auto* steps = steps_of(engine, profile);
  if (steps == nullptr || index >= steps->size() || info == nullptr) {
    return error(StatusCode::kInvalid, "there is no step %zu in profile %zu, or nowhere to put it", index, profile);
  }
  const plan::Step& step = *steps->Get(static_cast<uint32_t>(index));
  const KernelDescriptor& kernel = engine->kernel(step);
  *info = {step.name()->c_str(), name_of(kernel.op), kernel.name, step.time_us()};
  return kOkStatus;
}

}  // namespace
}  // namespace planwright::loader

using namespace planwright::loader;

extern "C" {

const char* pw_last_error(void) { return planwright::last_error(); }

const char* pw_version(void) { return PW_VERSION; }

int pw_engine_open(const char* path, const pw_open_options* options, pw_engine** engine) {
  return code_of(open_engine(options, engine, [&](pw_engine* opened, const planwright::planfmt::OpenMode& mode) {
    if (path == nullptr) return error(StatusCode::kInvalid, "the engine's path is NULL");
    PW_RETURN_IF_ERROR(opened->file.open(path, mode));
    const Status status = opened->verify();
    return status.ok() ? status : error_context(status, "%s: ", path);
  }));
}

int pw_engine_open_memory(const void* data, size_t bytes, const pw_open_options* options, pw_engine** engine) {
  return code_of(open_engine(options, engine, [&](pw_engine* opened, const planwright::planfmt::OpenMode& mode) {
    if (data == nullptr) return error(StatusCode::kInvalid, "the engine's address in memory is NULL");
    PW_RETURN_IF_ERROR(opened->file.open_memory(data, bytes, mode));
    return opened->verify();
  }));
}

void pw_engine_close(pw_engine* engine) {
  if (engine != nullptr) release(engine);
}

size_t pw_engine_binding_count(const pw_engine* engine) {
  return engine == nullptr ? 0 : engine->plan().bindings()->size();
}

int pw_engine_binding(const pw_engine* engine, size_t index, pw_binding* binding) {
  return code_of(get_binding(engine, index, binding));
}

size_t pw_engine_profile_count(const pw_engine* engine) {
  return engine == nullptr ? 0 : engine->plan().profiles()->size();
}

int pw_engine_profile(const pw_engine* engine, size_t profile, const char* input, int64_t* min, int64_t* opt,
                      int64_t* max, size_t* rank) {
  return code_of(get_profile(engine, profile, input, min, opt, max, rank));
}

int pw_engine_profile_values(const pw_engine* engine, size_t profile, const char* input, int64_t* min, int64_t* opt,
                             int64_t* max, size_t* count) {
  return code_of(get_profile_values(engine, profile, input, min, opt, max, count));
}

int pw_engine_get_info(const pw_engine* engine, pw_engine_info* info) { return code_of(get_info(engine, info)); }

size_t pw_engine_step_count(const pw_engine* engine, size_t profile) {
  const auto* steps = steps_of(engine, profile);
  return steps == nullptr ? 0 : steps->size();
}

int pw_engine_step(const pw_engine* engine, size_t profile, size_t step, pw_step_info* info) {
  return code_of(get_step(engine, profile, step, info));
}

}  // extern "C"
