// Sums of products of two strided runs of elements.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_DOT_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_DOT_H_

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {

// `count` elements from `offset` on, `stride` apart.
struct Run {
  const TensorView& view;
  int64_t offset;
  int64_t stride;
};

// Widens elements begin .. begin+count-1 of a run. A loop of its own, so that the choice by type is made outside it.
template <typename T>
void widen(const Run& run, int64_t begin, int count, T* to) {
  const int64_t first = run.offset + begin * run.stride;
  if (run.view.dtype == DType::kF32) {
    const float* from = static_cast<const float*>(run.view.data) + first;
    for (int i = 0; i < count; ++i) to[i] = convert<T>(from[i * run.stride]);
    return;
  }
  for (int i = 0; i < count; ++i) to[i] = load<T>(run.view, first + i * run.stride);
}

// sum + the products (a[i] - zero) * b[i], in order; integers wrap.
template <typename T>
T dot(const Run& a, const Run& b, int64_t count, T sum, T zero = 0) {
  constexpr int kStrip = 64;
  T x[kStrip], y[kStrip];
  for (int64_t begin = 0; begin < count; begin += kStrip) {
    const int length = static_cast<int>(count - begin < kStrip ? count - begin : kStrip);
    widen(a, begin, length, x);
    widen(b, begin, length, y);
    for (int i = 0; i < length; ++i) sum = add(sum, multiply(subtract(x[i], zero), y[i]));
  }
  return sum;
}

// The type in which a contraction of `a` and `b` accumulates: double, or int64 where both are integers.
template <typename Body>
void with_contraction(const TensorView& a, const Body& body) {
  if (is_float(a.dtype)) return body(double{});
  body(int64_t{});
}

// The zero point of a MatMul's or Conv's first operand; 0 where none is given.
template <typename T>
T zero_point(const KernelArgs& args) {
  return args.core_inputs > 2 && !args.inputs[2].absent ? load<T>(args.inputs[2], 0) : T(0);
}

inline Status validate_zero_point(const KernelArgs& args) {
  if (args.core_inputs < 3 || args.inputs[2].absent) return kOkStatus;
  const TensorView &x = args.inputs[0], &zero = args.inputs[2];
  PW_REQUIRE(x.dtype == DType::kI8 || x.dtype == DType::kU8, "%s: a zero point of %s", name_of(args.op),
             name_of(x.dtype));
  PW_REQUIRE(zero.dtype == x.dtype && element_count(zero) == 1, "%s: the zero point of %s is %ld of %s",
             name_of(args.op), name_of(x.dtype), element_count(zero), name_of(zero.dtype));
  return kOkStatus;
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_DOT_H_
