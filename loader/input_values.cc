#include "loader/input_values.h"

namespace planwright::loader {

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
    const bool wide = static_cast<DType>(engine_->plan().bindings()->Get(input)->dtype()) == DType::kI64;
    for (uint32_t i = 0; i < count(input); ++i) {
      const int64_t value = wide ? static_cast<const int64_t*>(buffers[input].data)[i]
                                 : static_cast<const int32_t*>(buffers[input].data)[i];
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
