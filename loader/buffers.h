// The caller's buffers.
#ifndef PLANWRIGHT_LOADER_BUFFERS_H_
#define PLANWRIGHT_LOADER_BUFFERS_H_

#include <cstddef>
#include <cstdint>

#include "schemas/plan_generated.h"
#include "schemas/types/status.h"

namespace planwright::loader {

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

// What can be said of a buffer before the shapes are known: aligned to the binding's element, no wrap-around.
Status check_buffer(const plan::Binding& binding, const Buffer& buffer);

// Whether `buffers`, one for each binding, hold the tensors at the shapes of the expressions' `values`, and no output
// shares bytes with another binding. kInvalid, naming the binding. A tensor without elements needs no buffer.
Status check_buffers(const plan::Plan& plan, const int64_t* values, const Buffer* buffers);

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_BUFFERS_H_
