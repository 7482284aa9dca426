#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"
#include "tactics/kernels/reference/window.h"

namespace planwright::reference {
namespace {

// Taps [first, last) of a window.
struct TapRange {
  int64_t first, last;
  int64_t count() const { return last > first ? last - first : 0; }
};

// The taps of a window that starts at `start` whose positions lie in [low, high).
TapRange taps_within(int64_t start, int64_t kernel, int64_t dilation, int64_t low, int64_t high) {
  // How many taps lie before `end`.
  const auto taps_before = [&](int64_t end) {
    const int64_t taps = end <= start ? 0 : (end - start + dilation - 1) / dilation;
    return taps < kernel ? taps : kernel;
  };
  return {taps_before(low), taps_before(high)};
}

// Calls body(offset, spatial position) for each element of the input that the window at `at` covers, and returns how
// many of its positions lie inside the padded input.
template <typename Body>
double for_each_in_window(const KernelArgs& args, const Position& at, const Body& body) {
  const auto& params = args.params_as<PoolParams>();
  const TensorView& x = args.inputs[0];
  Box inside;
  inside.rank = params.spatial;
  Position first;  // the spatial position of the first tap inside
  double in_padded = 1;
  for (int i = 0; i < params.spatial; ++i) {
    const int64_t begin = args.scalars[i], end = args.scalars[params.spatial + i], dim = x.dims[2 + i];
    const int64_t start = at.at[2 + i] * params.stride[i] - begin;
    const TapRange taps = taps_within(start, params.kernel[i], params.dilation[i], 0, dim);
    inside.dims[i] = taps.count();
    first.at[i] = start + taps.first * params.dilation[i];
    const TapRange padded = taps_within(start, params.kernel[i], params.dilation[i], -begin, dim + end);
    in_padded *= static_cast<double>(padded.count());
  }
  for_each_position_in_order(inside, [&](const Position& tap) {
    Position position;
    for (int i = 0; i < params.spatial; ++i) position.at[i] = first.at[i] + tap.at[i] * params.dilation[i];
    body(at.offset(x.strides, 2) + position.offset(x.strides + 2, params.spatial), position);
  });
  return in_padded;
}

// The element's index in the flattened input, N*C*D1*..., or with the spatial axes in the opposite order.
int64_t flat_index(const TensorView& x, const Position& at, const Position& spatial, bool column_major) {
  const int n = x.rank - 2;
  int64_t index = 0, plane = 1;
  for (int i = 0; i < n; ++i) {
    const int axis = column_major ? n - 1 - i : i;
    index = index * x.dims[2 + axis] + spatial.at[axis];
    plane *= x.dims[2 + axis];
  }
  return (at.at[0] * x.dims[1] + at.at[1]) * plane + index;
}

template <typename T>
void pool_max(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const bool with_indices = args.output_count > 1 && !args.outputs[1].absent;
  const bool column_major = args.params_as<PoolParams>().column_major_indices != 0;
  for_each_position(args, Box(y), [&](const Position& at, int) {
    // What a window that lies wholly in the padding gives.
    T most = kIsFloating<T> ? T(-INFINITY) : T(-1) < T(0) ? static_cast<T>(INT64_MIN) : T(0);
    Position where;
    bool found = false;
    for_each_in_window(args, at, [&](int64_t offset, const Position& position) {
      const T value = load<T>(x, offset);
      if (!found || value > most || value != value) {
        most = value;
        where = position;
      }
      found = true;
    });
    store(y, at.offset(y), most);
    if (with_indices) {
      const int64_t index = found ? flat_index(x, at, where, column_major) : -1;
      store(args.outputs[1], at.offset(args.outputs[1]), index);
    }
  });
}

void pool_average(const KernelArgs& args) {
  const bool include_pad = args.params_as<PoolParams>().count_include_pad != 0;
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  for_each_position(args, Box(y), [&](const Position& at, int) {
    double sum = 0, count = 0;
    const double in_padded = for_each_in_window(args, at, [&](int64_t offset, const Position&) {
      sum += load<double>(x, offset);
      ++count;
    });
    const double divisor = include_pad ? in_padded : count;
    store(y, at.offset(y), divisor == 0 ? 0 : sum / divisor);
  });
}

void pool_lp(const KernelArgs& args) {
  const double p = args.params_as<PoolParams>().p;
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  for_each_position(args, Box(y), [&](const Position& at, int) {
    double sum = 0;
    for_each_in_window(args, at,
                       [&](int64_t offset, const Position&) { sum += pow(fabs(load<double>(x, offset)), p); });
    store(y, at.offset(y), pow(sum, 1.0 / p));
  });
}

}  // namespace

Status validate_pool(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<PoolParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(params.kind >= PoolKind::kMax && params.kind <= PoolKind::kLp, "Pool: unknown kind %d",
             static_cast<int>(params.kind));
  PW_REQUIRE(params.spatial >= 1 && params.spatial <= kMaxSpatial, "Pool: %d spatial axes, not 1 to 3", params.spatial);
  PW_REQUIRE(x.rank == params.spatial + 2 && y.rank == x.rank, "Pool: ranks %d and %d do not fit %d spatial axes",
             x.rank, y.rank, params.spatial);
  PW_REQUIRE(y.dims[0] == x.dims[0] && y.dims[1] == x.dims[1], "Pool: batch or channels differ");
  PW_RETURN_IF_ERROR(require_same_type(args));
  PW_REQUIRE(params.kind == PoolKind::kMax || is_float(x.dtype), "Pool: no average of %s", name_of(x.dtype));
  PW_REQUIRE(params.kind != PoolKind::kLp || params.p >= 1, "Pool: p is %d", params.p);
  for (int i = 0; i < params.spatial; ++i) {
    const Window window = {params.kernel[i], params.stride[i], params.dilation[i], args.scalars[i],
                           args.scalars[params.spatial + i]};
    PW_RETURN_IF_ERROR(validate_window(args.op, i, window, x.dims[2 + i], y.dims[2 + i]));
  }
  if (args.output_count > 1 && !args.outputs[1].absent) {
    PW_REQUIRE(params.kind == PoolKind::kMax, "Pool: only a maximum has an index");
    PW_REQUIRE(args.outputs[1].dtype == DType::kI64, "Pool: indices are %s, not int64", name_of(args.outputs[1].dtype));
    return require_dims(args, 1, y.dims, y.rank);
  }
  return kOkStatus;
}

Status run_pool(const KernelArgs& args) {
  switch (args.params_as<PoolParams>().kind) {
    case PoolKind::kMax:
      with_accumulator(args.inputs[0].dtype, [&](auto zero) { pool_max<decltype(zero)>(args); });
      break;
    case PoolKind::kAverage: pool_average(args); break;
    case PoolKind::kLp: pool_lp(args); break;
  }
  return kOkStatus;
}

}  // namespace planwright::reference
