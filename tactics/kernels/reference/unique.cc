// Unique: the distinct elements of a tensor, or its distinct slices along an axis.
#include "tactics/kernels/reference/heap_sort.h"
#include "tactics/kernels/reference/indices.h"

namespace planwright::reference {
namespace {

// The things that are compared: slice i of x, or its i-th element in row-major order.
struct Slices {
  const TensorView& x;
  int axis;   // -1: elements
  Box inner;  // a slice's elements; a single one where axis is -1
  int64_t count;

  explicit Slices(const KernelArgs& args)
      : x(args.inputs[0]), axis(args.params_as<UniqueParams>().axis), inner(x), count(element_count(x)) {
    if (axis < 0) {
      inner = Box();
      return;
    }
    count = x.dims[axis];
    inner.dims[axis] = 1;
  }

  int64_t offset(int64_t i) const { return axis < 0 ? Position(Box(x), i).offset(x) : i * x.strides[axis]; }

  // Negative, 0 or positive as slice a comes before b, is it, or comes after it; NaN is the largest and equals itself.
  template <typename T>
  int compare(int64_t a, int64_t b) const {
    int result = 0;
    const int64_t from_a = offset(a), from_b = offset(b);
    const int64_t elements = inner.count();
    Position at;
    for (int64_t i = 0; i < elements && result == 0; ++i, at.advance(inner)) {
      const int64_t step = axis < 0 ? 0 : at.offset(x);
      const T left = load<T>(x, from_a + step), right = load<T>(x, from_b + step);
      const bool left_nan = left != left, right_nan = right != right;
      if (left_nan || right_nan) {
        result = int{left_nan} - int{right_nan};
      } else {
        result = int{left > right} - int{left < right};
      }
    }
    return result;
  }
};

// `order` sorted by slice, equal ones by index; group[i]: the number of slice i among the distinct ones, ascending, or
// where `sorted` is false in the order in which they first come. Returns how many there are.
template <typename T>
int64_t group_slices(const Slices& slices, bool sorted, int64_t* order, int64_t* group, int64_t* renumbered) {
  for (int64_t i = 0; i < slices.count; ++i) order[i] = i;
  heap_sort(order, slices.count, [&](int64_t a, int64_t b) {
    const int compared = slices.compare<T>(a, b);
    return compared != 0 ? compared < 0 : a < b;
  });
  int64_t groups = 0;
  for (int64_t i = 0; i < slices.count; ++i) {
    if (i == 0 || slices.compare<T>(order[i - 1], order[i]) != 0) ++groups;
    group[order[i]] = groups - 1;
  }
  if (sorted) return groups;
  for (int64_t i = 0; i < groups; ++i) renumbered[i] = -1;
  int64_t next = 0;
  for (int64_t i = 0; i < slices.count; ++i) {
    int64_t& number = renumbered[group[i]];
    if (number < 0) number = next++;
    group[i] = number;
  }
  return groups;
}

void copy_slice(const Slices& slices, int64_t i, const TensorView& y, int64_t to) {
  const size_t size = size_of(y.dtype);
  if (slices.axis < 0) return copy_element(size, slices.x.data, slices.offset(i), y.data, to * y.strides[0]);
  for_each_position_in_order(slices.inner, [&](const Position& at) {
    copy_element(size, slices.x.data, slices.offset(i) + at.offset(slices.x), y.data,
                 to * y.strides[slices.axis] + at.offset(y));
  });
}

void store_at(const TensorView& list, int64_t index, int64_t value) {
  if (!list.absent) store(list, index * list.strides[0], value);
}

}  // namespace

Status validate_unique(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const TensorView& x = args.inputs[0];
  const int axis = args.params_as<UniqueParams>().axis;
  if (axis != -1) PW_RETURN_IF_ERROR(require_axis(args, axis, x.rank));
  const int64_t count = axis < 0 ? element_count(x) : x.dims[axis];
  PW_RETURN_IF_ERROR(axis < 0 ? require_dims(args, 0, &count, 1) : require_dims(args, 0, x.dims, x.rank));
  const int64_t one = 1;
  for (int i = 1; i < args.output_count; ++i) {
    if (args.outputs[i].absent) continue;
    PW_REQUIRE(args.outputs[i].dtype == DType::kI64, "Unique: output %d is %s, not int64", i,
               name_of(args.outputs[i].dtype));
    PW_RETURN_IF_ERROR(require_dims(args, i, i == 1 ? &one : &count, 1));
  }
  return kOkStatus;
}

size_t unique_workspace(const KernelArgs& args) {
  return 3 * sizeof(int64_t) * static_cast<size_t>(Slices(args).count);
}
size_t unique_scratch(const KernelArgs&) { return 0; }

// The lists are filled as far as there are distinct slices; what is behind stays as it was.
Status run_unique(const KernelArgs& args) {
  const Slices slices(args);
  const TensorView absent = {.absent = true};
  const auto output = [&](int i) -> const TensorView& { return i < args.output_count ? args.outputs[i] : absent; };
  const TensorView &first = output(2), &inverse = output(3), &counts = output(4);
  auto* order = reinterpret_cast<int64_t*>(args.workspace);
  int64_t *group = order + slices.count, *seen = group + slices.count;
  int64_t groups = 0;
  with_accumulator(slices.x.dtype, [&](auto zero) {
    groups = group_slices<decltype(zero)>(slices, args.params_as<UniqueParams>().sorted != 0, order, group, seen);
  });
  for (int64_t i = 0; i < groups; ++i) seen[i] = 0;
  for (int64_t i = 0; i < slices.count; ++i) {
    const int64_t number = group[i];
    if (seen[number]++ == 0) {
      copy_slice(slices, i, args.outputs[0], number);
      store_at(first, number, i);
    }
    store_at(inverse, i, number);
  }
  for (int64_t i = 0; i < groups; ++i) store_at(counts, i, seen[i]);
  store_at(output(1), 0, groups);
  return kOkStatus;
}

}  // namespace planwright::reference
