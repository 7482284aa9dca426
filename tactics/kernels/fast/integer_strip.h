// Loops over strips of 64-bit integers, for tier files. Plain C++ in the tier's own namespace, which the compiler
// vectorises with the tier's instructions; a strip may be computed in place.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_INTEGER_STRIP_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_INTEGER_STRIP_H_

#include "tactics/kernels/tier.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

// Loops run to a multiple of this, so that they need no tails.
constexpr int kVectorUnit = 16;

// An element is written after it was read and never read again, so the loops' vectors may be whole even where `to` is
// an operand: what ivdep says.
template <typename From, typename To, typename Op>
HWY_INLINE void map(const From* a, To* to, int n, const Op& op) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) to[i] = static_cast<To>(op(a[i]));
}
template <typename T, typename Op>
HWY_INLINE void map(const T* a, const T* b, T* to, int n, const Op& op) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) to[i] = static_cast<T>(op(a[i], b[i]));
}

template <typename T>
void fill(T* to, int n, T value) {
  for (int i = 0; i < n; ++i) to[i] = value;
}

// As a C++ cast where that is defined; NaN to 0, past the ends to the nearest end.
template <typename T>
HWY_INLINE T saturated(float x) {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr float kEnd = kSigned ? 0x1p63f : 0x1p64f;  // one past the largest
  constexpr T kMost = kSigned ? static_cast<T>(INT64_MAX) : static_cast<T>(UINT64_MAX);
  if (x != x) return 0;
  if (x >= kEnd) return kMost;
  if (kSigned ? x < -kEnd : x <= -1.0f) return kSigned ? static_cast<T>(INT64_MIN) : T(0);
  return static_cast<T>(x);
}

// ---- Loads and stores. The elements past `count`, up to `padded`, become 0.

template <typename From, typename To>
void load_strip(const From* from, int64_t stride, int count, To* to, int padded) {
  if (stride == 1) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  } else if (stride == 0) {
    fill(to, count, static_cast<To>(*from));
  } else {
    for (int i = 0; i < count; ++i) to[i] = static_cast<To>(from[i * stride]);
  }
  for (int i = count; i < padded; ++i) to[i] = To(0);
}

template <typename From>
void load_at(const void* data, int64_t offset, int64_t stride, int count, int64_t* to, int padded) {
  load_strip(static_cast<const From*>(data) + offset, stride, count, to, padded);
}

HWY_MAYBE_UNUSED void load_integers(DType dtype, const void* data, int64_t offset, int64_t stride, int count,
                                    int64_t* to, int padded) {
  switch (dtype) {
    case DType::kI8: return load_at<int8_t>(data, offset, stride, count, to, padded);
    case DType::kI16: return load_at<int16_t>(data, offset, stride, count, to, padded);
    case DType::kI32: return load_at<int32_t>(data, offset, stride, count, to, padded);
    case DType::kU8: return load_at<uint8_t>(data, offset, stride, count, to, padded);
    case DType::kU16: return load_at<uint16_t>(data, offset, stride, count, to, padded);
    case DType::kU32: return load_at<uint32_t>(data, offset, stride, count, to, padded);
    case DType::kBool:
      // Any byte but 0 is true.
      load_at<uint8_t>(data, offset, stride, count, to, padded);
      return map(to, to, padded, [](int64_t x) { return x != 0; });
    default: return load_at<int64_t>(data, offset, stride, count, to, padded);
  }
}

template <typename From, typename To>
void store_strip(const From* from, int count, To* to, int64_t stride) {
  if (stride == 1) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  } else {
    for (int i = 0; i < count; ++i) to[i * stride] = static_cast<To>(from[i]);
  }
}

template <typename To>
void store_at(const int64_t* from, int count, void* data, int64_t offset, int64_t stride) {
  store_strip(from, count, static_cast<To*>(data) + offset, stride);
}

HWY_MAYBE_UNUSED void store_integers(DType dtype, const int64_t* from, int count, void* data, int64_t offset,
                                     int64_t stride) {
  if (dtype == DType::kBool) {
    uint8_t* to = static_cast<uint8_t*>(data) + offset;
    for (int i = 0; i < count; ++i) to[i * stride] = from[i] != 0;
    return;
  }
  // Integers wrap, whatever their sign.
  switch (size_of(dtype)) {
    case 1: return store_at<uint8_t>(from, count, data, offset, stride);
    case 2: return store_at<uint16_t>(from, count, data, offset, stride);
    case 4: return store_at<uint32_t>(from, count, data, offset, stride);
    default: return store_at<uint64_t>(from, count, data, offset, stride);
  }
}

// What storing as `dtype` and loading again gives.
HWY_MAYBE_UNUSED void narrow(DType dtype, const int64_t* a, int64_t* to, int n) {
  switch (dtype) {
    case DType::kI8: return map(a, to, n, [](int64_t x) { return static_cast<int8_t>(x); });
    case DType::kI16: return map(a, to, n, [](int64_t x) { return static_cast<int16_t>(x); });
    case DType::kI32: return map(a, to, n, [](int64_t x) { return static_cast<int32_t>(x); });
    case DType::kU8: return map(a, to, n, [](int64_t x) { return static_cast<uint8_t>(x); });
    case DType::kU16: return map(a, to, n, [](int64_t x) { return static_cast<uint16_t>(x); });
    case DType::kU32: return map(a, to, n, [](int64_t x) { return static_cast<uint32_t>(x); });
    case DType::kBool: return map(a, to, n, [](int64_t x) { return x != 0; });
    default: return map(a, to, n, [](int64_t x) { return x; });
  }
}

// ---- Arithmetic

// Operations whose result depends on the sign. False: not one of them.
template <typename T>
bool compute_ordered(PwOp op, const T* a, const T* b, T* to, int n) {
  constexpr bool kSigned = T(-1) < T(0);
  const auto divide = [](T x, T y) {
    if (y == T(0)) return T(0);
    // INT64_MIN / -1 wraps.
    return kSigned && y == T(-1) ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x)) : static_cast<T>(x / y);
  };
  const auto remainder = [](T x, T y) { return y == T(0) || (kSigned && y == T(-1)) ? T(0) : static_cast<T>(x % y); };
  switch (op) {
    case PwOp::kAbs:
      map(a, to, n, [](T x) { return x < T(0) ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); });
      return true;
    case PwOp::kSign: map(a, to, n, [](T x) { return (x > T(0)) - (x < T(0)); }); return true;
    case PwOp::kMin: map(a, b, to, n, [](T x, T y) { return x < y ? x : y; }); return true;
    case PwOp::kMax: map(a, b, to, n, [](T x, T y) { return x > y ? x : y; }); return true;
    case PwOp::kLess: map(a, b, to, n, [](T x, T y) { return x < y; }); return true;
    case PwOp::kLessEqual: map(a, b, to, n, [](T x, T y) { return x <= y; }); return true;
    case PwOp::kDiv: map(a, b, to, n, divide); return true;
    case PwOp::kModTrunc: map(a, b, to, n, remainder); return true;
    case PwOp::kModFloor:
      map(a, b, to, n, [&](T x, T y) {
        const T r = remainder(x, y);
        return r != T(0) && (r < T(0)) != (y < T(0)) ? static_cast<T>(r + y) : r;
      });
      return true;
    case PwOp::kShiftLeft:
      map(a, b, to, n, [](T x, T y) {
        return y >= T(0) && y < T(64) ? static_cast<uint64_t>(x) << (static_cast<uint64_t>(y) & 63) : uint64_t{0};
      });
      return true;
    case PwOp::kShiftRight:
      map(a, b, to, n, [](T x, T y) { return y >= T(0) && y < T(64) ? static_cast<T>(x >> (y & T(63))) : T(0); });
      return true;
    default: return false;
  }
}

// Operations that are the same for both signs.
HWY_MAYBE_UNUSED void compute_bits(PwOp op, const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* to,
                                   int n) {
  using U = uint64_t;
  switch (op) {
    case PwOp::kNeg: return map(a, to, n, [](U x) { return U{0} - x; });
    case PwOp::kNot: return map(a, to, n, [](U x) { return x == 0; });
    case PwOp::kBitNot: return map(a, to, n, [](U x) { return ~x; });
    case PwOp::kAdd: return map(a, b, to, n, [](U x, U y) { return x + y; });
    case PwOp::kSub: return map(a, b, to, n, [](U x, U y) { return x - y; });
    case PwOp::kMul: return map(a, b, to, n, [](U x, U y) { return x * y; });
    case PwOp::kEqual: return map(a, b, to, n, [](U x, U y) { return x == y; });
    case PwOp::kAnd: return map(a, b, to, n, [](U x, U y) { return U{x != 0} & U{y != 0}; });
    case PwOp::kOr: return map(a, b, to, n, [](U x, U y) { return (x | y) != 0; });
    case PwOp::kXor: return map(a, b, to, n, [](U x, U y) { return (x != 0) != (y != 0); });
    case PwOp::kBitAnd: return map(a, b, to, n, [](U x, U y) { return x & y; });
    case PwOp::kBitOr: return map(a, b, to, n, [](U x, U y) { return x | y; });
    case PwOp::kBitXor: return map(a, b, to, n, [](U x, U y) { return x ^ y; });
    default: break;
  }
  if (op == PwOp::kSelect) {
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) to[i] = a[i] != 0 ? b[i] : c[i];
    return;
  }
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) to[i] = a[i] * b[i] + c[i];  // kMulAdd
}

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_INTEGER_STRIP_H_
