#include "tactics/step_data.h"

#include <cstring>

#include "tactics/elements.h"
#include "tactics/random_operand.h"

namespace planwright::tactics {
namespace {

// A constant's elements are dense; its view in a step may have other strides (zero where it is broadcast).
void copy_constant(const std::vector<std::byte>& elements, const TensorView& view) {
  if (is_dense(view)) {
    std::memcpy(view.data, elements.data(), elements.size());
    return;
  }
  const size_t size = size_of(view.dtype);
  size_t next = 0;
  for_each_element(view, [&](const int64_t*, int64_t offset) {
    std::memcpy(view.as<std::byte>() + static_cast<size_t>(offset) * size, elements.data() + next, size);
    next += size;
  });
}

}  // namespace

StepData::StepData(const StepSpec& spec, uint64_t seed) {
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const Operand& operand = spec.inputs[i];
    TensorView view = operand.view;
    if (!view.absent) {
      std::vector<GuardedMemory>& memory = operand.constant != nullptr ? constants_ : computed_inputs_;
      view.data = memory.emplace_back(extent_of(view)).data();
      if (operand.constant != nullptr) {
        copy_constant(*operand.constant, view);
      } else {
        fill_operand(spec, static_cast<int>(i), view, seed);
      }
    }
    inputs_.push_back(view);
  }
  for (TensorView view : spec.outputs) {
    if (!view.absent) view.data = output_memory_.emplace_back(extent_of(view)).data();
    outputs_.push_back(view);
  }
}

void StepData::poison_outputs() {
  for (const GuardedMemory& memory : output_memory_) std::memset(memory.data(), 0xFF, memory.size());
}

void StepData::rewrite_inputs(int64_t part, int64_t parts) {
  constexpr int64_t kLine = 64;
  for (const GuardedMemory& memory : computed_inputs_) {
    const int64_t lines = static_cast<int64_t>(memory.size()) / kLine;
    // Volatile: a write of what was read would else be optimised away, and with it the move of the line to this core.
    volatile unsigned char* bytes = reinterpret_cast<volatile unsigned char*>(memory.data());
    for (int64_t line = lines * part / parts; line < lines * (part + 1) / parts; ++line) {
      bytes[line * kLine] = bytes[line * kLine];
    }
  }
}

}  // namespace planwright::tactics
