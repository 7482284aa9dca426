// The caller's buffers.
#ifndef PLANWRIGHT_LOADER_BUFFERS_H_
#define PLANWRIGHT_LOADER_BUFFERS_H_

#include <cstddef>
#include <cstdint>

#include "planfmt/shapes.h"
#include "schemas/plan_generated.h"
#include "schemas/types/status.h"

namespace planwright::loader {

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

// What can be said of a buffer before the shapes are known: aligned to the binding's element, no wrap-around.
Status check_buffer(const plan::Binding& binding, const Buffer& buffer);

// Whether `buffers`, one for each binding, hold the tensors whose shapes become known at `stage`, and none of these
// that is an output shares bytes with another binding. kInvalid, naming the binding. A tensor without elements needs no
// buffer.
Status check_buffers(const plan::Plan& plan, const planfmt::ShapeValues& shapes, planfmt::Stage stage,
                     const Buffer* buffers);

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_BUFFERS_H_
