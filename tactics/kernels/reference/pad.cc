#include "schemas/types/checked.h"
#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// The element of an axis of `dim` > 0 elements that stands at `index`, which may lie outside.
int64_t source_index(PadMode mode, int64_t index, int64_t dim) {
  if (index >= 0 && index < dim) return index;
  if (mode == PadMode::kEdge) return index < 0 ? 0 : dim - 1;
  // Reflections repeat with a period that goes there and back without the two ends twice.
  const int64_t period = mode == PadMode::kWrap ? dim : dim == 1 ? 1 : 2 * (dim - 1);
  const int64_t within = (index % period + period) % period;
  return within < dim ? within : period - within;
}

bool has_value(const KernelArgs& args) { return args.core_inputs > 1 && !args.inputs[1].absent; }

}  // namespace

Status validate_pad(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const PadMode mode = args.params_as<PadParams>().mode;
  PW_REQUIRE(mode >= PadMode::kConstant && mode <= PadMode::kWrap, "Pad: unknown mode %d", static_cast<int>(mode));
  PW_REQUIRE(x.rank == y.rank, "Pad: ranks %d and %d differ", x.rank, y.rank);
  for (int axis = 0; axis < x.rank; ++axis) {
    // Far from where a sum of two could overflow.
    constexpr int64_t kMost = int64_t{1} << 60;
    const int64_t begin = args.scalars[axis], end = args.scalars[x.rank + axis], in = x.dims[axis];
    PW_REQUIRE(begin >= -kMost && begin <= kMost && end >= -kMost && end <= kMost && in <= kMost,
               "Pad: %ld and %ld around %ld elements at axis %d are out of range", begin, end, in, axis);
    PW_REQUIRE(y.dims[axis] == in + begin + end, "Pad: %ld elements at axis %d with %ld and %ld around are not %ld", in,
               axis, begin, end, y.dims[axis]);
    PW_REQUIRE(mode == PadMode::kConstant || in > 0 || y.dims[axis] == 0,
               "Pad: axis %d is empty and has nothing to repeat", axis);
  }
  if (has_value(args)) {
    PW_REQUIRE(element_count(args.inputs[1]) == 1 && args.inputs[1].dtype == x.dtype,
               "Pad: the value must be one %s element", name_of(x.dtype));
  }
  return kOkStatus;
}

Status run_pad(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const PadMode mode = args.params_as<PadParams>().mode;
  const uint64_t zero = 0;
  const void* value = has_value(args) ? args.inputs[1].data : &zero;
  for_each_position(args, Box(y), [&](const Position& at, int) {
    int64_t from = 0;
    for (int axis = 0; axis < x.rank; ++axis) {
      const int64_t index = at.at[axis] - args.scalars[axis];
      if (mode == PadMode::kConstant && (index < 0 || index >= x.dims[axis])) {
        return copy_element(size_of(y.dtype), value, 0, y.data, at.offset(y));
      }
      from += source_index(mode, index, x.dims[axis]) * x.strides[axis];
    }
    copy_element(size_of(y.dtype), x.data, from, y.data, at.offset(y));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
