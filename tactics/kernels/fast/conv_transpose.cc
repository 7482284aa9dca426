#include "tactics/kernels/fast/conv_transpose.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

constexpr int kChannelAxis = 1;
constexpr int64_t kMostPhases = 64;

// The taps of one remainder along one axis: first, first + step, ...
struct PhaseTaps {
  int64_t first = 0, step = 1, count = 0;
};

PhaseTaps taps_of(int64_t remainder, int64_t kernel, int64_t stride, int64_t dilation) {
  PhaseTaps taps;
  // tap * dilation runs through its remainders with this period.
  while (taps.step * dilation % stride != 0) ++taps.step;
  while (taps.first < taps.step && taps.first * dilation % stride != remainder) ++taps.first;
  if (taps.first < taps.step && taps.first < kernel) taps.count = (kernel - 1 - taps.first) / taps.step + 1;
  return taps;
}

struct Phase {
  PhaseTaps taps[2];

  int64_t tap_count() const { return taps[0].count * taps[1].count; }
};

int64_t phase_count(const ConvWindow& window) { return window.stride[0] * window.stride[1]; }

Phase phase_of(const ConvWindow& window, int64_t index) {
  const int64_t remainder[2] = {index / window.stride[1], index % window.stride[1]};
  Phase phase;
  for (int i = 0; i < 2; ++i) {
    phase.taps[i] = taps_of(remainder[i], window.kernel[i], window.stride[i], window.dilation[i]);
  }
  return phase;
}

// The convolution that a phase is, and the rows of the output it makes.
struct PhaseJob {
  ConvWindow window;
  RowBox rows;
};

PhaseJob phase_job(const ConvWindow& window, const TensorView& y, int64_t group, int64_t index) {
  const int64_t remainder[2] = {index / window.stride[1], index % window.stride[1]};
  const Phase phase = phase_of(window, index);
  PhaseJob job = {window, row_box(y, kChannelAxis, group * window.group_filters())};
  for (int i = 0; i < 2; ++i) {
    const int64_t stride = window.stride[i], dilation = window.dilation[i];
    // The first output position, and how many there are.
    const int64_t first = ((remainder[i] - window.pad[i]) % stride + stride) % stride;
    const int64_t count = first < window.output[i] ? (window.output[i] - 1 - first) / stride + 1 : 0;
    const PhaseTaps& taps = phase.taps[i];
    job.window.output[i] = count;
    job.window.kernel[i] = taps.count;
    job.window.stride[i] = 1;
    // Later taps meet earlier inputs. Both divisions are exact.
    job.window.dilation[i] = -(taps.step * dilation / stride);
    job.window.pad[i] = -((first + window.pad[i] - taps.first * dilation) / stride);
    const int axis = y.rank - 2 + i;
    if (axis <= kChannelAxis) continue;  // the missing one of a single spatial axis
    job.rows.dims[axis] = count;
    job.rows.start[axis] = first;
    job.rows.step[axis] = stride;
  }
  return job;
}

PanelPlan panels_of(const ConvWindow& window, const GemmShape& shape) {
  return {window.group_filters(), shape.tier->lanes, shape.vectors};
}

// Rows of the packed form of one group: each phase's is a matrix of its own.
int64_t packed_rows(const ConvWindow& window, const GemmShape& shape) {
  int64_t rows = 0;
  for (int64_t index = 0; index < phase_count(window); ++index) {
    rows += packed_depth(shape, phase_of(window, index).tap_count() * window.group_channels());
  }
  return rows;
}

}  // namespace

Status validate_conv_transpose(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *shape.tier, storage_of(shape)));
  PW_RETURN_IF_ERROR(validate_split(args.tactic));
  const ConvWindow window = conv_window(args);
  if (phase_count(window) > kMostPhases) {  // strides are at most 2^30
    return error(StatusCode::kUnsupported, "strides %ld and %ld make more than %ld phases", window.stride[0],
                 window.stride[1], kMostPhases);
  }
  if (window.group_channels() > 1 && window.x_channel != 1) {
    return error(StatusCode::kUnsupported, "the input is not channels-last, its channels are %ld elements apart",
                 window.x_channel);
  }
  int64_t depth;
  size_t bytes;
  if (!checked_mul(window.taps(), window.group_channels(), &depth) ||
      !packed_bytes(panels_of(window, shape), packed_rows(window, shape), window.groups, &bytes)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  return kOkStatus;
}

size_t conv_transpose_packed_size(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  size_t bytes = 0;
  return packed_bytes(panels_of(window, shape), packed_rows(window, shape), window.groups, &bytes) ? bytes : 0;
}

size_t conv_transpose_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  const size_t zeros = align_up(static_cast<size_t>(window.group_channels()) * sizeof(float), 64);
  size_t most = 0;
  for (int64_t index = 0; index < phase_count(window); ++index) {
    const size_t size = gemm_scratch_size(shape, phase_of(window, index).tap_count(), window.group_channels(),
                                          args.input_count - args.core_inputs);
    if (size > most) most = size;
  }
  return zeros + most;
}

Status pack_conv_transpose(const KernelArgs& args, const GemmShape& shape, std::byte* destination) {
  const ConvWindow window = conv_window(args);
  const PanelPlan panels = panels_of(window, shape);
  const int64_t channels = window.group_channels(), taps = window.taps(), filters = window.group_filters();
  const float* w = args.inputs[1].as<const float>();
  auto* packed = reinterpret_cast<float*>(destination);
  for (int64_t group = 0; group < window.groups; ++group, w += channels * filters * taps) {
    for (int64_t index = 0; index < phase_count(window); ++index) {
      const Phase phase = phase_of(window, index);
      const int64_t depth = phase.tap_count() * channels;
      int64_t row = 0;
      for (int64_t i = 0; i < phase.taps[0].count; ++i) {
        for (int64_t j = 0; j < phase.taps[1].count; ++j, row += channels) {
          const int64_t kh = phase.taps[0].first + i * phase.taps[0].step;
          const int64_t kw = phase.taps[1].first + j * phase.taps[1].step;
          pack_gemm_rows(shape, panels, depth, row, channels, w + kh * window.kernel[1] + kw, filters * taps, taps,
                         packed);
        }
      }
      packed += packed_depth(shape, depth) * panels.padded_columns();
    }
  }
  return kOkStatus;
}

Status run_conv_transpose(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  const TensorView& y = args.outputs[0];
  const Epilogue epilogue = make_epilogue(args, *shape.tier, kChannelAxis);
  const PanelPlan panels = panels_of(window, shape);
  const int64_t phases = phase_count(window), channels = window.group_channels();

  // A task makes a block of rows in all phases, which read the same part of the input.
  GemmSplit splits[kMostPhases];
  int64_t first_row[kMostPhases + 1] = {};
  int64_t tasks = 0;
  for (int64_t phase = 0; phase < phases; ++phase) {
    const PhaseJob job = phase_job(window, y, 0, phase);
    splits[phase] =
        split_gemm(shape, job.rows.count(), panels, job.window.taps() * channels, window.groups, args.tactic);
    first_row[phase + 1] = first_row[phase] + packed_depth(shape, job.window.taps() * channels);
    if (splits[phase].tasks() > tasks) tasks = splits[phase].tasks();
  }
  parallel_sums(*args.executor, window.groups * tasks, [&](int64_t task, int worker) {
    const int64_t group = task / tasks;
    task %= tasks;
    std::byte* scratch = args.scratch + static_cast<size_t>(worker) * args.scratch_stride;
    const size_t zero_bytes = align_up(static_cast<size_t>(channels) * sizeof(float), 64);
    memset(scratch, 0, zero_bytes);
    for (int64_t phase = 0; phase < phases; ++phase) {
      if (task >= splits[phase].tasks()) continue;
      const PhaseJob of_phase = phase_job(window, y, group, phase);
      const WindowRows input = window_rows_of(of_phase.window, args.inputs[0], group, scratch);
      const int64_t row = group * first_row[phases] + first_row[phase];
      GemmJob job = {.shape = shape,
                     .panels = panels,
                     .packed = reinterpret_cast<const float*>(args.packed) + row * panels.padded_columns(),
                     .taps = of_phase.window.taps(),
                     .depth = channels,
                     .a_type = args.inputs[0].dtype,
                     .rows = of_phase.rows,
                     .epilogue = &epilogue,
                     .out = y.data,
                     .out_type = y.dtype,
                     .out_strides = {},
                     .row_pointers = window_rows,
                     .context = &input};
      output_strides(y, job.out_strides);
      run_gemm_task(job, splits[phase], task, scratch + zero_bytes);
    }
  });
  return kOkStatus;
}

}  // namespace planwright::fast
