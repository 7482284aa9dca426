#include "loader/buffers.h"

#include "planfmt/step_reader.h"
#include "schemas/types/dtype.h"

namespace planwright::loader {
namespace {

uintptr_t address(const Buffer& buffer) { return reinterpret_cast<uintptr_t>(buffer.data); }

// Whether the buffers of `a` and `b` share bytes, as far as the tensors reach.
bool overlap(const Buffer& a, uint64_t a_bytes, const Buffer& b, uint64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && address(a) < address(b) + b_bytes && address(b) < address(a) + a_bytes;
}

// One that is not known yet may come to fill its whole buffer.
Status bytes_at_most(const plan::Plan& plan, const planfmt::ShapeValues& shapes, planfmt::Stage stage,
                     const Buffer* buffers, uint32_t index, uint64_t* bytes) {
  const plan::Binding& binding = *plan.bindings()->Get(index);
  *bytes = buffers[index].bytes;
  return shapes.stages().of_binding(binding) <= stage ? planfmt::binding_bytes(binding, shapes.values(), bytes)
                                                      : kOkStatus;
}

Status check_overlap(const plan::Plan& plan, const planfmt::ShapeValues& shapes, planfmt::Stage stage,
                     const Buffer* buffers, uint32_t output, uint64_t output_bytes) {
  for (uint32_t other = 0; other < output; ++other) {
    uint64_t bytes;
    PW_RETURN_IF_ERROR(bytes_at_most(plan, shapes, stage, buffers, other, &bytes));
    if (overlap(buffers[output], output_bytes, buffers[other], bytes)) {
      return error(StatusCode::kInvalid, "the buffers of output %s and of %s overlap: give each its own",
                   plan.bindings()->Get(output)->name()->c_str(), plan.bindings()->Get(other)->name()->c_str());
    }
  }
  return kOkStatus;
}

}  // namespace

Status check_buffer(const plan::Binding& binding, const Buffer& buffer) {
  const size_t element = size_of(static_cast<DType>(binding.dtype()));
  if (address(buffer) % element != 0) {
    return error(StatusCode::kInvalid, "the buffer of %s is not aligned to its elements of %zu bytes",
                 binding.name()->c_str(), element);
  }
  if (buffer.bytes > UINTPTR_MAX - address(buffer)) {
    return error(StatusCode::kInvalid, "the buffer of %s says it has %zu bytes, more than lie behind its address",
                 binding.name()->c_str(), buffer.bytes);
  }
  return kOkStatus;
}

Status check_buffers(const plan::Plan& plan, const planfmt::ShapeValues& shapes, planfmt::Stage stage,
                     const Buffer* buffers) {
  for (uint32_t i = 0; i < plan.bindings()->size(); ++i) {
    const plan::Binding& binding = *plan.bindings()->Get(i);
    if (shapes.stages().of_binding(binding) != stage) continue;
    uint64_t bytes;
    PW_RETURN_IF_ERROR(planfmt::binding_bytes(binding, shapes.values(), &bytes));
    if (bytes > 0 && buffers[i].data == nullptr) {
      return error(StatusCode::kInvalid, "%s has no buffer: bind %llu bytes to it", binding.name()->c_str(),
                   static_cast<unsigned long long>(bytes));
    }
    if (buffers[i].bytes < bytes) {
      return error(StatusCode::kInvalid, "the buffer of %s has %zu bytes, the tensor %llu", binding.name()->c_str(),
                   buffers[i].bytes, static_cast<unsigned long long>(bytes));
    }
    if (binding.kind() == plan::BindingKind::Output) {
      PW_RETURN_IF_ERROR(check_overlap(plan, shapes, stage, buffers, i, bytes));
    }
  }
  return kOkStatus;
}

}  // namespace planwright::loader
