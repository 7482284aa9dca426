// Depthwise convolution, fp32, channels-last: one output channel an input channel.
//
// A vector holds channels. A block is kPixels neighbouring output pixels of one row: each input vector is loaded once
// and used by every output pixel whose window it is in, so that a 3-wide kernel at stride 1 makes 24 multiply-adds of
// 10 input loads and 3 weight loads. Input columns are reached through a table of pointers, in which columns outside
// the image point at zeros: borders cost nothing and rows outside are left out.
#include "tactics/kernels/fast/program_strip.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int kPixels = 8;
constexpr int kChunk = kStripLength / kPixels;  // channels of one tile: 8 x 32 elements are one strip
constexpr int kMaxKernel = 16;                  // taps along one axis
constexpr int64_t kMaxExtent = int64_t{1} << 30;
static_assert(kChunk % kLanes == 0);

// The convolution as two spatial axes, whether it has one or two.
struct Shape {
  int64_t batch, channels, in_h, in_w, out_h, out_w;
  int64_t x_n, x_h, x_w, y_n, y_h, y_w;  // strides, elements; of channels: 1
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_h, pad_w;
};

Shape shape_of(const KernelArgs& args) {
  const auto& params = args.params_as<ConvParams>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const bool flat = params.spatial == 1;
  const int h = flat ? -1 : 2, v = flat ? 2 : 3;
  Shape s;
  s.batch = x.dims[0];
  s.channels = x.dims[1];
  s.in_h = flat ? 1 : x.dims[h];
  s.out_h = flat ? 1 : y.dims[h];
  s.in_w = x.dims[v];
  s.out_w = y.dims[v];
  s.x_n = x.strides[0];
  s.y_n = y.strides[0];
  s.x_h = flat ? 0 : x.strides[h];
  s.y_h = flat ? 0 : y.strides[h];
  s.x_w = x.strides[v];
  s.y_w = y.strides[v];
  s.kernel_h = flat ? 1 : static_cast<int>(w.dims[h]);
  s.kernel_w = static_cast<int>(w.dims[v]);
  s.stride_h = flat ? 1 : params.stride[0];
  s.stride_w = params.stride[flat ? 0 : 1];
  s.dilation_h = flat ? 1 : params.dilation[0];
  s.dilation_w = params.dilation[flat ? 0 : 1];
  s.pad_h = flat ? 0 : args.scalars[0];
  s.pad_w = args.scalars[flat ? 0 : 1];
  return s;
}

int64_t padded_channels(int64_t channels) { return (channels + kLanes - 1) / kLanes * kLanes; }

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ConvParams>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  if (params.spatial < 1 || params.spatial > 2)
    return error(StatusCode::kUnsupported, "spatial rank %d", params.spatial);
  const int rank = params.spatial + 2;
  if (x.rank != rank || w.rank != rank || y.rank != rank)
    return error(StatusCode::kInvalid, "ranks differ from %d", rank);
  if (params.group != x.dims[1] || w.dims[1] != 1 || w.dims[0] != x.dims[1]) {
    return error(StatusCode::kUnsupported, "not depthwise: group %d, %ld channels in, %ld out", params.group,
                 static_cast<long>(x.dims[1]), static_cast<long>(w.dims[0]));
  }
  if (y.dims[0] != x.dims[0] || y.dims[1] != x.dims[1]) return error(StatusCode::kInvalid, "output batch or channels");
  for (int i = 0; i < args.input_count; ++i) {
    if (args.inputs[i].dtype != DType::kF32) return error(StatusCode::kUnsupported, "operand %d is not fp32", i);
  }
  if (y.dtype != DType::kF32) return error(StatusCode::kUnsupported, "the output is not fp32");
  if (x.dims[1] > 1 && (x.strides[1] != 1 || y.strides[1] != 1)) {
    return error(StatusCode::kUnsupported, "channels are not innermost");
  }
  for (int axis = 0; axis < params.spatial; ++axis) {
    const int64_t taps = w.dims[axis + 2], pad = args.scalars[axis];
    if (taps < 1 || taps > kMaxKernel)
      return error(StatusCode::kUnsupported, "%ld taps along an axis", static_cast<long>(taps));
    if (params.stride[axis] < 1 || params.dilation[axis] < 1 || params.stride[axis] > kMaxExtent ||
        params.dilation[axis] > kMaxExtent) {
      return error(StatusCode::kInvalid, "stride or dilation out of range");
    }
    if (pad < -kMaxExtent || pad > kMaxExtent || x.dims[axis + 2] > kMaxExtent || y.dims[axis + 2] > kMaxExtent) {
      return error(StatusCode::kUnsupported, "an extent is past 2^30");
    }
  }
  if (!is_strip_program(args.program, args.program_size)) {
    return error(StatusCode::kUnsupported, "the epilogue is not all fp32");
  }
  return kOkStatus;
}

// Taps x channels padded to whole vectors.
size_t packed_size(const KernelArgs& args) {
  const TensorView& w = args.inputs[1];
  const int64_t taps = w.dims[2] * (w.rank > 3 ? w.dims[3] : 1);
  return static_cast<size_t>(taps * padded_channels(w.dims[0])) * sizeof(float);
}

Status pack(const KernelArgs& args, std::byte* destination) {
  const TensorView& w = args.inputs[1];
  const int64_t taps = w.dims[2] * (w.rank > 3 ? w.dims[3] : 1), channels = w.dims[0],
                padded = padded_channels(channels);
  const float* from = w.as<const float>();
  float* to = reinterpret_cast<float*>(destination);
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < padded; ++c) to[tap * padded + c] = c < channels ? from[c * taps + tap] : 0.0f;
  }
  return kOkStatus;
}

// ---- Running

constexpr int kMaxPointers = kPixels * kMaxKernel;

// A worker's scratch: what follows it in memory is zeros, one for each channel, that columns outside the image point
// at.
struct Scratch {
  float registers[kStripRegisterBytes / sizeof(float)];
  float tile[kStripLength];
  const float* columns[kMaxKernel][kMaxPointers];
  float* zeros() { return reinterpret_cast<float*>(this + 1); }
};
static_assert(sizeof(Scratch) % sizeof(float) == 0);

size_t scratch_size(const KernelArgs& args) {
  return sizeof(Scratch) + static_cast<size_t>(padded_channels(args.inputs[0].dims[1])) * sizeof(float);
}

template <bool kPartial>
HWY_INLINE FloatVec load_channels(const float* from, int valid) {
  return kPartial ? load_n(from, valid) : hn::LoadU(kF, from);
}

// Sums one vector of channels over a block, for the kernel rows [first, end): kernel kWidth wide, stride kStride,
// dilation
// 1. columns[row] are the input columns of the block from left to right.
template <int kWidth, int kStride>
struct Fixed {
  static int columns() { return (kPixels - 1) * kStride + kWidth; }
  // The column, from the block's first, of pointer `index`.
  static int64_t column_of(int index, const Shape&) { return index; }

  template <bool kPartial>
  static HWY_INLINE void sum(const Scratch& scratch, const float* weights, int64_t padded, int first, int end, int,
                             int64_t channel, int valid, float* tile) {
    FloatVec sums[kPixels];
    for (int p = 0; p < kPixels; ++p) sums[p] = hn::Zero(kF);
    for (int row = first; row < end; ++row) {
      FloatVec w[kWidth];
      for (int k = 0; k < kWidth; ++k) w[k] = hn::LoadU(kF, weights + (row * kWidth + k) * padded);
      const float* const* at = scratch.columns[row];
#pragma GCC unroll 32
      for (int column = 0; column < (kPixels - 1) * kStride + kWidth; ++column) {
        const FloatVec x = load_channels<kPartial>(at[column] + channel, valid);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          const int k = column - p * kStride;
          if (k >= 0 && k < kWidth) sums[p] = hn::MulAdd(x, w[k], sums[p]);
        }
      }
    }
    for (int p = 0; p < kPixels; ++p) hn::StoreU(sums[p], kF, tile + p * kChunk);
  }
};

// The same for any kernel: columns[row][k * kPixels + p] is tap k of pixel p.
struct General {
  static int columns(const Shape& s) { return s.kernel_w * kPixels; }
  static int64_t column_of(int index, const Shape& s) {
    return int64_t{index % kPixels} * s.stride_w + int64_t{index / kPixels} * s.dilation_w;
  }

  template <bool kPartial>
  static HWY_INLINE void sum(const Scratch& scratch, const float* weights, int64_t padded, int first, int end,
                             int width, int64_t channel, int valid, float* tile) {
    FloatVec sums[kPixels];
    for (int p = 0; p < kPixels; ++p) sums[p] = hn::Zero(kF);
    for (int row = first; row < end; ++row) {
      for (int k = 0; k < width; ++k) {
        const FloatVec w = hn::LoadU(kF, weights + (row * width + k) * padded);
        const float* const* at = scratch.columns[row] + k * kPixels;
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          sums[p] = hn::MulAdd(load_channels<kPartial>(at[p] + channel, valid), w, sums[p]);
        }
      }
    }
    for (int p = 0; p < kPixels; ++p) hn::StoreU(sums[p], kF, tile + p * kChunk);
  }
};

struct Job {
  const KernelArgs& args;
  Shape shape;
  StripProgram program;
  int64_t rows_per_task, tasks_per_image;
  int64_t operand_strides[kMaxPwOperands][kMaxRank];
};

// The epilogue over a tile of `pixels` x `channels` whose first element is (n, channel, oy, ox).
void finish_tile(const Job& job, Scratch& scratch, int64_t n, int64_t oy, int64_t ox, int64_t channel, int pixels,
                 int channels) {
  const Shape& s = job.shape;
  const bool flat = job.args.outputs[0].rank == 3;
  StripOperand operands[kMaxPwOperands];
  const float* operand_rows[kMaxPwOperands][kPixels];
  const int count = job.args.input_count - job.args.core_inputs;
  for (int i = 0; i < count; ++i) {
    const int64_t* strides = job.operand_strides[i];
    const int64_t along = strides[flat ? 2 : 3];
    const float* base = job.args.inputs[job.args.core_inputs + i].as<const float>() + n * strides[0] +
                        (flat ? 0 : oy * strides[2]) + ox * along;
    operands[i] = {base + channel * strides[1], strides[1]};
    if (along == 0) continue;
    for (int p = 0; p < pixels; ++p) operand_rows[i][p] = base + p * along;
    operands[i] = {nullptr, strides[1], operand_rows[i], channel};
  }
  float* output_rows[kPixels];
  float* y = job.args.outputs[0].as<float>() + n * s.y_n + oy * s.y_h + ox * s.y_w;
  for (int p = 0; p < pixels; ++p) output_rows[p] = y + p * s.y_w;
  const StripOutput output{nullptr, 1, output_rows, channel};
  run_tile(job.program, operands, scratch.tile, &output, {pixels, channels, kChunk}, scratch.registers);
}

template <typename Kernel>
void run_row(const Job& job, Scratch& scratch, int columns, int64_t n, int64_t oy) {
  const Shape& s = job.shape;
  const float* image = job.args.inputs[0].as<const float>() + n * s.x_n;
  const float* weights = reinterpret_cast<const float*>(job.args.packed);
  const int64_t padded = padded_channels(s.channels);
  int first = s.kernel_h, end = 0;  // the kernel rows that lie inside
  for (int64_t ox = 0; ox < s.out_w; ox += kPixels) {
    for (int row = 0; row < s.kernel_h; ++row) {
      const int64_t iy = oy * s.stride_h - s.pad_h + int64_t{row} * s.dilation_h;
      if (iy < 0 || iy >= s.in_h) continue;
      first = row < first ? row : first;
      end = row + 1 > end ? row + 1 : end;
      for (int i = 0; i < columns; ++i) {
        const int64_t ix = ox * s.stride_w - s.pad_w + Kernel::column_of(i, s);
        scratch.columns[row][i] = ix < 0 || ix >= s.in_w ? scratch.zeros() : image + iy * s.x_h + ix * s.x_w;
      }
    }
    const int pixels = static_cast<int>(s.out_w - ox < kPixels ? s.out_w - ox : kPixels);
    for (int64_t chunk = 0; chunk < s.channels; chunk += kChunk) {
      const int channels = static_cast<int>(s.channels - chunk < kChunk ? s.channels - chunk : kChunk);
      for (int c = 0; c < channels; c += kLanes) {
        const float* w = weights + chunk + c;
        if (channels - c >= kLanes) {
          Kernel::template sum<false>(scratch, w, padded, first, end, s.kernel_w, chunk + c, kLanes, scratch.tile + c);
        } else {
          Kernel::template sum<true>(scratch, w, padded, first, end, s.kernel_w, chunk + c, channels - c,
                                     scratch.tile + c);
        }
      }
      finish_tile(job, scratch, n, oy, ox, chunk, pixels, channels);
    }
  }
}

template <typename Kernel>
void run_rows(const Job& job, int columns, int64_t task, int worker) {
  Scratch& scratch =
      *reinterpret_cast<Scratch*>(job.args.scratch + static_cast<size_t>(worker) * job.args.scratch_stride);
  for (int64_t c = 0; c < padded_channels(job.shape.channels); ++c) scratch.zeros()[c] = 0.0f;
  const int64_t n = task / job.tasks_per_image, start = task % job.tasks_per_image * job.rows_per_task;
  for (int64_t oy = start; oy < start + job.rows_per_task && oy < job.shape.out_h; ++oy) {
    run_row<Kernel>(job, scratch, columns, n, oy);
  }
}

template <typename Kernel>
void run_job(const Job& job, int columns) {
  parallel_for(*job.args.executor, job.shape.batch * job.tasks_per_image,
               [&](int64_t task, int worker) { run_rows<Kernel>(job, columns, task, worker); });
}

Status run(const KernelArgs& args) {
  Job job{args, shape_of(args), strip_program(args.program, args.program_size), 1, 1, {}};
  const Shape& s = job.shape;
  for (int i = args.core_inputs; i < args.input_count; ++i) {
    broadcast_strides(args.inputs[i], args.outputs[0], job.operand_strides[i - args.core_inputs]);
  }
  // About 128 Ki multiply-adds a task: some 10 us on one core, so that handing tasks out does not show.
  const int64_t row_cost = s.out_w * s.channels * s.kernel_h * s.kernel_w;
  job.rows_per_task = row_cost >= (1 << 17) ? 1 : (1 << 17) / (row_cost + 1) + 1;
  job.tasks_per_image = (s.out_h + job.rows_per_task - 1) / job.rows_per_task;
  const bool dense = s.dilation_w == 1;
  if (dense && s.kernel_w == 3 && s.stride_w == 1) {
    run_job<Fixed<3, 1>>(job, Fixed<3, 1>::columns());
  } else if (dense && s.kernel_w == 3 && s.stride_w == 2) {
    run_job<Fixed<3, 2>>(job, Fixed<3, 2>::columns());
  } else if (dense && s.kernel_w == 5 && s.stride_w == 1) {
    run_job<Fixed<5, 1>>(job, Fixed<5, 1>::columns());
  } else if (dense && s.kernel_w == 5 && s.stride_w == 2) {
    run_job<Fixed<5, 2>>(job, Fixed<5, 2>::columns());
  } else {
    run_job<General>(job, General::columns(s));
  }
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "depthwise_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kConv,
    .isa = PW_TIER_ISA,
    .packed_inputs = 1u << 1,
    .validate = validate,
    .packed_size = packed_size,
    .workspace_size = nullptr,
    .scratch_size = scratch_size,
    .pack = pack,
    .run = run,
    .tactics = nullptr,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

namespace planwright {
extern const KernelTable PW_TIER_TABLE(depthwise_f32);
const KernelTable PW_TIER_TABLE(depthwise_f32) = {PW_TIER_NAMESPACE::kKernels, 1};
}  // namespace planwright
