#include "builder/weights.h"

#include <cstring>

#include "builder/passes/strides.h"
#include "schemas/types/error.h"
#include "tactics/pack.h"

namespace planwright::builder {
namespace {

// Dims and strides of a constant, which are numbers.
struct Numbers {
  std::vector<int64_t> dims, strides;
};

Numbers numbers_of(const ir::Value& constant) {
  Numbers numbers;
  for (const ir::Dim dim : constant.dims) numbers.dims.push_back(dim.constant());
  for (const ir::Dim stride : dense_strides(constant.dims, constant.layout)) {
    numbers.strides.push_back(stride.constant());
  }
  return numbers;
}

}  // namespace

SharedBytes placed_elements(const ir::Value& constant) {
  if (same_placing(constant.dims, constant.layout, {})) return constant.constant;
  const Numbers numbers = numbers_of(constant);
  const size_t element = size_of(constant.dtype), rank = numbers.dims.size();
  auto placed = std::make_shared<ir::Bytes>(constant.constant->size());
  std::vector<int64_t> index(rank);
  int64_t to = 0;  // element offset of `index`
  for (size_t from = 0; from < constant.constant->size(); from += element) {
    std::memcpy(placed->data() + static_cast<size_t>(to) * element, constant.constant->data() + from, element);
    for (size_t axis = rank; axis-- > 0;) {
      to += numbers.strides[axis];
      if (++index[axis] < numbers.dims[axis]) break;
      to -= numbers.strides[axis] * numbers.dims[axis];
      index[axis] = 0;
    }
  }
  return placed;
}

SharedBytes packed_weights(const tactics::StepSpec& spec, const tactics::Candidate& candidate) {
  if (candidate.kernel->packed_inputs == 0) return nullptr;
  auto packed = std::make_shared<ir::Bytes>(tactics::packed_size(spec, candidate));
  throw_if_error(tactics::pack(spec, candidate, packed->data()), "layer " + spec.name + ": ");
  return packed;
}

}  // namespace planwright::builder
