// Reductions of axes to one element, and the running sums and products along one.
#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// What a reduction of nothing gives: the operation's neutral element, which `dtype` holds.
template <typename T>
T lowest(DType dtype) {
  if (kIsFloating<T>) return T(-INFINITY);
  return T(-1) < T(0) ? static_cast<T>(INT64_MIN >> (64 - bit_width(dtype))) : T(0);
}
template <typename T>
T highest(DType dtype) {
  if (kIsFloating<T>) return T(INFINITY);
  return T(-1) < T(0) ? static_cast<T>(INT64_MAX >> (64 - bit_width(dtype))) : static_cast<T>(UINT64_MAX);
}

// The elements that make one output element.
class Reduced {
 public:
  Reduced(const TensorView& x, uint32_t axes) : x_(x) {
    for (int axis = 0; axis < x.rank; ++axis) {
      if ((axes >> axis & 1) == 0) continue;
      strides_[box_.rank] = x.strides[axis];
      box_.dims[box_.rank++] = x.dims[axis];
    }
  }

  int64_t count() const { return box_.count(); }

  // Folds body(accumulator, element) over the elements from offset `base` on, which are loaded as E.
  template <typename E, typename T, typename Body>
  T fold_as(int64_t base, T start, const Body& body) const {
    for_each_position_in_order(
        box_, [&](const Position& at) { start = body(start, load<E>(x_, base + at.offset(strides_, box_.rank))); });
    return start;
  }
  template <typename T, typename Body>
  T fold(int64_t base, T start, const Body& body) const {
    return fold_as<T>(base, start, body);
  }

 private:
  const TensorView& x_;
  Box box_;
  int64_t strides_[kMaxRank] = {};
};

// The greater, or NaN if either is.
template <typename T>
T max_of(T a, T b) {
  return a != a || a > b ? a : b;
}
template <typename T>
T min_of(T a, T b) {
  return a != a || a < b ? a : b;
}
template <typename T>
T magnitude(T a) {
  return a < T(0) ? subtract(T(0), a) : a;
}

double log_sum_exp(const Reduced& elements, int64_t base) {
  const double most = elements.fold(base, lowest<double>(DType::kF64), [](double a, double x) { return max_of(a, x); });
  if (isinf(most)) return most;
  return most + log(elements.fold(base, 0.0, [&](double sum, double x) { return sum + exp(x - most); }));
}

// What sums of 64-bit integers fit in.
__extension__ typedef __int128 Wide;

// Truncated toward zero; of integers the sum does not wrap, and a mean of nothing is 0.
template <typename T>
T mean(const Reduced& elements, int64_t base) {
  const int64_t count = elements.count();
  if constexpr (kIsFloating<T>) {
    return elements.fold(base, T(0), [](T a, T x) { return a + x; }) / static_cast<T>(count);
  } else {
    const Wide sum = elements.fold_as<T>(base, Wide(0), [](Wide a, T x) { return a + static_cast<Wide>(x); });
    return count == 0 ? T(0) : static_cast<T>(sum / count);
  }
}

template <typename T>
void reduce_to(ReduceKind kind, const Reduced& elements, int64_t base, const TensorView& y, int64_t to) {
  const auto sum = [&] { return elements.fold(base, T(0), [](T a, T x) { return add(a, x); }); };
  const auto squares = [&] { return elements.fold(base, T(0), [](T a, T x) { return add(a, multiply(x, x)); }); };
  // On the way to a root or logarithm, where integers must not wrap.
  const auto real_sum = [&] { return elements.fold(base, 0.0, [](double a, double x) { return a + x; }); };
  const auto real_squares = [&] { return elements.fold(base, 0.0, [](double a, double x) { return a + x * x; }); };
  switch (kind) {
    case ReduceKind::kSum: return store(y, to, sum());
    case ReduceKind::kMean: return store(y, to, mean<T>(elements, base));
    case ReduceKind::kMax:
      return store(y, to, elements.fold(base, lowest<T>(y.dtype), [](T a, T x) { return max_of(a, x); }));
    case ReduceKind::kMin:
      return store(y, to, elements.fold(base, highest<T>(y.dtype), [](T a, T x) { return min_of(a, x); }));
    case ReduceKind::kProd: return store(y, to, elements.fold(base, T(1), [](T a, T x) { return multiply(a, x); }));
    case ReduceKind::kL1: return store(y, to, elements.fold(base, T(0), [](T a, T x) { return add(a, magnitude(x)); }));
    case ReduceKind::kL2: return store(y, to, sqrt(real_squares()));
    case ReduceKind::kLogSum: return store(y, to, log(real_sum()));
    case ReduceKind::kLogSumExp: return store(y, to, log_sum_exp(elements, base));
    case ReduceKind::kSumSquare: return store(y, to, squares());
  }
}

template <typename T>
void find_extremes(const KernelArgs& args) {
  const auto& params = args.params_as<ArgReduceParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const int64_t stride = x.strides[params.axis], length = x.dims[params.axis];
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const int64_t base = at.offset(x);
    int64_t best = 0;
    T extreme = load<T>(x, base);
    for (int64_t i = 1; i < length; ++i) {
      const T value = load<T>(x, base + i * stride);
      // As numpy has it, a NaN is the most extreme of all.
      const bool is_nan = value != value, has_nan = extreme != extreme;
      const bool better = is_nan ? !has_nan : params.is_max != 0 ? value > extreme : value < extreme;
      const bool same = value == extreme || (is_nan && has_nan);
      if (better || (params.select_last != 0 && same)) {
        best = i;
        extreme = value;
      }
    }
    store(y, at.offset(y), best);
  });
}

template <typename T>
void accumulate(const KernelArgs& args) {
  const auto& params = args.params_as<CumulativeParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const int64_t length = x.dims[params.axis];
  Box rows(x);
  rows.dims[params.axis] = length == 0 ? 0 : 1;
  for_each_position(args, rows, [&](const Position& at, int) {
    T running = params.kind == CumulativeKind::kSum ? T(0) : T(1);
    for (int64_t step = 0; step < length; ++step) {
      const int64_t i = params.reverse != 0 ? length - 1 - step : step;
      const T value = load<T>(x, at.offset(x) + i * x.strides[params.axis]);
      const T next = params.kind == CumulativeKind::kSum ? add(running, value) : multiply(running, value);
      store(y, at.offset(y) + i * y.strides[params.axis], params.exclusive != 0 ? running : next);
      running = next;
    }
  });
}

}  // namespace

Status validate_reduce(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ReduceParams>();
  const TensorView& x = args.inputs[0];
  PW_REQUIRE(params.kind >= ReduceKind::kSum && params.kind <= ReduceKind::kSumSquare, "Reduce: unknown kind %d",
             static_cast<int>(params.kind));
  PW_REQUIRE(params.axes >> x.rank == 0, "Reduce: axes %#x are outside a tensor of rank %d", params.axes, x.rank);
  PW_RETURN_IF_ERROR(require_same_type(args));
  int64_t dims[kMaxRank];
  for (int axis = 0; axis < x.rank; ++axis) dims[axis] = (params.axes >> axis & 1) != 0 ? 1 : x.dims[axis];
  return require_dims(args, 0, dims, x.rank);
}

Status run_reduce(const KernelArgs& args) {
  const auto& params = args.params_as<ReduceParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const Reduced elements(x, params.axes);
  with_accumulator(x.dtype, [&](auto zero) {
    for_each_position(args, Box(y), [&](const Position& at, int) {
      reduce_to<decltype(zero)>(params.kind, elements, at.offset(x), y, at.offset(y));
    });
  });
  return kOkStatus;
}

Status validate_arg_reduce(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ArgReduceParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_RETURN_IF_ERROR(require_axis(args, params.axis, x.rank));
  PW_REQUIRE(y.dtype == DType::kI64, "ArgReduce: the output is %s, not int64", name_of(y.dtype));
  int64_t dims[kMaxRank];
  for (int axis = 0; axis < x.rank; ++axis) dims[axis] = axis == params.axis ? 1 : x.dims[axis];
  PW_RETURN_IF_ERROR(require_dims(args, 0, dims, x.rank));
  PW_REQUIRE(x.dims[params.axis] > 0 || element_count(y) == 0, "ArgReduce: axis %d is empty", params.axis);
  return kOkStatus;
}

Status run_arg_reduce(const KernelArgs& args) {
  with_accumulator(args.inputs[0].dtype, [&](auto zero) { find_extremes<decltype(zero)>(args); });
  return kOkStatus;
}

Status validate_cumulative(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<CumulativeParams>();
  PW_REQUIRE(params.kind == CumulativeKind::kSum || params.kind == CumulativeKind::kProd, "Cumulative: unknown kind %d",
             static_cast<int>(params.kind));
  PW_RETURN_IF_ERROR(require_axis(args, params.axis, args.inputs[0].rank));
  return require_same(args);
}

Status run_cumulative(const KernelArgs& args) {
  with_accumulator(args.inputs[0].dtype, [&](auto zero) { accumulate<decltype(zero)>(args); });
  return kOkStatus;
}

}  // namespace planwright::reference
