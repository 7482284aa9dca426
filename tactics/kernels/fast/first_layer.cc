#include "tactics/kernels/fast/first_layer.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/conv.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

constexpr int64_t kMostChannels = 8;
// With a 7x7 kernel of stride 2, 8 output rows copy 2.6 times the input rows that they advance by; 4 would copy 3.3.
constexpr int64_t kOutputRows = 8;
// Of the padded copy; wider images are left to other kernels.
constexpr int64_t kMostCopyBytes = int64_t{16} << 20;

// The padded copy of the input rows that a task sees.
struct Copy {
  int64_t output_rows;    // of a task
  int64_t rows, columns;  // of the copy
  int64_t channels;
  // Floats of a tap's run, and how many runs a kernel row has: 1, or each of its taps where they are dilated.
  int64_t run, runs;
  int64_t taps;  // as the micro kernel sees them

  int64_t row_floats() const { return columns * channels; }
};

Copy copy_of(const ConvWindow& window, const TacticParams& tactic) {
  Copy copy;
  copy.output_rows = tactic.v[0] > 0 ? tactic.v[0] : kOutputRows;
  if (copy.output_rows > window.output[0]) copy.output_rows = window.output[0];
  copy.rows = (copy.output_rows - 1) * window.stride[0] + (window.kernel[0] - 1) * window.dilation[0] + 1;
  copy.columns = (window.output[1] - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1] + 1;
  copy.channels = window.channels;
  const bool dense = window.dilation[1] == 1;
  copy.run = dense ? window.kernel[1] * window.channels : window.channels;
  copy.runs = dense ? 1 : window.kernel[1];
  copy.taps = window.kernel[0] * copy.runs;
  return copy;
}

size_t copy_bytes(const Copy& copy) {
  return align_up(static_cast<size_t>(copy.rows * copy.row_floats()) * sizeof(float), 64);
}

// to[i * kChannels + c] = from[c * channel + i * stride]: pixel by pixel, so that stores follow one another.
template <int kChannels>
void interleave(const float* from, int64_t channel, int64_t stride, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i, from += stride, to += kChannels) {
#pragma GCC unroll 4
    for (int c = 0; c < kChannels; ++c) to[c] = from[c * channel];
  }
}

// Writes row `y` of the input, padded to `columns` pixels from column -pad on, channels-last.
void copy_row(const ConvWindow& window, const float* x, int64_t y, int64_t columns, float* to) {
  const int64_t channels = window.channels;
  const int64_t width = window.input[1];
  if (y < 0 || y >= window.input[0]) {
    memset(to, 0, static_cast<size_t>(columns * channels) * sizeof(float));
    return;
  }
  // Columns [first, last) of the copy lie in the input.
  const int64_t pad = window.pad[1];
  const int64_t first = pad < 0 ? 0 : pad < columns ? pad : columns;
  int64_t last = width + pad < columns ? width + pad : columns;
  if (last < first) last = first;
  memset(to, 0, static_cast<size_t>(first * channels) * sizeof(float));
  memset(to + last * channels, 0, static_cast<size_t>((columns - last) * channels) * sizeof(float));
  const int64_t stride = window.x_strides[1];
  x += y * window.x_strides[0] + (first - pad) * stride;
  to += first * channels;
  if (stride == channels && (window.x_channel == 1 || channels == 1)) {
    memcpy(to, x, static_cast<size_t>((last - first) * channels) * sizeof(float));
    return;
  }
  const int64_t count = last - first;
  switch (channels) {
    case 1: return interleave<1>(x, window.x_channel, stride, count, to);
    case 3: return interleave<3>(x, window.x_channel, stride, count, to);
    case 4: return interleave<4>(x, window.x_channel, stride, count, to);
    default:
      for (int64_t c = 0; c < channels; ++c) {
        const float* from = x + c * window.x_channel;
        for (int64_t i = 0; i < count; ++i) to[i * channels + c] = from[i * stride];
      }
  }
}

struct CopiedRows {
  const ConvWindow* window;
  const Copy* copy;
  const float* data;
};

void copied_rows(const void* context, RowCursor cursor, int count, const float** to) {
  const auto& rows = *static_cast<const CopiedRows*>(context);
  const ConvWindow& window = *rows.window;
  const RowBox& box = cursor.box();
  const int spatial = box.rank - 2;
  cursor.for_each_run(count, [&](const int64_t* at, int axis, int64_t length) {
    const int64_t position[2] = {spatial == 2 ? at[2] : 0, at[box.rank - 1]};
    const float* start = rows.data + position[0] * window.stride[0] * rows.copy->row_floats() +
                         position[1] * window.stride[1] * window.channels;
    // Along the width, or along the height of an output one pixel wide.
    const int64_t stride =
        axis == box.rank - 1 ? window.stride[1] * window.channels : window.stride[0] * rows.copy->row_floats();
    const float** tap = to;
    for (int64_t kh = 0; kh < window.kernel[0]; ++kh) {
      for (int64_t run = 0; run < rows.copy->runs; ++run, tap += count) {
        const float* from =
            start + kh * window.dilation[0] * rows.copy->row_floats() + run * window.dilation[1] * window.channels;
        for (int64_t i = 0; i < length; ++i) tap[i] = from + i * stride;
      }
    }
    to += length;
  });
}

}  // namespace

Status validate_first_layer(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *shape.tier, storage_of(shape)));
  if (args.inputs[0].dtype != DType::kF32) {
    return error(StatusCode::kUnsupported, "the input is %s, the kernel reads fp32", name_of(args.inputs[0].dtype));
  }
  if (args.tactic.v[0] < 0) return error(StatusCode::kInvalid, "tactic of %d output rows a task", args.tactic.v[0]);
  const ConvWindow window = conv_window(args);
  if (window.groups != 1 || window.channels > kMostChannels) {
    return error(StatusCode::kUnsupported, "%ld channels in %ld groups, the kernel is for at most %ld in one",
                 window.channels, window.groups, kMostChannels);
  }
  size_t packed;
  if (!packed_bytes({window.filters, shape.tier->lanes, shape.vectors}, window.taps() * window.channels, 1, &packed)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  // Dims, strides, dilations and padding are at most 2^30, so only the products need care.
  const Copy copy = copy_of(window, args.tactic);
  int64_t floats;
  if (!checked_mul(copy.rows, copy.columns, &floats) || !checked_mul(floats, window.channels, &floats) ||
      floats > kMostCopyBytes / static_cast<int64_t>(sizeof(float))) {
    return error(StatusCode::kUnsupported, "the copy of %ld input rows is larger than %ld bytes", copy.rows,
                 kMostCopyBytes);
  }
  return kOkStatus;
}

size_t first_layer_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  if (element_count(args.outputs[0]) == 0) return 0;
  const ConvWindow window = conv_window(args);
  const Copy copy = copy_of(window, args.tactic);
  return copy_bytes(copy) + gemm_scratch_size(shape, copy.taps, copy.run, args.input_count - args.core_inputs);
}

int first_layer_tactics(const KernelArgs& args, const GemmShape&, TacticParams* list, int capacity) {
  const ConvWindow window = conv_window(args);
  int count = 0;
  if (count < capacity) list[count++] = {};
  // Half as many and twice as many rows.
  if (window.output[0] > kOutputRows / 2 && count < capacity) list[count++] = {{kOutputRows / 2}};
  if (window.output[0] > kOutputRows * 2 && count < capacity) list[count++] = {{kOutputRows * 2}};
  return count;
}

Status run_first_layer(const KernelArgs& args, const GemmShape& shape) {
  const TensorView& y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const ConvWindow window = conv_window(args);
  const Copy copy = copy_of(window, args.tactic);
  const Epilogue epilogue = make_epilogue(args, *shape.tier, 1);
  const PanelPlan panels(window.filters, shape.tier->lanes, shape.vectors);
  const int64_t blocks = (window.output[0] - 1) / copy.output_rows + 1;
  parallel_sums(*args.executor, window.batch * blocks, [&](int64_t task, int worker) {
    const int64_t image = task / blocks, first = task % blocks * copy.output_rows;
    const int64_t left = window.output[0] - first;
    const int64_t rows = left < copy.output_rows ? left : copy.output_rows;
    std::byte* scratch = args.scratch + static_cast<size_t>(worker) * args.scratch_stride;
    auto* copied = reinterpret_cast<float*>(scratch);
    const float* x = args.inputs[0].as<const float>() + image * window.x_batch;
    const int64_t input_rows = copy.rows - (copy.output_rows - rows) * window.stride[0];
    for (int64_t i = 0; i < input_rows; ++i) {
      copy_row(window, x, first * window.stride[0] - window.pad[0] + i, copy.columns, copied + i * copy.row_floats());
    }

    const CopiedRows input = {&window, &copy, copied};
    GemmJob job = {.shape = shape,
                   .panels = panels,
                   .packed = reinterpret_cast<const float*>(args.packed),
                   .taps = copy.taps,
                   .depth = copy.run,
                   .rows = row_box(y, 1, 0),
                   .epilogue = &epilogue,
                   .out = y.data,
                   .out_type = y.dtype,
                   .out_strides = {},
                   .row_pointers = copied_rows,
                   .context = &input};
    output_strides(y, job.out_strides);
    job.rows.dims[0] = 1;
    job.rows.start[0] = image;
    if (y.rank == 4) {
      job.rows.dims[2] = rows;
      job.rows.start[2] = first;
    }
    const int64_t tiles = row_tiles(job.rows.count(), shape.rows);
    run_gemm_task(job, {tiles, panels.count(), 1, 1}, 0, scratch + copy_bytes(copy));
  });
  return kOkStatus;
}

}  // namespace planwright::fast
