#include "tactics/kernels/fast/conv_image.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "schemas/types/half.h"
#include "tactics/kernels/fast/conv_window.h"
#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

constexpr int kChannelAxis = 1;
constexpr int64_t kMostTaps = 256;
// Of the copy: it stays in L2 beside a panel of weights.
constexpr int64_t kImageBytes = 512 * 1024;
constexpr int64_t kMostImageBytes = int64_t{16} << 20;
// Tasks that are enough for 8 workers.
constexpr int64_t kEnoughTasks = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a - 1) / b + 1; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// The copy that a task makes. Its rows are dealt out to `stride` planes by their number, so that output rows are one
// line of a plane apart whatever the stride; a line holds `width` steps of `stride` pixels.
struct Image {
  int64_t output_rows;  // of a task, at most
  int64_t pixel;        // elements of a pixel: its channels, and zeros
  int64_t taps, depth;  // as the micro kernel sees them: a row of the kernel at once where its taps are neighbours
  int64_t width;
  int64_t line;    // elements
  int64_t planes;  // as many as the stride ...
  int64_t lines;   // ... of so many lines
  int64_t offsets[kMostTaps];

  int64_t elements() const { return planes * lines * line; }
};

// Of the copy: bf16 or bytes.
int64_t element_bytes(const GemmShape& shape) { return shape.bytes == nullptr ? 2 : 1; }

int64_t pixel_of(const ConvWindow& window, const GemmShape& shape) {
  return window.channels <= 4 ? 4 : round_up(window.channels, shape.bytes == nullptr ? 8 : kByteGroup);
}
bool merges_taps(const ConvWindow& window) { return window.dilation[1] == 1; }
int64_t depth_of(const ConvWindow& window, const GemmShape& shape) {
  const int64_t pixel = pixel_of(window, shape);
  return round_up(merges_taps(window) ? window.kernel[1] * pixel : pixel,
                  shape.bytes == nullptr ? kHalfStep : kByteGroup);
}
int64_t taps_of(const ConvWindow& window) { return merges_taps(window) ? window.kernel[0] : window.taps(); }

// Without what depends on how many rows a task has.
Image image_of(const ConvWindow& window, const GemmShape& shape) {
  Image image = {};
  image.pixel = pixel_of(window, shape);
  image.taps = taps_of(window);
  image.depth = depth_of(window, shape);
  image.width = ceil_div((window.output[1] - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1] + 1,
                         window.stride[1]);
  image.line = image.width * window.stride[1] * image.pixel;
  image.planes = window.stride[0];
  return image;
}

int64_t lines_of(const ConvWindow& window, int64_t output_rows) {
  return ceil_div((output_rows - 1) * window.stride[0] + (window.kernel[0] - 1) * window.dilation[0] + 1,
                  window.stride[0]);
}

Image image_of(const ConvWindow& window, const GemmShape& shape, const TacticParams& tactic) {
  Image image = image_of(window, shape);
  int64_t rows = tactic.v[0];
  if (rows == 0) {
    const int64_t line_bytes = image.planes * image.line * element_bytes(shape);
    const int64_t lines = kImageBytes / (line_bytes > 0 ? line_bytes : 1), lost = lines_of(window, 1) - 1;
    rows = lines - lost > 1 ? lines - lost : 1;
  }
  image.output_rows = rows < window.output[0] ? rows : window.output[0];
  image.lines = lines_of(window, image.output_rows);
  for (int64_t tap = 0; tap < image.taps; ++tap) {
    const int64_t kw = merges_taps(window) ? 0 : tap % window.kernel[1];
    const int64_t kh = merges_taps(window) ? tap : tap / window.kernel[1];
    const int64_t row = kh * window.dilation[0];
    image.offsets[tap] =
        (row % image.planes * image.lines + row / image.planes) * image.line + kw * window.dilation[1] * image.pixel;
  }
  return image;
}

// What tiles read past the last line: rows up to a granule, its last taps, and K's padding.
int64_t slack_of(const Image& image, const ConvWindow& window, const GemmShape& shape) {
  return (shape.half == nullptr ? 1 : shape.half->granule) * window.stride[1] * image.pixel +
         (window.kernel[1] - 1) * window.dilation[1] * image.pixel + image.depth;
}

PanelPlan panels_of(const ConvWindow& window, const GemmShape& shape) {
  return {window.filters, shape.tier->lanes, shape.vectors};
}

// Of the copy, whatever rows a task has: grows with the dims, as rows of a task do not.
size_t image_bytes(const ConvWindow& window, const TacticParams& tactic, const GemmShape& shape) {
  const Image image = image_of(window, shape);
  const auto bytes_of = [&](int64_t rows) {
    return image.planes * lines_of(window, rows) * image.line * element_bytes(shape);
  };
  int64_t bytes = bytes_of(window.output[0]);
  if (tactic.v[0] > 0 && tactic.v[0] < window.output[0]) {
    bytes = bytes_of(tactic.v[0]);
  } else if (tactic.v[0] == 0) {
    const int64_t one = bytes_of(1), most = one > kImageBytes ? one : kImageBytes;
    if (bytes > most) bytes = most;
  }
  return align_up(static_cast<size_t>(bytes + slack_of(image, window, shape) * element_bytes(shape)), 64);
}

size_t nowhere_bytes(const PanelPlan& panels) {
  return align_up(static_cast<size_t>(panels.padded_columns()) * sizeof(float), 64);
}

int64_t panels_per_task(const ConvWindow& window, const PanelPlan& panels, const Image& image,
                        const TacticParams& tactic) {
  if (tactic.v[1] > 0) return tactic.v[1];
  const int64_t blocks = window.batch * ceil_div(window.output[0], image.output_rows);
  const int64_t groups = blocks < kEnoughTasks ? ceil_div(kEnoughTasks, blocks) : 1;
  return groups < panels.count() ? ceil_div(panels.count(), groups) : 1;
}

// Writes pixels of input row `y` as a line of the copy: what is in bf16 or bytes as it is (but int8 as uint8, 128
// more), floats rounded to bf16. Padding is `zero`.
class LineCopy {
 public:
  LineCopy(const ConvWindow& window, const Image& image, const HalfTier* tier, const TensorView& x, uint8_t zero)
      : window_(window),
        image_(image),
        tier_(tier),
        x_(x),
        flip_(x.dtype == DType::kI8 ? 0x80 : 0),
        zero_(static_cast<uint8_t>(zero ^ flip_)) {
    const int64_t columns = image.width * window.stride[1], pad = window.pad[1];
    first_ = pad < 0 ? 0 : pad < columns ? pad : columns;
    const int64_t end = window.input[1] + pad;
    last_ = end < first_ ? first_ : end < columns ? end : columns;
  }

  void write(int64_t batch, int64_t y, std::byte* to) const {
    if (tier_ == nullptr) return write_line(batch, y, reinterpret_cast<uint8_t*>(to));
    write_line(batch, y, reinterpret_cast<uint16_t*>(to));
  }

 private:
  template <typename T>
  void write_line(int64_t batch, int64_t y, T* to) const {
    if (y < 0 || y >= window_.input[0] || first_ == last_) return zero(to, image_.line);
    zero(to, first_ * image_.pixel);
    zero(to + last_ * image_.pixel, image_.line - last_ * image_.pixel);
    const int64_t at =
        batch * window_.x_batch + y * window_.x_strides[0] + (first_ - window_.pad[1]) * window_.x_strides[1];
    to += first_ * image_.pixel;
    if constexpr (sizeof(T) == 1) {
      copy(x_.as<const T>() + at, to);
      const int64_t count = (last_ - first_) * image_.pixel;
      for (int64_t i = 0; flip_ != 0 && i < count; ++i) to[i] = static_cast<T>(to[i] ^ flip_);
    } else {
      if (x_.dtype == DType::kBF16) return copy(x_.as<const T>() + at, to);
      narrow(x_.as<const float>() + at, to);
    }
  }

  template <typename T>
  void zero(T* to, int64_t count) const {
    memset(to, zero_, static_cast<size_t>(count) * sizeof(T));
  }

  bool is_dense() const { return channels_adjoin() && window_.x_strides[1] == image_.pixel && !has_padding(); }
  bool channels_adjoin() const { return window_.x_channel == 1 || window_.channels == 1; }
  bool has_padding() const { return window_.channels != image_.pixel; }

  template <typename T>
  void copy(const T* from, T* to) const {
    const int64_t pixels = last_ - first_;
    if (is_dense()) return (void)memcpy(to, from, static_cast<size_t>(pixels * image_.pixel) * sizeof(T));
    if (sizeof(T) == 1 && window_.channels == 3 && image_.pixel == 4) {
      // Words that the compiler makes of vectors where rows of each channel lie apart.
      const int64_t second = window_.x_channel, third = 2 * window_.x_channel, step = window_.x_strides[1];
      for (int64_t i = 0; i < pixels; ++i) {
        const uint32_t pixel = from[i * step] | from[i * step + second] << 8 | from[i * step + third] << 16;
        memcpy(to + 4 * i, &pixel, sizeof pixel);
      }
      return;
    }
    for (int64_t i = 0; i < pixels; ++i, from += window_.x_strides[1], to += image_.pixel) {
      for (int64_t c = 0; c < window_.channels; ++c) to[c] = from[c * window_.x_channel];
      zero(to + window_.channels, image_.pixel - window_.channels);
    }
  }

  void narrow(const float* from, uint16_t* to) const {
    const int64_t pixels = last_ - first_;
    if (is_dense()) return tier_->narrow(from, pixels * image_.pixel, to);
    if (image_.pixel == 4 && window_.x_strides[1] == 1) {
      return tier_->interleave(from, window_.x_channel, static_cast<int>(window_.channels), pixels, to);
    }
    for (int64_t i = 0; i < pixels; ++i, from += window_.x_strides[1], to += image_.pixel) {
      if (channels_adjoin()) {
        tier_->narrow(from, window_.channels, to);
      } else {
        for (int64_t c = 0; c < window_.channels; ++c) to[c] = bf16_of_float(from[c * window_.x_channel]);
      }
      zero(to + window_.channels, image_.pixel - window_.channels);
    }
  }

  const ConvWindow& window_;
  const Image& image_;
  const HalfTier* tier_;  // null: bytes
  const TensorView& x_;
  const uint8_t flip_, zero_;
  int64_t first_, last_;  // pixels of a line that lie in the image
};

}  // namespace

Status validate_conv_image(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(validate_fast_conv(args, *shape.tier, storage_of(shape)));
  PW_RETURN_IF_ERROR(validate_split(args.tactic));
  const ConvWindow window = conv_window(args);
  if (window.groups != 1) return error(StatusCode::kUnsupported, "%ld groups, the kernel is for one", window.groups);
  if (window.taps() < 2 || window.taps() > kMostTaps) {
    return error(StatusCode::kUnsupported, "%ld taps, the kernel is for 2 to %ld", window.taps(), kMostTaps);
  }
  if (window.channels > 8 && window.x_channel != 1) {
    return error(StatusCode::kUnsupported, "the input is not channels-last, its channels are %ld elements apart",
                 window.x_channel);
  }
  int64_t depth;
  size_t packed;
  if (!checked_mul(taps_of(window), depth_of(window, shape), &depth) ||
      !packed_bytes(panels_of(window, shape), packed_depth(shape, depth), 1, &packed)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  PW_RETURN_IF_ERROR(validate_byte_depth(shape, depth));
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  // Dims, strides, dilations and padding are at most 2^30, so only the products need care.
  const Image one = image_of(window, shape);
  int64_t elements;
  const int64_t rows = args.tactic.v[0] > 0 && args.tactic.v[0] < window.output[0] ? args.tactic.v[0]
                       : args.tactic.v[0] > 0                                      ? window.output[0]
                                                                                   : 1;
  if (!checked_mul(one.width, window.stride[1], &elements) || !checked_mul(elements, one.pixel, &elements) ||
      !checked_mul(elements, one.planes, &elements) || !checked_mul(elements, lines_of(window, rows), &elements) ||
      elements > kMostImageBytes / element_bytes(shape) ||
      elements + slack_of(one, window, shape) > kMostImageBytes / element_bytes(shape)) {
    return error(StatusCode::kUnsupported, "the copy of the image is larger than %ld bytes", kMostImageBytes);
  }
  return kOkStatus;
}

size_t conv_image_packed_size(const KernelArgs& args, const GemmShape& shape) {
  const ConvWindow window = conv_window(args);
  size_t bytes = 0;
  const int64_t depth = packed_depth(shape, taps_of(window) * depth_of(window, shape));
  if (!packed_bytes(panels_of(window, shape), depth, 1, &bytes)) return 0;
  return bytes + (shape.bytes == nullptr ? 0 : byte_table_size(args));
}

size_t conv_image_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  if (element_count(args.outputs[0]) == 0) return 0;
  const ConvWindow window = conv_window(args);
  const Image image = image_of(window, shape, args.tactic);
  return image_bytes(window, args.tactic, shape) + nowhere_bytes(panels_of(window, shape)) +
         gemm_scratch_size(shape, 1, image.taps * image.depth, args.input_count - args.core_inputs);
}

namespace {

// Weights, [filter][channel][tap], as K goes through the copy.
struct ByteFilters {
  const int8_t* elements;
  const ConvWindow* window;
  int64_t pixel, depth;
};
int8_t byte_at(const void* context, int64_t k, int64_t column) {
  const auto& filters = *static_cast<const ByteFilters*>(context);
  const ConvWindow& window = *filters.window;
  const int64_t in_tap = k % filters.depth, channel = in_tap % filters.pixel;
  const int64_t tap =
      merges_taps(window) ? k / filters.depth * window.kernel[1] + in_tap / filters.pixel : k / filters.depth;
  const bool is_real = channel < window.channels && (!merges_taps(window) || in_tap / filters.pixel < window.kernel[1]);
  return is_real ? filters.elements[(column * window.channels + channel) * window.taps() + tap] : int8_t{0};
}

}  // namespace

Status pack_conv_image(const KernelArgs& args, const GemmShape& shape, std::byte* destination) {
  const ConvWindow window = conv_window(args);
  const PanelPlan panels = panels_of(window, shape);
  const int64_t channels = window.channels, taps = window.taps();
  const int64_t pixel = pixel_of(window, shape), depth = depth_of(window, shape), k = taps_of(window) * depth;
  if (shape.bytes != nullptr) {
    const ByteFilters filters = {args.inputs[1].as<const int8_t>(), &window, pixel, depth};
    auto* packed = reinterpret_cast<float*>(destination);
    pack_byte_values(shape, panels, k, byte_at, &filters, packed);
    pack_byte_table(args, reinterpret_cast<std::byte*>(packed + panels.padded_columns() * packed_depth(shape, k)));
    return kOkStatus;
  }
  const float* w = args.inputs[1].as<const float>();
  memset(destination, 0, conv_image_packed_size(args, shape));
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t kw = tap % window.kernel[1];
    const int64_t row = merges_taps(window) ? tap / window.kernel[1] * depth + kw * pixel : tap * depth;
    pack_gemm_rows(shape, panels, k, row, channels, w + tap, taps, channels * taps,
                   reinterpret_cast<float*>(destination));
  }
  return kOkStatus;
}

int conv_image_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity) {
  const ConvWindow window = conv_window(args);
  const PanelPlan panels = panels_of(window, shape);
  int count = 0;
  if (count < capacity) list[count++] = {};
  if (element_count(args.outputs[0]) == 0) return count;
  const auto all = static_cast<int32_t>(panels.count() < INT32_MAX ? panels.count() : INT32_MAX);
  if (panels_per_task(window, panels, image_of(window, shape, {}), {}) < all && count < capacity)
    list[count++] = {{0, all}};
  const int64_t rows = image_of(window, shape, {}).output_rows;
  if (rows > 8 && count < capacity) list[count++] = {{static_cast<int32_t>(ceil_div(rows, 4)), all}};
  return count;
}

Status run_conv_image(const KernelArgs& args, const GemmShape& shape) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const ConvWindow window = conv_window(args);
  const Image image = image_of(window, shape, args.tactic);
  const int32_t zero = zero_point_of(args);
  const LineCopy lines(window, image, shape.half, x, static_cast<uint8_t>(zero));
  Epilogue epilogue = make_epilogue(args, *shape.tier, kChannelAxis, storage_of(shape));
  const PanelPlan panels = panels_of(window, shape);
  epilogue.bytes.packed =
      reinterpret_cast<const uint8_t*>(reinterpret_cast<const float*>(args.packed) +
                                       panels.padded_columns() * packed_depth(shape, image.taps * image.depth));
  const int64_t of_task = panels_per_task(window, panels, image, args.tactic);
  const int64_t groups = ceil_div(panels.count(), of_task);
  const int64_t blocks = ceil_div(window.output[0], image.output_rows);
  parallel_sums(*args.executor, window.batch * blocks * groups, [&](int64_t task, int worker) {
    const int64_t batch = task / groups / blocks, first = task / groups % blocks * image.output_rows;
    const int64_t left = window.output[0] - first;
    const int64_t rows = left < image.output_rows ? left : image.output_rows;
    std::byte* scratch = args.scratch + static_cast<size_t>(worker) * args.scratch_stride;
    std::byte* copy = scratch;
    const int64_t element = element_bytes(shape);
    for (int64_t plane = 0; plane < image.planes; ++plane) {
      for (int64_t line = 0; line < image.lines; ++line) {
        const int64_t row = first * window.stride[0] - window.pad[0] + line * image.planes + plane;
        lines.write(batch, row, copy + (plane * image.lines + line) * image.line * element);
      }
    }
    memset(copy + image.elements() * element, 0, static_cast<size_t>(slack_of(image, window, shape) * element));
    scratch += image_bytes(window, args.tactic, shape);

    const ImageRows rows_of_image = {.data = copy,
                                     .step = window.stride[1] * image.pixel,
                                     .taps = image.taps,
                                     .offsets = image.offsets,
                                     .width = image.width,
                                     .valid = window.output[1],
                                     .nowhere = reinterpret_cast<float*>(scratch)};
    scratch += nowhere_bytes(panels);
    GemmJob job = {.shape = shape,
                   .panels = panels,
                   .packed = reinterpret_cast<const float*>(args.packed),
                   .taps = 1,
                   .depth = image.taps * image.depth,
                   .a_type = shape.bytes == nullptr ? DType::kBF16 : x.dtype,
                   .a_zero = zero,
                   .image = &rows_of_image,
                   .rows = row_box(y, kChannelAxis, 0),
                   .epilogue = &epilogue,
                   .out = y.data,
                   .out_type = y.dtype,
                   .out_strides = {},
                   .row_pointers = nullptr,
                   .context = nullptr};
    output_strides(y, job.out_strides);
    job.rows.dims[0] = 1;
    job.rows.start[0] = batch;
    job.rows.dims[y.rank - 1] = image.width;
    if (y.rank == 4) {
      job.rows.dims[2] = rows;
      job.rows.start[2] = first;
    }
    const int64_t tiles = row_tiles(job.rows.count(), shape.rows);
    run_gemm_task(job, {tiles, of_task, 1, groups}, task % groups, scratch);
  });
  return kOkStatus;
}

}  // namespace planwright::fast
