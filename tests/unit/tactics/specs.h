// Steps that tests of this room try out.
#ifndef PLANWRIGHT_TESTS_UNIT_TACTICS_SPECS_H_
#define PLANWRIGHT_TESTS_UNIT_TACTICS_SPECS_H_

#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "tactics/step_spec.h"

namespace planwright::tactics {

// Dense row-major.
inline TensorView view_of(std::initializer_list<int64_t> dims, DType dtype = DType::kF32) {
  TensorView view;
  view.dtype = dtype;
  view.rank = static_cast<int32_t>(dims.size());
  int axis = 0;
  for (const int64_t dim : dims) view.dims[axis++] = dim;
  int64_t stride = 1;
  for (axis = view.rank - 1; axis >= 0; --axis) {
    view.strides[axis] = stride;
    stride *= view.dims[axis];
  }
  return view;
}

// [N, C, H, W] in channels-last order.
inline TensorView channels_last(int64_t n, int64_t c, int64_t h, int64_t w) {
  TensorView view = view_of({n, c, h, w});
  const int64_t strides[] = {h * w * c, 1, w * c, c};
  std::copy(std::begin(strides), std::end(strides), view.strides);
  return view;
}

inline Operand computed(const TensorView& view) { return {view, nullptr}; }

// A constant of floats 1/1, 1/2, 1/3 ...
inline Operand constant(std::initializer_list<int64_t> dims) {
  const TensorView view = view_of(dims);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float value = 1.0f / static_cast<float>(i + 1);
    std::memcpy(bytes->data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
  }
  return {view, bytes};
}

template <typename T>
void set_params(StepSpec* spec, const T& params) {
  spec->params.resize(sizeof params);
  std::memcpy(spec->params.data(), &params, sizeof params);
}

inline StepSpec copy_spec(std::initializer_list<int64_t> dims) {
  StepSpec spec;
  spec.op = OpKind::kCopy;
  spec.name = "copy_me";
  spec.inputs = {computed(view_of(dims))};
  spec.core_inputs = 1;
  spec.outputs = {view_of(dims)};
  return spec;
}

// X[1, channels, size, size] channels-last, 3x3, padding 1.
inline StepSpec conv_spec(int64_t channels, int64_t filters, int64_t size) {
  StepSpec spec;
  spec.op = OpKind::kConv;
  spec.name = "conv_me";
  spec.inputs = {computed(channels_last(1, channels, size, size)), constant({filters, channels, 3, 3})};
  spec.core_inputs = 2;
  spec.outputs = {channels_last(1, filters, size, size)};
  set_params(&spec, ConvParams{});
  spec.scalars = {1, 1};
  return spec;
}

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TESTS_UNIT_TACTICS_SPECS_H_
