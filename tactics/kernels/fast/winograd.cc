#include "tactics/kernels/fast/winograd.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

constexpr int kChannelAxis = 1;
constexpr int kTaps = 3;  // along each axis
constexpr int kMostSize = kMostWinogradOutputs + kTaps - 1;
constexpr int kMostPixels = kMostWinogradOutputs * kMostWinogradOutputs;
// Of a block's transformed input and of one panel's products: half of an L2 of 2 MiB, which both live in.
constexpr int64_t kBlockBytes = 1 << 20;
constexpr int64_t kFewestTiles = 8;
constexpr int64_t kMostTiles = 4096;  // of a block
constexpr int64_t kMostBytes = int64_t{256} << 20;

constexpr double kRoot = 1.41421356237309504880;
// The weights' transforms along one axis, which match those in winograd.tier.cc.
constexpr double kWeights2[4][kTaps] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double kWeights4[6][kTaps] = {
    {1, 0, 0},
    {2.0 / 3, kRoot / 3, 1.0 / 3},
    {2.0 / 3, -kRoot / 3, 1.0 / 3},
    {1.0 / 6, kRoot / 6, 1.0 / 3},
    {1.0 / 6, -kRoot / 6, 1.0 / 3},
    {0, 0, 1},
};

// The tiles of a convolution's output, image by image and row by row, and the blocks they are dealt out in.
struct Tiling {
  ConvWindow window;
  int outputs, size, positions;  // of a tile: m, m + 2, (m + 2)^2
  PanelPlan panels;
  int64_t grid[2];  // tiles of an image along each axis
  int64_t count;    // of all images
  int64_t pitch;    // floats from one tile's channels to the next one's
  int64_t block;    // tiles
  int64_t widest;   // floats of a panel's row

  Tiling(const KernelArgs& args, const WinogradShape& shape)
      : window(conv_window(args)),
        outputs(shape.outputs),
        size(outputs + kTaps - 1),
        positions(size * size),
        panels(window.filters, shape.tier->gemm->lanes, shape.vectors) {
    for (int i = 0; i < 2; ++i) grid[i] = (window.output[i] + outputs - 1) / outputs;
    count = window.batch * grid[0] * grid[1];
    const int64_t lanes = shape.tier->gemm->lanes;
    pitch = (window.channels + lanes - 1) / lanes * lanes;
    widest = shape.vectors * lanes;
    block = kBlockBytes / (positions * (pitch + widest) * static_cast<int64_t>(sizeof(float)));
    if (block < kFewestTiles) block = kFewestTiles;
    if (args.tactic.v[0] > 0) block = args.tactic.v[0];
    if (block > count) block = count;
  }

  // Floats between the matrices of two positions. Not a power of two, or all positions of a tile would lie in the same
  // few sets of L1.
  int64_t input_step() const { return block * pitch + kMaxLanes; }
  int64_t product_step() const { return block * widest + kMaxLanes; }
  size_t input_bytes() const { return align_up(static_cast<size_t>(positions * input_step()) * sizeof(float), 64); }
  size_t product_bytes() const { return align_up(static_cast<size_t>(positions * product_step()) * sizeof(float), 64); }
  int64_t blocks() const { return block == 0 ? 0 : (count - 1) / block + 1; }
};

// A worker's scratch, one part after another. The transformed input comes last, where workers do not share it.
struct Scratch {
  float* zeros;  // [pitch]
  float* products;
  float* sums;  // a tile's outputs, [m * m][a panel's width]
  float* bias;  // of the last panel, where that is not whole
  float* registers;
  const float** pointers;  // a tile's: [pixels] of the output, [pixels] of each operand
  float* input;

  static size_t sums_bytes(const Tiling& tiling) {
    return static_cast<size_t>(kMostPixels * tiling.widest) * sizeof(float);
  }
  static size_t size(const Tiling& tiling, int operands, bool shared) {
    const auto pitch = static_cast<size_t>(tiling.pitch), widest = static_cast<size_t>(tiling.widest);
    return align_up(pitch * sizeof(float), 64) + tiling.product_bytes() + sums_bytes(tiling) + widest * sizeof(float) +
           kStripRegisterBytes + pointer_bytes(tiling, operands) + (shared ? 0 : tiling.input_bytes());
  }
  static size_t pointer_bytes(const Tiling& tiling, int operands) {
    return align_up(static_cast<size_t>(tiling.block * kMostPixels) * static_cast<size_t>(operands + 1) * sizeof(void*),
                    64);
  }

  Scratch(std::byte* memory, const Tiling& tiling, int operands) {
    const auto take = [&memory](size_t bytes) {
      std::byte* part = memory;
      memory += bytes;
      return reinterpret_cast<float*>(part);
    };
    zeros = take(align_up(static_cast<size_t>(tiling.pitch) * sizeof(float), 64));
    products = take(tiling.product_bytes());
    sums = take(sums_bytes(tiling));
    bias = take(static_cast<size_t>(tiling.widest) * sizeof(float));
    registers = take(kStripRegisterBytes);
    pointers = reinterpret_cast<const float**>(take(pointer_bytes(tiling, operands)));
    input = reinterpret_cast<float*>(memory);
  }
};

// Tiles [first, first + count) of the output.
struct TileRange {
  int64_t first, count;
};

class Winograd {
 public:
  Winograd(const KernelArgs& args, const WinogradShape& shape)
      : args_(args),
        shape_(shape),
        gemm_(*shape.tier->gemm),
        tiling_(args, shape),
        epilogue_(make_epilogue(args, gemm_, kChannelAxis)) {
    output_strides(args.outputs[0], out_strides_);
  }

  void run() const {
    if (args_.tactic.v[1] == 0) {
      parallel_sums(*args_.executor, tiling_.blocks(), [&](int64_t task, int worker) {
        const Scratch scratch = scratch_of(worker);
        const TileRange tiles = block(task);
        transform(tiles, 0, tiles.count, scratch, scratch.input);
        multiply(tiles, 0, tiling_.panels.count(), scratch.input, scratch);
      });
      return;
    }
    auto* shared = reinterpret_cast<float*>(args_.workspace);
    const int64_t panels_per_task = args_.tactic.v[1];
    const int64_t tasks = (tiling_.panels.count() - 1) / panels_per_task + 1;
    for (int64_t i = 0; i < tiling_.blocks(); ++i) {
      const TileRange tiles = block(i);
      const int64_t parts = (tiles.count - 1) / kTransformTiles + 1;
      parallel_sums(*args_.executor, parts, [&](int64_t part, int worker) {
        const int64_t first = part * kTransformTiles, last = first + kTransformTiles;
        transform(tiles, first, last < tiles.count ? last : tiles.count, scratch_of(worker), shared);
      });
      parallel_sums(*args_.executor, tasks, [&](int64_t task, int worker) {
        const int64_t first = task * panels_per_task, last = first + panels_per_task;
        multiply(tiles, first, last < tiling_.panels.count() ? last : tiling_.panels.count(), shared,
                 scratch_of(worker));
      });
    }
  }

 private:
  // Some 2 us for 64 channels.
  static constexpr int64_t kTransformTiles = 4;

  Scratch scratch_of(int worker) const {
    return {args_.scratch + static_cast<size_t>(worker) * args_.scratch_stride, tiling_, epilogue_.operand_count};
  }

  TileRange block(int64_t index) const {
    const int64_t first = index * tiling_.block, rest = tiling_.count - first;
    return {first, tiling_.block < rest ? tiling_.block : rest};
  }

  // A tile's image and its first output pixel.
  struct Place {
    int64_t image, y, x;
  };
  Place place(int64_t tile) const {
    const int64_t row = tile / tiling_.grid[1];
    return {row / tiling_.grid[0], row % tiling_.grid[0] * tiling_.outputs, tile % tiling_.grid[1] * tiling_.outputs};
  }

  // Transforms the input under tiles [first, last) of a block.
  void transform(const TileRange& tiles, int64_t first, int64_t last, const Scratch& scratch, float* to) const {
    const ConvWindow& window = tiling_.window;
    memset(scratch.zeros, 0, static_cast<size_t>(tiling_.pitch) * sizeof(float));
    const auto run = shape_.tier->input[tiling_.outputs / 4];
    for (int64_t i = first; i < last; ++i) {
      const Place at = place(tiles.first + i);
      const float* x = args_.inputs[0].as<const float>() + at.image * window.x_batch;
      const float* pixels[kMostSize * kMostSize];
      const float** pixel = pixels;
      for (int64_t row = at.y - window.pad[0]; row < at.y - window.pad[0] + tiling_.size; ++row) {
        const bool inside = row >= 0 && row < window.input[0];
        for (int64_t column = at.x - window.pad[1]; column < at.x - window.pad[1] + tiling_.size; ++column) {
          *pixel++ = inside && column >= 0 && column < window.input[1]
                         ? x + row * window.x_strides[0] + column * window.x_strides[1]
                         : scratch.zeros;
        }
      }
      run({pixels, window.channels, to + i * tiling_.pitch, tiling_.input_step()});
    }
  }

  // Makes the output of a block in panels [first, last).
  void multiply(const TileRange& tiles, int64_t first, int64_t last, const float* input, const Scratch& scratch) const {
    const float* shared[kMaxPwOperands];
    for (int i = 0; i < epilogue_.operand_count; ++i) shared[i] = epilogue_.operands[i].data;
    for (int64_t i = 0; i < tiles.count; ++i) point_at_output(place(tiles.first + i), pointers_of(scratch, i));
    for (int64_t panel = first; panel < last; ++panel) {
      multiply_panel(tiles.count, panel, input, scratch);
      const float* bias =
          epilogue_.bias < 0 ? nullptr : whole_vectors(tiling_.panels, panel, shared[epilogue_.bias], scratch.bias);
      for (int64_t i = 0; i < tiles.count; ++i) finish(tiles.first + i, i, panel, shared, bias, scratch);
    }
  }

  // One matrix product a position: tiles by channels, times channels by the panel's filters.
  void multiply_panel(int64_t tiles, int64_t panel, const float* input, const Scratch& scratch) const {
    const PanelPlan& panels = tiling_.panels;
    const int vectors = panels.vectors(panel), width = vectors * gemm_.lanes;
    const int64_t channels = tiling_.window.channels;
    const float* packed =
        reinterpret_cast<const float*>(args_.packed) + tiling_.positions * channels * panels.column(panel);
    // As even as whole tiles allow: the first `taller` groups have one more.
    const int64_t groups = (tiles - 1) / shape_.rows + 1, height = tiles / groups, taller = tiles % groups;
    GemmTile tile = {};
    tile.taps = 1;
    tile.depth = channels;
    tile.panel_step = width;
    tile.valid = gemm_.lanes;
    for (int64_t position = 0; position < tiling_.positions; ++position) {
      tile.panel = packed + position * channels * width;
      const float* from = input + position * tiling_.input_step();
      float* to = scratch.products + position * tiling_.product_step();
      for (int64_t group = 0; group < groups; ++group) {
        const int rows = static_cast<int>(height + (group < taller ? 1 : 0));
        const float* row_pointers[kMaxTileRows];
        float* out[kMaxTileRows];
        for (int r = 0; r < rows; ++r, from += tiling_.pitch, to += width) {
          row_pointers[r] = from;
          out[r] = to;
        }
        tile.rows = row_pointers;
        tile.out = out;
        tile.ahead_step = 0;
        tile.ahead = &kNothingAhead;
        // The next position's weights follow, or the next panel's.
        if (position + 1 < tiling_.positions || panel + 1 < panels.count()) {
          read_ahead(tile.panel + channels * width, channels, width * static_cast<int64_t>(sizeof(float)), group,
                     groups, &tile);
        }
        gemm_.kernels[rows][vectors](tile);
      }
    }
  }

  // How many pixels of a tile lie in the output.
  int rows_at(const Place& at) const { return part(tiling_.window.output[0] - at.y); }
  int columns_at(const Place& at) const { return part(tiling_.window.output[1] - at.x); }
  int part(int64_t rest) const { return rest < tiling_.outputs ? static_cast<int>(rest) : tiling_.outputs; }

  const float** pointers_of(const Scratch& scratch, int64_t index) const {
    return scratch.pointers + index * kMostPixels * (epilogue_.operand_count + 1);
  }

  void point_at_output(const Place& at, const float** pointers) const {
    const TensorView& y = args_.outputs[0];
    RowBox box = row_box(y, kChannelAxis, 0);
    box.start[0] = at.image;
    box.dims[0] = 1;
    box.start[2] = at.y;
    box.dims[2] = rows_at(at);
    box.start[3] = at.x;
    box.dims[3] = columns_at(at);
    const int pixels = static_cast<int>(box.dims[2] * box.dims[3]);
    const RowCursor cursor(box, 0);
    row_addresses(cursor, pixels, y.data, sizeof(float), out_strides_, pointers);
    for (int i = 0; i < epilogue_.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue_.operands[i];
      if (!operand.by_row) continue;
      row_addresses(cursor, pixels, operand.data, sizeof(float), operand.strides, pointers + (i + 1) * pixels);
    }
  }

  // Transforms a tile's products back and runs the epilogue on them.
  void finish(int64_t tile, int64_t index, int64_t panel, const float* const* shared, const float* bias,
              const Scratch& scratch) const {
    const Place at = place(tile);
    const int width = tiling_.panels.vectors(panel) * gemm_.lanes;
    const int rows = rows_at(at), columns = columns_at(at), pixels = rows * columns;
    shape_.tier->output[tiling_.outputs / 4]({.from = scratch.products + index * width,
                                              .step = tiling_.product_step(),
                                              .width = width,
                                              .rows = rows,
                                              .columns = columns,
                                              .to = scratch.sums});
    const float* const* pointers = pointers_of(scratch, index);
    finish_tile(epilogue_, gemm_,
                {.sums = scratch.sums,
                 .pitch = width,
                 .rows = pixels,
                 .columns = tiling_.panels.columns(panel),
                 .out = const_cast<float* const*>(pointers),
                 .column = tiling_.panels.column(panel),
                 .operand_rows = pointers + pixels,
                 .operand_step = pixels,
                 .shared = shared,
                 .bias = bias},
                scratch.registers);
  }

  const KernelArgs& args_;
  const WinogradShape& shape_;
  const GemmTier& gemm_;
  Tiling tiling_;
  Epilogue epilogue_;
  int64_t out_strides_[kMaxRank];
};

}  // namespace

Status validate_winograd(const KernelArgs& args, const WinogradShape& shape) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *shape.tier->gemm));
  const ConvWindow window = conv_window(args);
  for (int i = 0; i < 2; ++i) {
    if (args.inputs[0].rank == 4 && window.kernel[i] == kTaps && window.stride[i] == 1 && window.dilation[i] == 1) {
      continue;
    }
    return error(StatusCode::kUnsupported, "the kernel is for 3x3 convolutions of stride 1 without dilation");
  }
  if (window.groups != 1) return error(StatusCode::kUnsupported, "%ld groups, the kernel knows one", window.groups);
  if (window.channels > 1 && window.x_channel != 1) {
    return error(StatusCode::kUnsupported, "the input is not channels-last, its channels are %ld elements apart",
                 window.x_channel);
  }
  const int32_t tiles = args.tactic.v[0], panels = args.tactic.v[1];
  if (tiles < 0 || tiles > kMostTiles || panels < 0) {
    return error(StatusCode::kInvalid, "tactic of %d tiles a block and %d panels a task", tiles, panels);
  }
  const Tiling tiling(args, shape);
  int64_t depth, floats;
  size_t bytes;
  if (!checked_mul<int64_t>(tiling.positions, window.channels, &depth) ||
      !packed_bytes(tiling.panels, depth, 1, &bytes)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  if (!checked_mul<int64_t>(tiling.positions * (tiles > 0 ? tiles : kFewestTiles), tiling.pitch, &floats) ||
      floats > kMostBytes / static_cast<int64_t>(sizeof(float))) {
    return error(StatusCode::kUnsupported, "a block of transformed input is larger than %ld bytes", kMostBytes);
  }
  return kOkStatus;
}

size_t winograd_packed_size(const KernelArgs& args, const WinogradShape& shape) {
  const Tiling tiling(args, shape);
  size_t bytes = 0;
  return packed_bytes(tiling.panels, tiling.positions * tiling.window.channels, 1, &bytes) ? bytes : 0;
}

size_t winograd_workspace_size(const KernelArgs& args, const WinogradShape& shape) {
  return args.tactic.v[1] == 0 ? 0 : Tiling(args, shape).input_bytes();
}

size_t winograd_scratch_size(const KernelArgs& args, const WinogradShape& shape) {
  return Scratch::size(Tiling(args, shape), args.input_count - args.core_inputs, args.tactic.v[1] != 0);
}

Status pack_winograd(const KernelArgs& args, const WinogradShape& shape, std::byte* destination) {
  const Tiling tiling(args, shape);
  const PanelPlan& panels = tiling.panels;
  const int64_t channels = tiling.window.channels;
  const auto weights = tiling.outputs == 2 ? kWeights2 : kWeights4;
  const float* w = args.inputs[1].as<const float>();
  auto* packed = reinterpret_cast<float*>(destination);
  memset(packed, 0, winograd_packed_size(args, shape));
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    const int width = panels.vectors(panel) * shape.tier->gemm->lanes;
    for (int j = 0; j < panels.columns(panel); ++j) {
      const float* filter = w + (panels.column(panel) + j) * channels * kTaps * kTaps;
      for (int64_t c = 0; c < channels; ++c, filter += kTaps * kTaps) {
        for (int position = 0; position < tiling.positions; ++position) {
          const double *down = weights[position / tiling.size], *along = weights[position % tiling.size];
          double sum = 0;
          for (int y = 0; y < kTaps; ++y) {
            for (int x = 0; x < kTaps; ++x) sum += down[y] * along[x] * static_cast<double>(filter[y * kTaps + x]);
          }
          packed[(position * channels + c) * width + j] = static_cast<float>(sum);
        }
      }
    }
    packed += tiling.positions * channels * width;
  }
  return kOkStatus;
}

int winograd_tactics(const KernelArgs& args, const WinogradShape& shape, TacticParams* list, int capacity) {
  const Tiling tiling(args, shape);
  int count = 0;
  const auto add = [&](int64_t block, int64_t panels) {
    if (count < capacity && block <= kMostTiles) {
      list[count++] = {{static_cast<int32_t>(block), static_cast<int32_t>(panels)}};
    }
  };
  add(0, 0);
  if (tiling.count == 0) return count;
  add(0, 1);
  // Few tasks of large blocks read the weights less often, small blocks stay in L2 and keep more workers busy.
  if (tiling.block > kFewestTiles) add((tiling.block + 1) / 2, 0);
  if (tiling.block < tiling.count) {
    add(2 * tiling.block, 0);
    add(2 * tiling.block, 1);
    add(4 * tiling.block, 1);
  }
  return count;
}

Status run_winograd(const KernelArgs& args, const WinogradShape& shape) {
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  Winograd(args, shape).run();
  return kOkStatus;
}

}  // namespace planwright::fast
