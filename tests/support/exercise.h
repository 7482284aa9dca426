// Opens whatever bytes it is given and, where they are an engine, runs it: for fuzzing and mutation tests.
#ifndef PLANWRIGHT_TESTS_SUPPORT_EXERCISE_H_
#define PLANWRIGHT_TESTS_SUPPORT_EXERCISE_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "planwright/planwright.h"
#include "schemas/types/dtype.h"

namespace planwright::tests {

// Larger tensors are the engine's right, but only slow a test down.
inline constexpr size_t kMaxExercisedBytes = 1 << 20;

inline size_t bytes_of_binding(pw_context* context, const pw_binding& binding) {
  int64_t dims[PW_MAX_RANK];
  size_t rank = PW_MAX_RANK, bytes = size_of(static_cast<DType>(binding.dtype));
  if (pw_context_output_shape(context, binding.name, dims, &rank) != PW_OK) return SIZE_MAX;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dims[axis]), &bytes)) return SIZE_MAX;
  }
  return bytes;
}

inline bool run_to_the_end(pw_context* context) { return pw_context_run(context) == PW_OK; }

// Runs at the shapes set, with buffers of exactly the sizes the library names, so that a sanitizer sees every byte past
// them.
inline bool run_once(pw_engine* engine, pw_context* context, bool (*run)(pw_context*) = run_to_the_end) {
  std::vector<std::vector<char>> buffers;
  for (size_t i = 0; i < pw_engine_binding_count(engine); ++i) {
    pw_binding binding;
    if (pw_engine_binding(engine, i, &binding) != PW_OK) return false;
    const size_t bytes = bytes_of_binding(context, binding);
    if (bytes > kMaxExercisedBytes) return false;
    // Integers are often indices: zeros are in range.
    buffers.emplace_back(bytes, static_cast<char>(binding.dtype <= PW_BFLOAT16 ? 1 : 0));
    if (pw_context_bind(context, binding.name, buffers.back().data(), bytes) != PW_OK) return false;
  }
  return run(context);
}

// Sets every input to a profile's `which` shape: 0 min, 1 opt, 2 max.
inline bool set_shapes(pw_engine* engine, pw_context* context, size_t profile, int which) {
  for (size_t i = 0; i < pw_engine_binding_count(engine); ++i) {
    pw_binding binding;
    if (pw_engine_binding(engine, i, &binding) != PW_OK || !binding.is_input) continue;
    int64_t dims[3][PW_MAX_RANK];
    size_t rank;
    if (pw_engine_profile(engine, profile, binding.name, dims[0], dims[1], dims[2], &rank) != PW_OK) return false;
    if (pw_context_set_input_shape(context, binding.name, dims[which], rank) != PW_OK) return false;
  }
  return true;
}

struct Exercised {
  bool opened = false;
  int runs = 0;  // that ended with PW_OK
};

// `data` is 64-byte aligned.
inline Exercised exercise(const void* data, size_t size, bool (*run)(pw_context*) = run_to_the_end) {
  Exercised result;
  pw_engine* engine = nullptr;
  if (pw_engine_open_memory(data, size, nullptr, &engine) != PW_OK) return result;
  result.opened = true;
  pw_context_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  pw_context* context = nullptr;
  if (pw_context_create(engine, &options, &context) == PW_OK) {
    for (int which = 0; which < 3; ++which) {
      if (set_shapes(engine, context, 0, which) && run_once(engine, context, run)) ++result.runs;
    }
  }
  pw_context_destroy(context);
  pw_engine_close(engine);
  return result;
}

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_EXERCISE_H_
