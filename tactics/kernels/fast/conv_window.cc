#include "tactics/kernels/fast/conv_window.h"

#include <string.h>

#include "tactics/kernels/registry.h"

namespace planwright::fast {

namespace {

template <typename Params>
ConvWindow window_of(const KernelArgs& args, const Params& params) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  ConvWindow window;
  window.batch = x.dims[0];
  window.channels = x.dims[1];
  window.groups = params.group;
  window.filters = y.dims[1];
  window.x_batch = x.strides[0];
  window.x_channel = x.strides[1];
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
  }
  return window;
}

}  // namespace

bool ConvWindow::is_padded() const {
  for (int i = 0; i < 2; ++i) {
    // The dilation of a phase of a transposed convolution is negative.
    const int64_t reach = (kernel[i] - 1) * dilation[i];
    const int64_t first = (reach < 0 ? reach : 0) - pad[i];
    const int64_t last = (output[i] - 1) * stride[i] + (reach > 0 ? reach : 0) - pad[i];
    if (first < 0 || last >= input[i]) return true;
  }
  return false;
}

ConvWindow conv_window(const KernelArgs& args) {
  if (args.op == OpKind::kConv) return window_of(args, args.params_as<ConvParams>());
  return window_of(args, args.params_as<ConvTransposeParams>());
}

// Output pixels next to each other meet a tap at input pixels `stride` apart, so only one coordinate is looked at for
// each row; the other, and whether it lies in the padding, is the same for all.
void window_rows(const void* context, RowCursor cursor, int count, const float** to) {
  const auto& rows = *static_cast<const WindowRows*>(context);
  const ConvWindow& window = *rows.window;
  const RowBox& box = cursor.box();
  const int spatial = box.rank - 2;
  cursor.for_each_run(count, [&](const int64_t* at, int axis, int64_t length) {
    const int64_t position[2] = {spatial == 2 ? at[2] : 0, at[box.rank - 1]};
    // Along the batch (in which no pixel is padding) when all else has one element.
    const int varying = axis == 0 ? -1 : axis - box.rank + 2;
    const float** tap = to;
    for (int64_t kh = 0; kh < window.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < window.kernel[1]; ++kw, tap += count) {
        const int64_t pixel[2] = {
            position[0] * window.stride[0] - window.pad[0] + kh * window.dilation[0],
            position[1] * window.stride[1] - window.pad[1] + kw * window.dilation[1],
        };
        // Unsigned: what lies outside may be so far outside that its offset wraps.
        uint64_t coordinate = 0, limit = 1, step = 0;
        uint64_t offset = static_cast<uint64_t>(at[0] * window.x_batch), stride = static_cast<uint64_t>(window.x_batch);
        bool outside = false;
        for (int i = 0; i < 2; ++i) {
          offset += static_cast<uint64_t>(pixel[i]) * static_cast<uint64_t>(window.x_strides[i]);
          if (i == varying) {
            coordinate = static_cast<uint64_t>(pixel[i]);
            limit = static_cast<uint64_t>(window.input[i]);
            step = static_cast<uint64_t>(window.stride[i]);
            stride = step * static_cast<uint64_t>(window.x_strides[i]);
          } else {
            outside |= static_cast<uint64_t>(pixel[i]) >= static_cast<uint64_t>(window.input[i]);
          }
        }
        if (outside) limit = 0;
        offset *= static_cast<uint64_t>(rows.element_bytes);
        stride *= static_cast<uint64_t>(rows.element_bytes);
        for (int64_t i = 0; i < length; ++i, coordinate += step, offset += stride) {
          const std::byte* from = coordinate < limit ? rows.x + static_cast<int64_t>(offset) : rows.zeros;
          tap[i] = reinterpret_cast<const float*>(from);
        }
      }
    }
    to += length;
  });
}

WindowRows window_rows_of(const ConvWindow& window, const TensorView& x, int64_t group, const std::byte* zeros) {
  const auto bytes = static_cast<int64_t>(size_of(x.dtype));
  return {&window, x.as<const std::byte>() + group * window.group_channels() * window.x_channel * bytes, bytes, zeros};
}

void output_strides(const TensorView& y, int64_t strides[kMaxRank]) {
  memcpy(strides, y.strides, sizeof(y.strides));
  if (y.dims[1] == 1) strides[1] = 1;
}

Status validate_fast_conv(const KernelArgs& args, const GemmTier& tier, Storage storage) {
  PW_RETURN_IF_ERROR(reference_kernel(args.op).validate(args));
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  if (x.rank > 4) {
    return error(StatusCode::kUnsupported, "the kernel knows one or two spatial axes, not three");
  }
  if (!is_input_stored(x.dtype, storage) || w.dtype != weights_of(storage)) {
    return error(StatusCode::kUnsupported, "the kernel does not convolve %s with %s", name_of(x.dtype),
                 name_of(w.dtype));
  }
  if (y.dims[1] != 1 && y.strides[1] != 1) {
    return error(StatusCode::kUnsupported, "the output is not channels-last, its channels are %ld elements apart",
                 y.strides[1]);
  }
  int64_t taps = 1;
  for (int axis = 2; axis < w.rank; ++axis) taps *= w.dims[axis];  // each at most 2^30
  if (taps > 4096) return error(StatusCode::kUnsupported, "the kernel has %ld taps, more than 4096", taps);
  if (y.dims[1] > tier.most_columns) {
    return error(StatusCode::kUnsupported, "%ld filters, the kernel is for at most %d", y.dims[1], tier.most_columns);
  }
  return validate_epilogue(args, tier, 1, storage);
}

}  // namespace planwright::fast
