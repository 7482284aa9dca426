// TopK, OneHot and Trilu.
#include "tactics/kernels/reference/heap_sort.h"
#include "tactics/kernels/reference/indices.h"

namespace planwright::reference {
namespace {

// Whether element `a` of the row comes before element `b`: greater (or less) first, ties by the lower index. NaN is
// greater than every number, as for numpy: first among the largest, last among the smallest. A total order, so what is
// chosen does not depend on how it is sorted.
template <typename T>
struct Order {
  const TensorView& x;
  int64_t base, stride;
  bool largest;

  bool operator()(int64_t a, int64_t b) const {
    const T value_a = load<T>(x, base + a * stride), value_b = load<T>(x, base + b * stride);
    const bool nan_a = value_a != value_a, nan_b = value_b != value_b;
    if (nan_a != nan_b) return nan_a == largest;
    if (!nan_a && value_a != value_b) return largest ? value_a > value_b : value_a < value_b;
    return a < b;
  }
};

template <typename T>
void top_k(const KernelArgs& args) {
  const auto& params = args.params_as<TopKParams>();
  const TensorView &x = args.inputs[0], &values = args.outputs[0], &indices = args.outputs[1];
  const int axis = params.axis;
  const int64_t length = x.dims[axis], k = values.dims[axis];
  Box rows(x);
  rows.dims[axis] = k == 0 ? 0 : 1;
  for_each_position(args, rows, [&](const Position& at, int worker) {
    int64_t* sorted = reinterpret_cast<int64_t*>(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    for (int64_t i = 0; i < length; ++i) sorted[i] = i;
    heap_sort(sorted, length, Order<T>{x, at.offset(x), x.strides[axis], params.largest != 0});
    for (int64_t i = 0; i < k; ++i) {
      copy_element(size_of(x.dtype), x.data, at.offset(x) + sorted[i] * x.strides[axis], values.data,
                   at.offset(values) + i * values.strides[axis]);
      store(indices, at.offset(indices) + i * indices.strides[axis], sorted[i]);
    }
  });
}

}  // namespace

Status validate_top_k(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const int axis = args.params_as<TopKParams>().axis;
  const TensorView &x = args.inputs[0], &values = args.outputs[0], &indices = args.outputs[1];
  PW_RETURN_IF_ERROR(require_axis(args, axis, x.rank));
  PW_RETURN_IF_ERROR(require_same_type(args));
  PW_REQUIRE(values.rank == x.rank && values.dims[axis] <= x.dims[axis], "TopK: no %ld of %ld elements",
             values.rank == x.rank ? values.dims[axis] : 0, x.dims[axis]);
  PW_REQUIRE(indices.dtype == DType::kI64, "TopK: indices are %s, not int64", name_of(indices.dtype));
  int64_t dims[kMaxRank];
  for (int i = 0; i < x.rank; ++i) dims[i] = i == axis ? values.dims[axis] : x.dims[i];
  PW_RETURN_IF_ERROR(require_dims(args, 0, dims, x.rank));
  return require_dims(args, 1, dims, x.rank);
}

size_t top_k_workspace(const KernelArgs&) { return 0; }
// The indices of one row.
size_t top_k_scratch(const KernelArgs& args) {
  return static_cast<size_t>(args.inputs[0].dims[args.params_as<TopKParams>().axis]) * sizeof(int64_t);
}

Status run_top_k(const KernelArgs& args) {
  with_accumulator(args.inputs[0].dtype, [&](auto zero) { top_k<decltype(zero)>(args); });
  return kOkStatus;
}

Status validate_one_hot(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &indices = args.inputs[0], &values = args.inputs[1], &y = args.outputs[0];
  const int axis = args.params_as<OneHotParams>().axis;
  PW_RETURN_IF_ERROR(require_axis(args, axis, y.rank));
  PW_REQUIRE(values.rank == 1 && values.dims[0] == 2 && values.dtype == y.dtype,
             "OneHot: off and on values must be two %s elements", name_of(y.dtype));
  PW_REQUIRE(indices.rank + 1 == y.rank, "OneHot: indices of rank %d do not give rank %d", indices.rank, y.rank);
  int64_t dims[kMaxRank];
  for (int i = 0; i < y.rank; ++i) dims[i] = i == axis ? y.dims[i] : indices.dims[i < axis ? i : i - 1];
  return require_dims(args, 0, dims, y.rank);
}

Status run_one_hot(const KernelArgs& args) {
  const TensorView &indices = args.inputs[0], &values = args.inputs[1], &y = args.outputs[0];
  const int axis = args.params_as<OneHotParams>().axis;
  const int64_t depth = y.dims[axis];
  for_each_position(args, Box(y), [&](const Position& at, int) {
    int64_t from = 0;
    for (int i = 0; i < indices.rank; ++i) from += at.at[i < axis ? i : i + 1] * indices.strides[i];
    // An index outside [-depth, depth) gives no "on" at all; indices may be of any type.
    const int64_t index = load<int64_t>(indices, from);
    const bool on = index >= -depth && wrapped(index, depth) == at.at[axis];
    copy_element(size_of(y.dtype), values.data, on ? values.strides[0] : 0, y.data, at.offset(y));
  });
  return kOkStatus;
}

Status validate_trilu(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_REQUIRE(args.inputs[0].rank >= 2, "Trilu: an input of rank %d is no matrix", args.inputs[0].rank);
  return require_same(args);
}

Status run_trilu(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const bool upper = args.params_as<TriluParams>().upper != 0;
  const int64_t k = args.scalars[0];
  const uint64_t zero = 0;
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const int64_t diagonal = at.at[y.rank - 1] - at.at[y.rank - 2];
    const bool kept = upper ? diagonal >= k : diagonal <= k;
    copy_element(size_of(y.dtype), kept ? x.data : &zero, kept ? at.offset(x) : 0, y.data, at.offset(y));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
