#include "tactics/kernels/fast/conv_transpose_single.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

// Rows of the output put aside, as long as an epilogue takes them.
constexpr int64_t kPitch = kStripLength;
// Enough that starting a task on another core costs little of what it takes.
constexpr int64_t kPixelsPerTask = 2048;

int64_t depth_of(const ConvWindow& window) {
  return static_cast<int64_t>(align_up(static_cast<size_t>(window.channels), kMaxLanes));
}

bool packed_size_of(const ConvWindow& window, size_t* bytes) {
  const size_t columns = align_up(static_cast<size_t>(window.taps()), kPatchColumns);
  return checked_mul(columns * sizeof(float), static_cast<size_t>(depth_of(window)), bytes);
}

struct Scratch {
  float* sums;       // [kernel rows][kPitch]
  float* bias;       // [kPitch]
  float* registers;  // kStripRegisterBytes
  const float** operand_rows;
};
constexpr size_t kSumsBytes = kMostPatchColumns * kPitch * sizeof(float);
constexpr size_t kBiasBytes = kPitch * sizeof(float);

Scratch scratch_at(std::byte* scratch) {
  std::byte *const bias = scratch + kSumsBytes, *const registers = bias + kBiasBytes;
  return {reinterpret_cast<float*>(scratch), reinterpret_cast<float*>(bias), reinterpret_cast<float*>(registers),
          reinterpret_cast<const float**>(registers + kStripRegisterBytes)};
}

// The kernel's rows of the output that one row of pixels makes.
class PixelRow {
 public:
  PixelRow(const KernelArgs& args, const ConvWindow& window, const PatchTier& tier, const Epilogue& epilogue,
           std::byte* scratch)
      : args_(args), window_(window), tier_(tier), epilogue_(epilogue), scratch_(scratch_at(scratch)) {
    const TensorView& y = args.outputs[0];
    for (int i = 0; i < epilogue.operand_count; ++i) shared_[i] = epilogue.operands[i].data;
    box_ = row_box(y, y.rank - 1, 0);
  }

  void run(int64_t index) {
    const TensorView &x = args_.inputs[0], &y = args_.outputs[0];
    const int rows = static_cast<int>(window_.kernel[0]);
    const RowCursor cursor(box_, index * rows);
    const float* out[kMostPatchColumns];
    row_addresses(cursor, rows, y.data, sizeof(float), y.strides, out);
    for (int i = 0; i < epilogue_.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue_.operands[i];
      if (!operand.by_row) continue;
      row_addresses(cursor, rows, operand.data, sizeof(float), operand.strides, scratch_.operand_rows + i * rows);
    }
    const float* pixels = x.as<const float>() + index / window_.input[0] * window_.x_batch +
                          index % window_.input[0] * window_.x_strides[0];
    const int64_t at_once = kPitch / window_.kernel[1];
    for (int64_t first = 0; first < window_.input[1]; first += at_once) {
      const int64_t left = window_.input[1] - first, count = left < at_once ? left : at_once;
      const int64_t column = first * window_.kernel[1], columns = count * window_.kernel[1];
      make_sums(pixels + first * window_.x_strides[1], count);
      finish_tile(epilogue_, *tier_.gemm,
                  {.sums = scratch_.sums,
                   .pitch = kPitch,
                   .rows = rows,
                   .columns = static_cast<int>(columns),
                   .out = const_cast<float* const*>(out),  // row_addresses carries addresses of either kind
                   .column = column,
                   .operand_rows = scratch_.operand_rows,
                   .operand_step = rows,
                   .shared = shared_,
                   .bias = bias(column, columns)},
                  scratch_.registers);
    }
  }

 private:
  void make_sums(const float* pixels, int64_t count) {
    PatchRow patches = {.x = pixels,
                        .step = window_.x_strides[1],
                        .count = count,
                        .channels = window_.channels,
                        .weights = reinterpret_cast<const float*>(args_.packed),
                        .depth = depth_of(window_),
                        .columns = static_cast<int>(window_.taps()),
                        .to = {},
                        .to_step = window_.kernel[1]};
    for (int i = 0; i < patches.columns; ++i) {
      patches.to[i] = scratch_.sums + i / window_.kernel[1] * kPitch + i % window_.kernel[1];
    }
    tier_.make_patches(patches);
  }

  // What is added to each column of a segment, copied to where whole vectors of it can be read.
  const float* bias(int64_t column, int64_t columns) {
    if (!epilogue_.straight || epilogue_.bias < 0) return nullptr;
    memcpy(scratch_.bias, shared_[epilogue_.bias] + column, static_cast<size_t>(columns) * sizeof(float));
    return scratch_.bias;
  }

  const KernelArgs& args_;
  const ConvWindow& window_;
  const PatchTier& tier_;
  const Epilogue& epilogue_;
  const Scratch scratch_;
  const float* shared_[kMaxPwOperands];
  RowBox box_;
};

}  // namespace

Status validate_conv_transpose_single(const KernelArgs& args, const PatchTier& tier) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *tier.gemm));
  const ConvWindow window = conv_window(args);
  const TensorView& y = args.outputs[0];
  if (window.filters != 1 || window.groups != 1) {
    return error(StatusCode::kUnsupported, "%ld filters, the kernel is for one", window.filters);
  }
  if (window.taps() > kMostPatchColumns) {
    return error(StatusCode::kUnsupported, "the kernel has %ld taps, more than %d", window.taps(), kMostPatchColumns);
  }
  for (int i = 0; i < 2; ++i) {
    int64_t length;
    if (window.kernel[i] != window.stride[i] || window.dilation[i] != 1 || window.pad[i] != 0 ||
        !checked_mul(window.input[i], window.stride[i], &length) || length != window.output[i]) {
      return error(StatusCode::kUnsupported, "the output is not made of one patch for each pixel");
    }
  }
  if (window.channels > 1 && window.x_channel != 1) {
    return error(StatusCode::kUnsupported, "the input is not channels-last, its channels are %ld elements apart",
                 window.x_channel);
  }
  if (y.dims[y.rank - 1] > 1 && y.strides[y.rank - 1] != 1) {
    return error(StatusCode::kUnsupported, "the output's rows are not contiguous, their elements are %ld apart",
                 y.strides[y.rank - 1]);
  }
  size_t bytes;
  if (!packed_size_of(window, &bytes)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  return kOkStatus;
}

size_t conv_transpose_single_packed_size(const KernelArgs& args) {
  size_t bytes = 0;
  return packed_size_of(conv_window(args), &bytes) ? bytes : 0;
}

size_t conv_transpose_single_scratch_size(const KernelArgs& args) {
  const auto operands = static_cast<size_t>(args.input_count - args.core_inputs);
  return kSumsBytes + kBiasBytes + kStripRegisterBytes + align_up(operands * kMostPatchColumns * sizeof(float*), 64);
}

Status pack_conv_transpose_single(const KernelArgs& args, std::byte* destination) {
  const ConvWindow window = conv_window(args);
  const int64_t taps = window.taps(), depth = depth_of(window);
  const auto columns = static_cast<int64_t>(align_up(static_cast<size_t>(taps), kPatchColumns));
  const float* w = args.inputs[1].as<const float>();
  auto* to = reinterpret_cast<float*>(destination);
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t k = 0; k < depth; ++k) *to++ = column < taps && k < window.channels ? w[k * taps + column] : 0.0f;
  }
  return kOkStatus;
}

Status run_conv_transpose_single(const KernelArgs& args, const PatchTier& tier) {
  const ConvWindow window = conv_window(args);
  const TensorView& y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const Epilogue epilogue = make_epilogue(args, *tier.gemm, y.rank - 1);
  const int64_t rows = window.batch * window.input[0];
  const int64_t enough = kPixelsPerTask / window.input[1], per_task = enough > 1 ? enough : 1;
  parallel_sums(*args.executor, (rows - 1) / per_task + 1, [&](int64_t task, int worker) {
    PixelRow row(args, window, tier, epilogue, args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    const int64_t first = task * per_task, last = first + per_task < rows ? first + per_task : rows;
    for (int64_t index = first; index < last; ++index) row.run(index);
  });
  return kOkStatus;
}

}  // namespace planwright::fast
