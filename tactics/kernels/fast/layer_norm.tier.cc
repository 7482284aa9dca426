// Layer normalisation over trailing axes that are contiguous, fp32, with scale and bias over the same axes: the mean,
// then the variance about it, then the result, three passes over a row that stays in cache.
#include "tactics/kernels/fast/loop_nest.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kTaskElements = 1 << 13;

int64_t row_length(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  int64_t length = 1;
  for (int axis = args.params_as<LayerNormParams>().axis; axis < x.rank; ++axis) length *= x.dims[axis];
  return length;
}

// Whether the axes from `axis` on lie in row-major order without gaps.
bool is_dense_from(const TensorView& view, int axis) {
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= axis; --i) {
    if (view.dims[i] != 1 && view.strides[i] != stride) return false;
    stride *= view.dims[i];
  }
  return true;
}

bool has_input(const KernelArgs& args, int i) { return args.core_inputs > i && !args.inputs[i].absent; }

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kLayerNorm).validate(args));
  const int axis = args.params_as<LayerNormParams>().axis;
  const TensorView& x = args.inputs[0];
  if (x.dtype != DType::kF32) return error(StatusCode::kUnsupported, "not fp32");
  for (int i = 1; i < args.output_count; ++i) {
    if (!args.outputs[i].absent) return error(StatusCode::kUnsupported, "the mean or deviation is wanted");
  }
  const int64_t length = row_length(args);
  for (int i = 1; i < args.core_inputs; ++i) {
    if (!has_input(args, i)) continue;
    if (args.inputs[i].dtype != DType::kF32) return error(StatusCode::kUnsupported, "operand %d is not fp32", i);
    if (element_count(args.inputs[i]) != length || !is_dense_from(args.inputs[i], 0)) {
      return error(StatusCode::kUnsupported, "operand %d is not one row", i);
    }
    // One row, and no axis outside it (an operand [length] against x[.., length] broadcasts as it lies).
    for (int a = 0; a < args.inputs[i].rank; ++a) {
      const int x_axis = a + x.rank - args.inputs[i].rank;
      if (args.inputs[i].dims[a] != (x_axis >= axis ? x.dims[x_axis] : 1)) {
        return error(StatusCode::kUnsupported, "operand %d is not one row", i);
      }
    }
  }
  if (!is_dense_from(x, axis) || !is_dense_from(args.outputs[0], axis)) {
    return error(StatusCode::kUnsupported, "the normalised axes are not innermost");
  }
  return kOkStatus;
}

HWY_INLINE FloatVec load_row(const float* from, int valid) {
  return valid == kLanes ? hn::LoadU(kF, from) : load_n(from, valid);
}

// The sum over a row of f(element), lanes past the end left out.
template <typename F>
HWY_INLINE FloatVec sum_row(const float* x, int64_t count, const F& f) {
  FloatVec sum[2] = {hn::Zero(kF), hn::Zero(kF)};
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    sum[0] = hn::Add(sum[0], f(hn::LoadU(kF, x + i)));
    sum[1] = hn::Add(sum[1], f(hn::LoadU(kF, x + i + kLanes)));
  }
  for (; i < count; i += kLanes) {
    const int valid = static_cast<int>(count - i < kLanes ? count - i : kLanes);
    const FloatVec value = f(load_row(x + i, valid));
    sum[0] = hn::Add(sum[0], hn::IfThenElseZero(hn::FirstN(kF, static_cast<size_t>(valid)), value));
  }
  return hn::SumOfLanes(kF, hn::Add(sum[0], sum[1]));
}

void normalise_row(const KernelArgs& args, const float* x, float* y, int64_t count) {
  const auto& params = args.params_as<LayerNormParams>();
  const float* scale = has_input(args, 1) ? args.inputs[1].as<const float>() : nullptr;
  const float* bias = has_input(args, 2) ? args.inputs[2].as<const float>() : nullptr;
  const FloatVec share = hn::Set(kF, 1.0f / static_cast<float>(count));
  const FloatVec mean =
      params.rms != 0 ? hn::Zero(kF) : hn::Mul(sum_row(x, count, [](FloatVec v) { return v; }), share);
  const FloatVec variance = hn::Mul(sum_row(x, count,
                                            [&](FloatVec v) {
                                              const FloatVec d = hn::Sub(v, mean);
                                              return hn::Mul(d, d);
                                            }),
                                    share);
  const FloatVec inverse = hn::Div(hn::Set(kF, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(kF, params.epsilon))));
  for (int64_t i = 0; i < count; i += kLanes) {
    const int valid = static_cast<int>(count - i < kLanes ? count - i : kLanes);
    FloatVec value = hn::Mul(hn::Sub(load_row(x + i, valid), mean), inverse);
    if (scale != nullptr) value = hn::Mul(value, load_row(scale + i, valid));
    if (bias != nullptr) value = hn::Add(value, load_row(bias + i, valid));
    if (valid == kLanes) {
      hn::StoreU(value, kF, y + i);
    } else {
      store_n(value, y + i, valid);
    }
  }
}

Status run(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const int axis = args.params_as<LayerNormParams>().axis;
  int64_t strides[2][kMaxRank];
  for (int i = 0; i < axis; ++i) {
    strides[0][i] = y.strides[i];
    strides[1][i] = x.strides[i];
  }
  const LoopNest nest = make_loop_nest(axis, x.dims, 2, strides);
  const int64_t length = row_length(args), inner = nest.inner(), rows = nest.outer_count() * inner;
  const int64_t group = kTaskElements / length + 1;
  parallel_for(*args.executor, (rows + group - 1) / group, [&](int64_t task, int) {
    int64_t row = task * group;
    const int64_t end = row + group < rows ? row + group : rows;
    OuterPosition at(nest, row / inner);
    while (row < end) {
      const int64_t column = row % inner;
      normalise_row(args, x.as<const float>() + at.offset(1) + column * nest.strides[1][nest.rank - 1],
                    y.as<float>() + at.offset(0) + column * nest.strides[0][nest.rank - 1], length);
      if (++row % inner == 0) at.next();
    }
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "layer_norm_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kLayerNorm,
    .isa = PW_TIER_ISA,
    .validate = validate,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(layer_norm_f32)
