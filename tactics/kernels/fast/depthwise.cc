#include "tactics/kernels/fast/depthwise.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/epilogue.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

constexpr int64_t kMostTaps = 16;  // along one axis, as ConvWindow::is_depthwise says
// Channels of a tile put aside for an epilogue that the block cannot do in registers.
constexpr int kChunk = kStripLength / kBlockPixels;
// Multiply-adds of a task: some 10 us on one core, so that handing tasks out does not show.
constexpr int64_t kTaskWork = 1 << 17;

int64_t padded_channels(const ConvWindow& window, const DepthwiseTier& tier) {
  return (window.channels + tier.gemm->lanes - 1) / tier.gemm->lanes * tier.gemm->lanes;
}

Storage storage_of(const DepthwiseTier& tier) { return tier.bytes == nullptr ? Storage::kFloat : Storage::kBytes; }
size_t element_size(const DepthwiseTier& tier) { return tier.bytes == nullptr ? sizeof(float) : 1; }

size_t weights_size(const ConvWindow& window, const DepthwiseTier& tier) {
  return static_cast<size_t>(window.taps() * padded_channels(window, tier)) * sizeof(float);
}

// Which of a tier's functions runs a kernel.
struct Variant {
  void (*run)(const DepthwiseBlock& block);
  bool fixed;
  int columns;  // of a block
};

Variant variant_of(const ConvWindow& window, const DepthwiseTier& tier) {
  const int64_t width = window.kernel[1], stride = window.stride[1];
  if (window.dilation[1] == 1 && (width == 3 || width == 5) && stride <= 2) {
    return {tier.fixed[(width - 3) / 2][stride - 1], true, static_cast<int>((kBlockPixels - 1) * stride + width)};
  }
  return {tier.general, false, static_cast<int>(width) * kBlockPixels};
}

// A worker's scratch, one after another.
struct Scratch {
  float* registers;
  float* tile;
  float* bias;        // [padded channels]
  float* zeros;       // [padded channels]
  float* numbers[6];  // [padded channels] each: of bytes, what ByteFinish has for each column
  float* start;       // [kernel rows][padded channels]: of bytes
  const float** columns;

  static size_t size(const ConvWindow& window, const DepthwiseTier& tier) {
    const auto channels = static_cast<size_t>(padded_channels(window, tier)) * sizeof(float);
    const size_t arrays = tier.bytes == nullptr ? 2 : 8 + static_cast<size_t>(window.kernel[0]);
    return kStripRegisterBytes + kStripLength * sizeof(float) + arrays * align_up(channels, 64) +
           static_cast<size_t>(window.kernel[0] * variant_of(window, tier).columns) * sizeof(void*);
  }
  Scratch(std::byte* memory, int64_t channels, const ConvWindow& window, const DepthwiseTier& tier) {
    const size_t channel_floats = align_up(static_cast<size_t>(channels), 16);
    registers = reinterpret_cast<float*>(memory);
    tile = registers + kStripRegisterBytes / sizeof(float);
    bias = tile + kStripLength;
    zeros = bias + channel_floats;
    float* next = zeros + channel_floats;
    for (float*& of : numbers) {
      of = next;
      if (tier.bytes != nullptr) next += channel_floats;
    }
    start = next;
    if (tier.bytes != nullptr) next += static_cast<size_t>(window.kernel[0]) * channel_floats;
    columns = reinterpret_cast<const float**>(next);
  }
};

int64_t rows_per_task(const ConvWindow& window, const TacticParams& tactic) {
  if (tactic.v[0] > 0) return tactic.v[0];
  // Dims are at most 2^30 each, so in double.
  const double row = static_cast<double>(window.output[1]) * static_cast<double>(window.channels * window.taps());
  const double rows = kTaskWork / (row + 1.0) + 1.0;
  return rows < static_cast<double>(window.output[0]) ? static_cast<int64_t>(rows) : window.output[0];
}

class Depthwise {
 public:
  Depthwise(const KernelArgs& args, const DepthwiseTier& tier)
      : args_(args),
        tier_(tier),
        window_(conv_window(args)),
        variant_(variant_of(window_, tier)),
        epilogue_(make_epilogue(args, *tier.gemm, 1, storage_of(tier))),
        padded_(padded_channels(window_, tier)),
        element_(static_cast<int64_t>(element_size(tier))),
        out_element_(static_cast<int64_t>(size_of(args.outputs[0].dtype))),
        zero_(zero_point_of(args)) {
    const TensorView& y = args.outputs[0];
    y_strides_[0] = y.rank == 4 ? y.strides[2] : 0;
    y_strides_[1] = y.strides[y.rank - 1];
    in_registers_ = epilogue_.in_registers && epilogue_.residual < 0;
    epilogue_.bytes.packed = reinterpret_cast<const uint8_t*>(args.packed + weights_size(window_, tier));
    for (int i = 0; i < epilogue_.operand_count; ++i) shared_[i] = epilogue_.operands[i].data;
  }

  void run() {
    const int64_t rows = rows_per_task(window_, args_.tactic);
    const int64_t tasks = (window_.output[0] - 1) / rows + 1;
    parallel_sums(*args_.executor, window_.batch * tasks, [&](int64_t task, int worker) {
      Scratch scratch(args_.scratch + static_cast<size_t>(worker) * args_.scratch_stride, padded_, window_, tier_);
      memset(scratch.zeros, zero_, static_cast<size_t>(padded_) * sizeof(float));
      if (tier_.bytes != nullptr) prepare_bytes(scratch);
      if (epilogue_.bias >= 0) {
        // Whole vectors of it are loaded.
        memset(scratch.bias, 0, static_cast<size_t>(padded_) * sizeof(float));
        memcpy(scratch.bias, shared_[epilogue_.bias], static_cast<size_t>(window_.channels) * sizeof(float));
      }
      const int64_t image = task / tasks, first = task % tasks * rows;
      for (int64_t row = first; row < first + rows && row < window_.output[0]; ++row) run_row(image, row, scratch);
    });
  }

 private:
  // What sums begin with and what ends them.
  void prepare_bytes(const Scratch& scratch) const {
    const auto* weights = reinterpret_cast<const float*>(args_.packed);
    const auto zero = static_cast<float>(-zero_);
    for (int64_t row = 0; row < window_.kernel[0]; ++row) {
      float* to = scratch.start + row * padded_;
      memset(to, 0, static_cast<size_t>(padded_) * sizeof(float));
      for (int64_t k = 0; k < window_.kernel[1]; ++k) {
        const float* from = weights + (row * window_.kernel[1] + k) * padded_;
        for (int64_t c = 0; c < padded_; ++c) to[c] += from[c] * zero;
      }
    }
    const ByteEpilogue& bytes = epilogue_.bytes;
    const ColumnNumber* const numbers[] = {&bytes.before, &bytes.scale,  &bytes.after,
                                           &bytes.added,  &bytes.factor, &bytes.offset};
    for (int i = 0; i < 6; ++i) {
      for (int64_t c = 0; c < padded_; ++c) scratch.numbers[i][c] = number_of(*numbers[i], c);
    }
  }

  float number_of(const ColumnNumber& number, int64_t channel) const {
    if (number.operand < 0 || channel >= window_.channels) return number.operand < 0 ? number.constant : 0.0f;
    const EpilogueOperand& operand = epilogue_.operands[number.operand];
    return operand.data[channel * operand.strides[1]];
  }

  const float* moved(const float* address, int64_t elements) const {
    return reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(address) + elements * element_);
  }

  // The first of input columns that a block's output pixel `pixel` meets.
  int64_t input_column(int64_t pixel) const { return pixel * window_.stride[1] - window_.pad[1]; }

  void run_row(int64_t image, int64_t row, const Scratch& scratch) const {
    const float* x = moved(args_.inputs[0].as<const float>(), image * window_.x_batch);
    DepthwiseBlock block = {};
    block.start = scratch.start;
    block.pixel_stride = window_.x_strides[1];
    block.column_count = variant_.columns;
    block.kernel_width = static_cast<int>(window_.kernel[1]);
    block.weights = reinterpret_cast<const float*>(args_.packed);
    block.padded_channels = padded_;
    if (in_registers_) {
      block.bias = epilogue_.bias >= 0 ? scratch.bias : nullptr;
      block.activation = epilogue_.activation;
    }
    const float* image_rows[kMostTaps];
    const float* lines[kMostTaps];
    block.lines = lines;
    block.first_row = static_cast<int>(window_.kernel[0]);
    for (int r = 0; r < window_.kernel[0]; ++r) {
      const int64_t y = row * window_.stride[0] - window_.pad[0] + r * window_.dilation[0];
      if (y < 0 || y >= window_.input[0]) continue;
      image_rows[r] = moved(x, y * window_.x_strides[0]);
      if (block.first_row > r) block.first_row = r;
      block.last_row = r + 1;
    }
    for (int64_t pixel = 0; pixel < window_.output[1]; pixel += kBlockPixels) {
      const int64_t left = window_.output[1] - pixel;
      block.pixels = static_cast<int>(left < kBlockPixels ? left : kBlockPixels);
      const int64_t column = input_column(pixel);
      const bool inside = variant_.fixed && column >= 0 && column + variant_.columns <= window_.input[1];
      block.columns = inside ? nullptr : scratch.columns;
      for (int r = block.first_row; r < block.last_row; ++r) {
        if (inside) {
          lines[r] = moved(image_rows[r], column * window_.x_strides[1]);
        } else {
          fill_columns(image_rows[r], column, scratch.zeros, scratch.columns + r * variant_.columns);
        }
      }
      run_block(image, row, pixel, scratch, block);
    }
  }

  void fill_columns(const float* line, int64_t first, const float* zeros, const float** to) const {
    for (int i = 0; i < variant_.columns; ++i) {
      const int64_t column = first + (variant_.fixed ? i
                                                     : int64_t{i % kBlockPixels} * window_.stride[1] +
                                                           int64_t{i / kBlockPixels} * window_.dilation[1]);
      to[i] = column >= 0 && column < window_.input[1] ? moved(line, column * window_.x_strides[1]) : zeros;
    }
  }

  void run_block(int64_t image, int64_t row, int64_t pixel, const Scratch& scratch, DepthwiseBlock& block) const {
    const TensorView& y = args_.outputs[0];
    float* out[kBlockPixels];
    std::byte* first =
        y.as<std::byte>() + (image * y.strides[0] + row * y_strides_[0] + pixel * y_strides_[1]) * out_element_;
    for (int p = 0; p < block.pixels; ++p) out[p] = reinterpret_cast<float*>(first + p * y_strides_[1] * out_element_);
    if (in_registers_) {
      block.out = out;
      block.first_channel = 0;
      block.last_channel = window_.channels;
      variant_.run(block);
      return;
    }

    const float* operand_rows[kMaxPwOperands * kBlockPixels];
    const float* shared[kMaxPwOperands];
    for (int i = 0; i < epilogue_.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue_.operands[i];
      shared[i] = shared_[i];
      if (!operand.by_row) continue;
      const int64_t along = operand.strides[y.rank - 1];
      const auto size = static_cast<int64_t>(size_of(operand.type));
      const std::byte* start =
          reinterpret_cast<const std::byte*>(operand.data) +
          (image * operand.strides[0] + (y.rank == 4 ? row * operand.strides[2] : 0) + pixel * along) * size;
      for (int p = 0; p < block.pixels; ++p) {
        operand_rows[i * block.pixels + p] = reinterpret_cast<const float*>(start + p * along * size);
      }
    }
    for (int64_t channel = 0; channel < window_.channels; channel += kChunk) {
      const int64_t left = window_.channels - channel;
      const int columns = static_cast<int>(left < kChunk ? left : kChunk);
      float* tile_rows[kBlockPixels];
      for (int p = 0; p < block.pixels; ++p) tile_rows[p] = scratch.tile + p * kChunk - channel;
      block.out = tile_rows;
      block.first_channel = channel;
      block.last_channel = channel + columns;
      variant_.run(block);
      const EpilogueTile finish = {.sums = scratch.tile,
                                   .pitch = kChunk,
                                   .rows = block.pixels,
                                   .columns = columns,
                                   .out = out,
                                   .column = channel,
                                   .operand_rows = operand_rows,
                                   .operand_step = block.pixels,
                                   .shared = shared,
                                   .bias = epilogue_.bias >= 0 ? scratch.bias + channel : nullptr};
      if (tier_.bytes == nullptr) {
        finish_tile(epilogue_, *tier_.gemm, finish, scratch.registers);
      } else {
        finish_bytes(finish, scratch);
      }
    }
  }

  void finish_bytes(EpilogueTile tile, const Scratch& scratch) const {
    const ByteEpilogue& bytes = epilogue_.bytes;
    auto* sums = reinterpret_cast<int32_t*>(scratch.tile);
    if (bytes.kind == ByteEpilogue::Kind::kRaw) {
      for (int r = 0; r < tile.rows; ++r) {
        memcpy(tile.out[r] + tile.column, sums + r * tile.pitch, static_cast<size_t>(tile.columns) * sizeof(int32_t));
      }
      return;
    }
    if (bytes.kind == ByteEpilogue::Kind::kStraight) {
      return tier_.bytes->finish(
          {.sums = sums,
           .pitch = tile.pitch,
           .rows = tile.rows,
           .columns = tile.columns,
           .column = tile.column,
           .before = scratch.numbers[0] + tile.column,
           .scale = scratch.numbers[1] + tile.column,
           .after = scratch.numbers[2] + tile.column,
           .factor = scratch.numbers[4] + tile.column,
           .offset = scratch.numbers[5] + tile.column,
           .residual = bytes.residual < 0 ? nullptr : tile.operand_rows + bytes.residual * tile.operand_step,
           .residual_type = bytes.residual < 0 ? DType::kF32 : epilogue_.operands[bytes.residual].type,
           .added = bytes.added.operand < 0 ? nullptr : scratch.numbers[3] + tile.column,
           .tables = {bytes.table(0), bytes.table(1)},
           .end = bytes.end,
           .are_floats = false,
           .type = args_.outputs[0].dtype,
           .out = tile.out});
    }
    tier_.bytes->widen_sums(sums, static_cast<int64_t>(tile.rows) * tile.pitch);
    const DType type = args_.outputs[0].dtype;
    if (type == DType::kF32) return finish_tile(epilogue_, *tier_.gemm, tile, scratch.registers);
    float* const* out = tile.out;
    float* rows[kBlockPixels];
    for (int r = 0; r < tile.rows; ++r) rows[r] = scratch.tile + r * tile.pitch - tile.column;
    tile.out = rows;
    finish_tile(epilogue_, *tier_.gemm, tile, scratch.registers);
    for (int r = 0; r < tile.rows; ++r) {
      auto* to = reinterpret_cast<std::byte*>(out[r]) + tile.column * out_element_;
      tier_.bytes->narrow(type, scratch.tile + r * tile.pitch, tile.columns, to);
    }
  }

  const KernelArgs& args_;
  const DepthwiseTier& tier_;
  const ConvWindow window_;
  const Variant variant_;
  Epilogue epilogue_;
  const int64_t padded_;
  const int64_t element_, out_element_;  // bytes of the input's and the output's
  const int32_t zero_;
  int64_t y_strides_[2];
  bool in_registers_;
  const float* shared_[kMaxPwOperands];
};

}  // namespace

Status validate_depthwise(const KernelArgs& args, const DepthwiseTier& tier) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *tier.gemm, storage_of(tier)));
  if (tier.bytes != nullptr && args.inputs[0].dtype != DType::kU8) {
    return error(StatusCode::kUnsupported, "the input is %s, the kernel reads uint8", name_of(args.inputs[0].dtype));
  }
  for (int i = args.core_inputs; tier.bytes != nullptr && i < args.input_count; ++i) {
    if (args.inputs[i].dtype == DType::kF32) continue;
    const Epilogue epilogue = make_epilogue(args, *tier.gemm, 1, Storage::kBytes);
    if (epilogue.bytes.kind == ByteEpilogue::Kind::kStraight) break;
    return error(StatusCode::kUnsupported, "an interpreted epilogue with an operand of %s",
                 name_of(args.inputs[i].dtype));
  }
  const ConvWindow window = conv_window(args);
  if (!window.is_depthwise()) {
    return error(StatusCode::kUnsupported,
                 "not depthwise: %ld groups, %ld channels in, %ld out, or a kernel (%ld by %ld) longer than %ld",
                 window.groups, window.channels, window.filters, window.kernel[0], window.kernel[1], kMostTaps);
  }
  if (window.channels > 1 && window.x_channel != 1) {
    return error(StatusCode::kUnsupported, "the input is not channels-last, its channels are %ld elements apart",
                 window.x_channel);
  }
  if (args.tactic.v[0] < 0) return error(StatusCode::kInvalid, "tactic of %d output rows a task", args.tactic.v[0]);
  return kOkStatus;
}

size_t depthwise_packed_size(const KernelArgs& args, const DepthwiseTier& tier) {
  return weights_size(conv_window(args), tier) + (tier.bytes == nullptr ? 0 : byte_table_size(args));
}

size_t depthwise_scratch_size(const KernelArgs& args, const DepthwiseTier& tier) {
  return Scratch::size(conv_window(args), tier);
}

Status pack_depthwise(const KernelArgs& args, const DepthwiseTier& tier, std::byte* destination) {
  const ConvWindow window = conv_window(args);
  const int64_t taps = window.taps(), padded = padded_channels(window, tier);
  const TensorView& w = args.inputs[1];
  auto* to = reinterpret_cast<float*>(destination);
  const auto element = [&](int64_t at) {
    return tier.bytes == nullptr ? w.as<const float>()[at] : static_cast<float>(w.as<const int8_t>()[at]);
  };
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < padded; ++c) to[tap * padded + c] = c < window.channels ? element(c * taps + tap) : 0.0f;
  }
  if (tier.bytes != nullptr) pack_byte_table(args, destination + weights_size(window, tier));
  return kOkStatus;
}

int depthwise_tactics(const KernelArgs& args, TacticParams* list, int capacity) {
  const ConvWindow window = conv_window(args);
  int count = 0;
  if (count < capacity) list[count++] = {};
  const int64_t rows = rows_per_task(window, {});
  if (rows > 1 && count < capacity) list[count++] = {{1}};
  return count;
}

Status run_depthwise(const KernelArgs& args, const DepthwiseTier& tier) {
  if (element_count(args.outputs[0]) != 0) Depthwise(args, tier).run();
  return kOkStatus;
}

}  // namespace planwright::fast
