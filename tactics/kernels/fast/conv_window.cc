#include "tactics/kernels/fast/conv_window.h"

#include "tactics/kernels/fast/epilogue.h"
#include "tactics/kernels/registry.h"

namespace planwright::fast {

bool ConvWindow::is_padded() const {
  for (int i = 0; i < 2; ++i) {
    const int64_t last = (output[i] - 1) * stride[i] - pad[i] + (kernel[i] - 1) * dilation[i];
    if (pad[i] > 0 || last >= input[i]) return true;
  }
  return false;
}

ConvWindow conv_window(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const auto& params = args.params_as<ConvParams>();
  ConvWindow window;
  window.batch = x.dims[0];
  window.channels = x.dims[1];
  window.groups = params.group;
  window.filters = y.dims[1];
  window.x_batch = x.strides[0];
  window.x_channel = x.strides[1];
  window.y_batch = y.strides[0];
  window.y_channel = y.strides[1];
  const int missing = 2 - params.spatial;
  for (int i = 0; i < 2; ++i) {
    const int of = i - missing, axis = of + 2;
    const bool real = of >= 0;
    window.input[i] = real ? x.dims[axis] : 1;
    window.output[i] = real ? y.dims[axis] : 1;
    window.kernel[i] = real ? w.dims[axis] : 1;
    window.stride[i] = real ? params.stride[of] : 1;
    window.dilation[i] = real ? params.dilation[of] : 1;
    window.pad[i] = real ? args.scalars[of] : 0;
    window.x_strides[i] = real ? x.strides[axis] : 0;
    window.y_strides[i] = real ? y.strides[axis] : 0;
  }
  return window;
}

Status validate_fast_conv(const KernelArgs& args, const GemmTier& tier) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kConv).validate(args));
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  if (args.params_as<ConvParams>().spatial > 2) {
    return error(StatusCode::kUnsupported, "the kernel knows one or two spatial axes, not three");
  }
  if (x.dtype != DType::kF32 || w.dtype != DType::kF32) {
    return error(StatusCode::kUnsupported, "the kernel convolves fp32 with fp32, not %s with %s", name_of(x.dtype),
                 name_of(w.dtype));
  }
  if (y.dims[1] != 1 && y.strides[1] != 1) {
    return error(StatusCode::kUnsupported, "the output is not channels-last, its channels are %ld elements apart",
                 y.strides[1]);
  }
  int64_t taps = 1;
  for (int axis = 2; axis < w.rank; ++axis) taps *= w.dims[axis];  // each at most 2^30
  if (taps > 4096) return error(StatusCode::kUnsupported, "the kernel has %ld taps, more than 4096", taps);
  return validate_epilogue(args, tier);
}

}  // namespace planwright::fast
