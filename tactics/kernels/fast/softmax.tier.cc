// Softmax and log-softmax along an axis whose elements are contiguous, fp32: three passes over a row that stays in
// cache. Sums are kept in one vector of partial sums and folded by a fixed tree, so that bits do not depend on threads.
#include "tactics/kernels/fast/loop_nest.h"
#include "tactics/kernels/fast/vector_math.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kTaskElements = 1 << 13;  // an exponential costs some ten plain operations

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kSoftmax).validate(args));
  const auto& params = args.params_as<SoftmaxParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (x.dtype != DType::kF32) return error(StatusCode::kUnsupported, "not fp32");
  if (params.log > 1) return error(StatusCode::kUnsupported, "hardmax");
  if (x.dims[params.axis] > 1 && (x.strides[params.axis] != 1 || y.strides[params.axis] != 1)) {
    return error(StatusCode::kUnsupported, "the axis is not innermost");
  }
  return kOkStatus;
}

// Lanes past the end of a row take `fill`.
HWY_INLINE FloatVec load_or(const float* from, int valid, float fill) {
  if (valid == kLanes) return hn::LoadU(kF, from);
  return hn::IfThenElse(hn::FirstN(kF, static_cast<size_t>(valid)), load_n(from, valid), hn::Set(kF, fill));
}

HWY_INLINE int valid_lanes(int64_t count, int64_t at) {
  return static_cast<int>(count - at < kLanes ? count - at : kLanes);
}

void store_or(FloatVec value, float* to, int valid) {
  if (valid == kLanes) {
    hn::StoreU(value, kF, to);
  } else {
    store_n(value, to, valid);
  }
}

// In place where y is x.
void softmax_row(const float* x, float* y, int64_t count, bool log) {
  FloatVec most = hn::Set(kF, -__builtin_inff());
  for (int64_t i = 0; i < count; i += kLanes) {
    most = hn::Max(most, load_or(x + i, valid_lanes(count, i), -__builtin_inff()));
  }
  const FloatVec max = hn::MaxOfLanes(kF, most);
  FloatVec sum = hn::Zero(kF);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int valid = valid_lanes(count, i);
    const FloatVec shifted = hn::Sub(load_or(x + i, valid, -__builtin_inff()), max);
    const FloatVec power = vector_exp_of_negative(shifted);
    store_or(log ? shifted : power, y + i, valid);
    sum = hn::Add(sum, valid == kLanes ? power : hn::IfThenElseZero(hn::FirstN(kF, static_cast<size_t>(valid)), power));
  }
  const FloatVec total = hn::SumOfLanes(kF, sum);
  const FloatVec log_total = vector_log(total);
  const FloatVec scale = hn::Div(hn::Set(kF, 1.0f), total);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int valid = valid_lanes(count, i);
    const FloatVec value = load_or(y + i, valid, 0.0f);
    store_or(log ? hn::Sub(value, log_total) : hn::Mul(value, scale), y + i, valid);
  }
}

Status run(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const auto& params = args.params_as<SoftmaxParams>();
  // The loops over all axes but the softmax's: view 0 is y, view 1 is x. One more axis of length 1 stands for it.
  int64_t dims[kMaxRank], strides[2][kMaxRank];
  for (int axis = 0; axis < x.rank; ++axis) {
    dims[axis] = axis == params.axis ? 1 : x.dims[axis];
    strides[0][axis] = y.strides[axis];
    strides[1][axis] = x.strides[axis];
  }
  const LoopNest nest = make_loop_nest(x.rank, dims, 2, strides);
  const int64_t length = x.dims[params.axis], rows = nest.outer_count() * nest.inner();
  const int64_t group = kTaskElements / length + 1;
  const int inner = nest.rank - 1;
  parallel_for(*args.executor, (rows + group - 1) / group, [&](int64_t task, int) {
    int64_t row = task * group;
    const int64_t end = row + group < rows ? row + group : rows;
    OuterPosition at(nest, row / nest.inner());
    while (row < end) {
      const int64_t column = row % nest.inner();
      softmax_row(x.as<const float>() + at.offset(1) + column * nest.strides[1][inner],
                  y.as<float>() + at.offset(0) + column * nest.strides[0][inner], length, params.log == 1);
      if (++row % nest.inner() == 0) at.next();
    }
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "softmax_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kSoftmax,
    .isa = PW_TIER_ISA,
    .validate = validate,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(softmax_f32)
