// Pad of any type, as strided copies: the input into its place, then along one axis after another what lies before and
// after it. Reflections are copies with a negative stride, edges and constants copies that repeat one element.
#include "tactics/kernels/fast/strided_copy.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

int64_t at_least_zero(int64_t value) { return value < 0 ? 0 : value; }

// Of one axis: output elements [begin, end) come from the input's from `from` on.
struct Interior {
  int64_t begin, end, from;
};
Interior interior_of(const KernelArgs& args, int axis) {
  const int64_t in = args.inputs[0].dims[axis], out = args.outputs[0].dims[axis], pad = args.scalars[axis];
  // Where more is cropped than there is, nothing is left inside, and that lies within the output.
  const int64_t begin = pad > out ? out : at_least_zero(pad), from = at_least_zero(-pad);
  const int64_t left = in - from, room = out - begin;
  return {begin, begin + at_least_zero(left < room ? left : room), from};
}

// How many elements a mode can add beside `length` of them by one copy.
int64_t reach_of(PadMode mode, int64_t length) {
  switch (mode) {
    case PadMode::kReflect: return length - 1;
    case PadMode::kWrap: return length;
    default: return INT64_MAX;
  }
}

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kPad).validate(args));
  const PadMode mode = args.params_as<PadParams>().mode;
  if (mode == PadMode::kConstant || element_count(args.outputs[0]) == 0) return kOkStatus;
  const int rank = args.inputs[0].rank;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t before = args.scalars[axis], after = args.scalars[rank + axis];
    const int64_t reach = reach_of(mode, args.inputs[0].dims[axis]);
    if (before < 0 || after < 0) return error(StatusCode::kUnsupported, "crops and repeats at once");
    if (before > reach || after > reach) return error(StatusCode::kUnsupported, "repeats more than once");
  }
  return kOkStatus;
}

// A copy within the output, over [begin, end) of each axis.
class Region {
 public:
  explicit Region(const TensorView& y) : y_(y) {
    for (int axis = 0; axis < y.rank; ++axis) set(axis, 0, y.dims[axis], y.strides[axis]);
  }

  // Along `axis` elements [begin, end) are copied from `from_stride` apart.
  void set(int axis, int64_t begin, int64_t end, int64_t from_stride) {
    begin_[axis] = begin;
    dims_[axis] = end - begin;
    strides_[0][axis] = y_.strides[axis];
    strides_[1][axis] = from_stride;
  }
  void repeat_everywhere() {
    for (int64_t& stride : strides_[1]) stride = 0;
  }

  int64_t begin_offset() const {
    int64_t offset = 0;
    for (int axis = 0; axis < y_.rank; ++axis) offset += begin_[axis] * y_.strides[axis];
    return offset;
  }

  void copy_from(Executor& executor, const std::byte* from) const {
    const int64_t size = static_cast<int64_t>(size_of(y_.dtype));
    StridedCopy copy = {make_loop_nest(y_.rank, dims_, 2, strides_), y_.as<std::byte>() + begin_offset() * size, from,
                        size, nullptr};
    lengthen_inner(&copy.nest);
    strided_copy(executor, copy);
  }

 private:
  const TensorView& y_;
  int64_t begin_[kMaxRank];
  int64_t dims_[kMaxRank];
  int64_t strides_[2][kMaxRank];
};

// Fills [begin, end) along `axis`, which lies before or after the elements that are there already.
void fill_border(const KernelArgs& args, Region region, int axis, int64_t begin, int64_t end, const void* constant) {
  if (begin == end) return;
  const TensorView& y = args.outputs[0];
  const Interior inside = interior_of(args, axis);
  const int64_t stride = y.strides[axis], length = inside.end - inside.begin;
  const bool is_before = end <= inside.begin;
  const PadMode mode = args.params_as<PadParams>().mode;
  if (mode == PadMode::kConstant) {
    region.set(axis, begin, end, 0);
    region.repeat_everywhere();
    return region.copy_from(*args.executor, static_cast<const std::byte*>(constant));
  }
  // Where the first element of the border comes from.
  int64_t source = 0, step = stride;
  switch (mode) {
    case PadMode::kReflect:
      source = is_before ? inside.begin + (inside.begin - begin) : inside.end - 2;
      step = -stride;
      break;
    case PadMode::kWrap: source = is_before ? begin + length : begin - length; break;
    default:
      source = is_before ? inside.begin : inside.end - 1;
      step = 0;
      break;
  }
  region.set(axis, begin, end, step);
  const int64_t offset = region.begin_offset() + (source - begin) * stride;
  region.copy_from(*args.executor, y.as<std::byte>() + offset * static_cast<int64_t>(size_of(y.dtype)));
}

Status run(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const uint64_t zero = 0;
  const void* constant = args.core_inputs > 1 && !args.inputs[1].absent ? args.inputs[1].data : &zero;
  Region region(y);
  int64_t from = 0;
  bool is_empty = false;
  for (int axis = 0; axis < y.rank; ++axis) {
    const Interior inside = interior_of(args, axis);
    is_empty = is_empty || inside.begin == inside.end;
    if (is_empty) break;  // what is cropped may lie far outside
    region.set(axis, inside.begin, inside.end, x.strides[axis]);
    from += inside.from * x.strides[axis];
  }
  if (!is_empty) {
    region.copy_from(*args.executor, x.as<const std::byte>() + from * static_cast<int64_t>(size_of(x.dtype)));
  }
  for (int axis = 0; axis < y.rank; ++axis) {
    const Interior inside = interior_of(args, axis);
    // All of the axes before, what came from the input along those after.
    Region border(y);
    for (int after = axis + 1; after < y.rank; ++after) {
      const Interior kept = interior_of(args, after);
      border.set(after, kept.begin, kept.end, y.strides[after]);
    }
    fill_border(args, border, axis, 0, inside.begin, constant);
    fill_border(args, border, axis, inside.end, y.dims[axis], constant);
  }
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "movement_pad",
    .revision = 1,
    .op = OpKind::kPad,
    .isa = Isa::kReference,
    .validate = validate,
    .run = run,
}};

}  // namespace

extern const KernelTable pad_table;
const KernelTable pad_table = {kKernels, 1};

}  // namespace planwright
