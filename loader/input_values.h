// The contents of shape inputs: values that become shapes, read from the caller's buffers.
#ifndef PLANWRIGHT_LOADER_INPUT_VALUES_H_
#define PLANWRIGHT_LOADER_INPUT_VALUES_H_

#include "loader/buffers.h"
#include "loader/engine.h"

namespace planwright::loader {

class InputValues {
 public:
  // Room for the values of the profile's shape inputs. kResource.
  Status prepare(const pw_engine& engine, uint32_t profile);

  // Whether the profile has shape inputs at all.
  bool any() const { return values_.size() > 0; }

  // The first shape input whose buffer is not there or too small to be read; -1: all can be.
  int64_t first_unbound(const Buffer* buffers) const;

  // Reads them all; every one must be bound. *changed: whether any is another than at the last read. kInvalid, naming
  // the input, where a value is outside the profile; then nothing counts as read.
  Status read(const Buffer* buffers, bool* changed);

  // One value, of an input that has a range.
  int64_t at(uint32_t input, uint32_t element) const { return values_[begins_[input] + element]; }

 private:
  const plan::ShapeRange& range(uint32_t input) const {
    return *engine_->plan().profiles()->Get(profile_)->inputs()->Get(input);
  }
  uint32_t count(uint32_t input) const {
    return range(input).value_min() == nullptr ? 0 : range(input).value_min()->size();
  }
  size_t bytes(uint32_t input) const;
  Status refuse(uint32_t input, uint32_t element, int64_t value) const;

  const pw_engine* engine_ = nullptr;
  uint32_t profile_ = 0;
  bool read_ = false;
  planfmt::Array<uint32_t> begins_;  // one for each input
  planfmt::Array<int64_t> values_;
};

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_INPUT_VALUES_H_
