#include "tactics/kernels/fast/conv.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

constexpr int kChannelAxis = 1;

PanelPlan panels_of(const ConvWindow& window, const GemmShape& shape) {
  return {window.group_filters(), shape.tier->lanes, shape.vectors};
}

// A group's weights, [filter][channel][tap].
struct ByteFilters {
  const int8_t* elements;
  int64_t taps, channels;
};
int8_t byte_at(const void* context, int64_t k, int64_t column) {
  const auto& filters = *static_cast<const ByteFilters*>(context);
  return filters.elements[(column * filters.channels + k % filters.channels) * filters.taps + k / filters.channels];
}

// Whether depthwise_s8 surely takes what is depthwise.
bool has_depthwise_bytes(const KernelArgs& args, const ConvWindow& window) {
  for (int i = args.core_inputs; i < args.input_count; ++i) {
    if (args.inputs[i].dtype != DType::kF32) return false;
  }
  return args.inputs[0].dtype == DType::kU8 && window.x_channel == 1;
}

}  // namespace

Status validate_conv(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *shape.tier, storage_of(shape)));
  PW_RETURN_IF_ERROR(validate_split(args.tactic));
  const ConvWindow window = conv_window(args);
  if (window.group_channels() > 1 && window.x_channel != 1) {
    return error(StatusCode::kUnsupported, "the input is not channels-last, its channels are %ld elements apart",
                 window.x_channel);
  }
  if (window.groups > 1 && window.is_depthwise() && (shape.bytes == nullptr || has_depthwise_bytes(args, window))) {
    // Slower by two orders of magnitude, so not worth a tactic's timing.
    return error(StatusCode::kUnsupported, "each of %ld groups has one channel, depthwise_%s is for that",
                 window.groups, shape.bytes == nullptr ? "f32" : "s8");
  }
  int64_t depth;
  size_t bytes;
  if (!checked_mul(window.taps(), window.group_channels(), &depth) ||
      !packed_bytes(panels_of(window, shape), packed_depth(shape, depth), window.groups, &bytes)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  return validate_byte_depth(shape, depth);
}

size_t conv_packed_size(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  size_t bytes = 0;
  const int64_t depth = packed_depth(shape, window.taps() * window.group_channels());
  if (!packed_bytes(panels_of(window, shape), depth, window.groups, &bytes)) return 0;
  return bytes + (shape.bytes == nullptr ? 0 : byte_table_size(args));
}

size_t conv_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  const size_t zeros = align_up(static_cast<size_t>(window.group_channels()) * sizeof(float), 64);
  return zeros + gemm_scratch_size(shape, window.taps(), window.group_channels(), args.input_count - args.core_inputs);
}

Status pack_conv(const KernelArgs& args, const GemmShape& shape, std::byte* destination) {
  const ConvWindow window = conv_window(args);
  const PanelPlan panels = panels_of(window, shape);
  const int64_t taps = window.taps(), channels = window.group_channels(), depth = taps * channels;
  auto* packed = reinterpret_cast<float*>(destination);
  if (shape.bytes != nullptr) {
    const auto* bytes = args.inputs[1].as<const int8_t>();
    for (int64_t group = 0; group < window.groups; ++group) {
      const ByteFilters filters = {bytes + group * window.group_filters() * depth, taps, channels};
      pack_byte_values(shape, panels, depth, byte_at, &filters, packed);
      packed += panels.padded_columns() * packed_depth(shape, depth);
    }
    pack_byte_table(args, reinterpret_cast<std::byte*>(packed));
    return kOkStatus;
  }
  const float* w = args.inputs[1].as<const float>();
  for (int64_t group = 0; group < window.groups; ++group) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      pack_gemm_rows(shape, panels, depth, tap * channels, channels, w + tap, taps, depth, packed);
    }
    w += window.group_filters() * depth;
    packed += panels.padded_columns() * packed_depth(shape, depth);
  }
  return kOkStatus;
}

int conv_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity) {
  const ConvWindow window = conv_window(args);
  const int64_t rows = window.batch * window.output[0] * window.output[1];
  return list_splits(shape, rows, panels_of(window, shape), window.taps() * window.group_channels(), window.groups,
                     list, capacity);
}

Status run_conv(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  const TensorView& y = args.outputs[0];
  Epilogue epilogue = make_epilogue(args, *shape.tier, kChannelAxis, storage_of(shape));
  const PanelPlan panels = panels_of(window, shape);
  const int64_t channels = window.group_channels(), depth = window.taps() * channels;
  const int64_t rows = row_box(y, kChannelAxis, 0).count();
  const GemmSplit split = split_gemm(shape, rows, panels, depth, window.groups, args.tactic);
  const int64_t packed_floats = panels.padded_columns() * packed_depth(shape, depth);
  epilogue.bytes.packed =
      reinterpret_cast<const uint8_t*>(reinterpret_cast<const float*>(args.packed) + window.groups * packed_floats);
  const bool padded = window.is_padded();
  const int32_t x_zero = zero_point_of(args);
  parallel_sums(*args.executor, window.groups * split.tasks(), [&](int64_t task, int worker) {
    const int64_t group = task / split.tasks();
    std::byte* scratch = args.scratch + static_cast<size_t>(worker) * args.scratch_stride;
    const WindowRows input = window_rows_of(window, args.inputs[0], group, scratch);
    const size_t zero_bytes = align_up(static_cast<size_t>(channels) * sizeof(float), 64);
    if (padded) memset(scratch, x_zero, zero_bytes);

    GemmJob job = {.shape = shape,
                   .panels = panels,
                   .packed = reinterpret_cast<const float*>(args.packed) + group * packed_floats,
                   .taps = window.taps(),
                   .depth = channels,
                   .a_type = args.inputs[0].dtype,
                   .a_zero = x_zero,
                   .rows = row_box(y, kChannelAxis, group * window.group_filters()),
                   .epilogue = &epilogue,
                   .out = y.data,
                   .out_type = y.dtype,
                   .out_strides = {},
                   .row_pointers = window_rows,
                   .context = &input};
    output_strides(y, job.out_strides);
    run_gemm_task(job, split, task % split.tasks(), scratch + zero_bytes);
  });
  return kOkStatus;
}

}  // namespace planwright::fast
