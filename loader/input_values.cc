#include "loader/input_values.h"

#include <cstring>

namespace planwright::loader {
namespace {

// Of a type that a range of numbers cannot hold: the bytes, zero-extended.
int64_t read_value(DType dtype, const void* data, uint32_t index) {
  if (dtype == DType::kI32) return static_cast<const int32_t*>(data)[index];
  const size_t size = size_of(dtype);
  int64_t value = 0;
  memcpy(&value, static_cast<const char*>(data) + index * size, size);
  return value;
}

}  // namespace

Status InputValues::prepare(const pw_engine& engine, uint32_t profile) {
  engine_ = &engine;
  profile_ = profile;
  read_ = false;
  PW_RETURN_IF_ERROR(begins_.allocate(engine.input_count));
  uint32_t total = 0;
  for (uint32_t input = 0; input < engine.input_count; ++input) {
    begins_[input] = total;
    total += count(input);
  }
  return values_.allocate(total);
}

size_t InputValues::bytes(uint32_t input) const {
  return count(input) * size_of(static_cast<DType>(engine_->plan().bindings()->Get(input)->dtype()));
}

int64_t InputValues::first_unbound(const Buffer* buffers) const {
  for (uint32_t input = 0; input < begins_.size(); ++input) {
    if (count(input) > 0 && (buffers[input].data == nullptr || buffers[input].bytes < bytes(input))) return input;
  }
  return -1;
}

Status InputValues::read(const Buffer* buffers, bool* changed) {
  *changed = !read_;
  read_ = false;
  for (uint32_t input = 0; input < begins_.size(); ++input) {
    const auto dtype = static_cast<DType>(engine_->plan().bindings()->Get(input)->dtype());
    for (uint32_t i = 0; i < count(input); ++i) {
      const int64_t value = read_value(dtype, buffers[input].data, i);
      if (value < range(input).value_min()->Get(i) || value > range(input).value_max()->Get(i)) {
        return refuse(input, i, value);
      }
      *changed |= values_[begins_[input] + i] != value;
      values_[begins_[input] + i] = value;
    }
  }
  read_ = true;
  return kOkStatus;
}

Status InputValues::refuse(uint32_t input, uint32_t element, int64_t value) const {
  return error(StatusCode::kInvalid, "value %u of input %s cannot be %lld: profile %u holds %lld to %lld", element,
               engine_->plan().bindings()->Get(input)->name()->c_str(), static_cast<long long>(value), profile_,
               static_cast<long long>(range(input).value_min()->Get(element)),
               static_cast<long long>(range(input).value_max()->Get(element)));
}

}  // namespace planwright::loader
