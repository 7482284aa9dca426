// The C functions of contexts: NULL checks, and the mark of a call in progress.
#include "loader/context.h"
#include "loader/options.h"

using planwright::error;
using planwright::Status;
using planwright::StatusCode;

namespace planwright::loader {
namespace {

// Calls `body(*context)` unless another call on the context is in progress.
template <typename Body>
int call(pw_context* context, const Body& body) {
  if (context == nullptr) return static_cast<int>(error(StatusCode::kInvalid, "the context is NULL").code());
  if (context->busy.exchange(true, std::memory_order_acquire)) {
    return static_cast<int>(
        error(StatusCode::kPrecondition, "another call on this context is in progress: make a context for each thread")
            .code());
  }
  const Status status = body(*context);
  context->busy.store(false, std::memory_order_release);
  return static_cast<int>(status.code());
}

Status create(pw_engine* engine, const pw_context_options* given, pw_context** result) {
  if (engine == nullptr || result == nullptr) return error(StatusCode::kInvalid, "the engine or context is NULL");
  *result = nullptr;
  pw_context_options options = {};
  options.struct_size = sizeof options;
  PW_RETURN_IF_ERROR(take_options(given, &options));
  pw_context* context = planfmt::make<pw_context>();
  if (context == nullptr) return Status(StatusCode::kResource);
  const Status status = context->create(engine, options);
  if (status.ok()) {
    *result = context;
  } else {
    planfmt::destroy(context);
  }
  return status;
}

}  // namespace
}  // namespace planwright::loader

using planwright::loader::call;

extern "C" {

int pw_context_create(pw_engine* engine, const pw_context_options* options, pw_context** context) {
  return static_cast<int>(planwright::loader::create(engine, options, context).code());
}

void pw_context_destroy(pw_context* context) { planwright::planfmt::destroy(context); }

int pw_context_set_input_shape(pw_context* context, const char* name, const int64_t* dims, size_t rank) {
  return call(context, [&](pw_context& c) { return c.set_input_shape(name, dims, rank); });
}

int pw_context_output_shape(pw_context* context, const char* name, int64_t* dims, size_t* rank) {
  return call(context, [&](pw_context& c) { return c.shape_of(name, dims, rank); });
}

int pw_context_output_limit(pw_context* context, const char* name, size_t* bytes) {
  return call(context, [&](pw_context& c) { return c.output_limit(name, bytes); });
}

int pw_context_bind(pw_context* context, const char* name, void* data, size_t bytes) {
  return call(context, [&](pw_context& c) { return c.bind(name, data, bytes); });
}

int pw_context_run(pw_context* context) {
  return call(context, [](pw_context& c) { return c.run(); });
}

int pw_context_get_info(pw_context* context, pw_context_info* info) {
  return call(context, [&](pw_context& c) { return c.get_info(info); });
}

}  // extern "C"
