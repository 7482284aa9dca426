// Fourier transforms as products with tables of cosines and sines, and the mel filter bank.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "builder/ir/infer.h"
#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// A table of this many numbers is 256 MiB of floats.
constexpr int64_t kMostNumbers = int64_t{1} << 26;

// cos and sin of 2 pi k t / n; the product is taken modulo n first, so that large ones stay exact.
std::pair<double, double> turn(int64_t k, int64_t t, int64_t n) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(k * t % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

struct Transform {
  int64_t rows = 0;       // numbers that are read
  int64_t length = 0;     // of the transform
  int64_t bins = 0;       // that are written
  int64_t parts = 1;      // 1: real input, 2: complex
  int64_t out_parts = 2;  // the same of the output
  bool inverse = false;
};

// What input number `t`, part `part`, adds to part `out` of bin `k`.
double coefficient(const Transform& transform, int64_t t, int64_t part, int64_t k, int64_t out) {
  const auto [cosine, sine] = turn(k, t, transform.length);
  const double turned = transform.inverse ? sine : -sine;
  double value = part == out ? cosine : part == 0 ? turned : -turned;
  if (!transform.inverse) return value;
  // A real signal's other half of bins mirrors the given one: all but the first and the middle one count twice.
  if (transform.out_parts == 1 && t != 0 && 2 * t != transform.length) value *= 2;
  return value / static_cast<double>(transform.length);
}

void append(ir::Bytes& data, DType dtype, double value) {
  const ir::Bytes bytes = element_bytes(dtype, value);
  data.insert(data.end(), bytes.begin(), bytes.end());
}

void check_size(const NodeContext& node, const Transform& transform) {
  node.require(transform.length >= 1 && transform.rows >= 1 && transform.bins >= 1, "a transform of nothing");
  constexpr int64_t kLongest = int64_t{1} << 20;
  if (transform.length > kLongest || transform.rows > kLongest ||
      transform.rows * transform.parts > kMostNumbers / (transform.bins * transform.out_parts)) {
    node.unsupported(fmt::format("a transform of {} numbers; its table would be too large", transform.length));
  }
}

int64_t known(const NodeContext& node, Dim dim, const char* what) {
  if (!dim.is_constant()) node.unsupported(fmt::format("{} is not a constant", what));
  return dim.constant();
}

// Along one axis of [..., 1 or 2], whose last axis holds the real and imaginary parts.
void dft(NodeContext& node) {
  const int rank = node.in_rank(0);
  node.require(rank >= 2, fmt::format("its input has {} axes", rank));
  const bool inverse = node.get_int("inverse") != 0, onesided = node.get_int("onesided") != 0;
  int64_t given = node.since() < 20 ? node.get_int("axis", 1) : -2;
  if (node.since() >= 20 && node.has(2)) given = node.constant_int(2, "axis");
  const int axis = node.normalize_axis(given, rank);
  node.require(axis != rank - 1, "the last axis holds the parts of a number");
  const DType dtype = node.in_type(0);
  node.require(is_float(dtype), fmt::format("its input is {}, not a float", name_of(dtype)));

  Transform transform;
  const int64_t length = known(node, node.in_dims(0)[static_cast<size_t>(axis)], "the length of the axis");
  transform.parts = known(node, node.in_dims(0).back(), "the last axis");
  node.require(transform.parts == 1 || transform.parts == 2, fmt::format("numbers of {} parts", transform.parts));
  transform.inverse = inverse;
  transform.out_parts = inverse && onesided ? 1 : 2;
  const int64_t usual = inverse && onesided ? 2 * (length - 1) : length;
  transform.length = node.has(1) ? node.constant_int(1, "dft_length") : usual;
  node.require(transform.length >= 1 && transform.length < (int64_t{1} << 31),
               fmt::format("dft_length is {}", transform.length));
  const int64_t half = transform.length / 2 + 1;
  transform.bins = onesided && !inverse ? half : transform.length;
  // What is missing of the input is zero, and what is too much is not read.
  transform.rows = std::min(length, inverse && onesided ? half : transform.length);
  check_size(node, transform);

  ir::Bytes table;
  for (int64_t t = 0; t < transform.rows; ++t) {
    for (int64_t part = 0; part < transform.parts; ++part) {
      for (int64_t k = 0; k < transform.bins; ++k) {
        for (int64_t out = 0; out < transform.out_parts; ++out) {
          append(table, dtype, coefficient(transform, t, part, k, out));
        }
      }
    }
  }
  const int64_t columns = transform.bins * transform.out_parts, numbers = transform.rows * transform.parts;
  std::vector<int> there, back(static_cast<size_t>(rank));
  for (int i = 0; i < rank - 1; ++i) {
    if (i != axis) there.push_back(i);
  }
  there.insert(there.end(), {axis, rank - 1});
  for (int i = 0; i < rank; ++i) back[static_cast<size_t>(there[static_cast<size_t>(i)])] = i;
  const ValueId x = node.transpose(node.slice(node.in(0), axis, 0, transform.rows), there);
  Shape outer = node.dims(x);
  outer.resize(outer.size() - 2);
  const ValueId rows = node.reshape(x, {ir::product(outer), numbers});
  const ValueId product = node.matmul(rows, node.constant(dtype, {numbers, columns}, std::move(table)));
  Shape dims = outer;
  dims.insert(dims.end(), {Dim(transform.bins), Dim(transform.out_parts)});
  node.set(0, node.transpose(node.reshape(product, std::move(dims)), back));
}

// Transforms of frames that move over a signal [B, L] or [B, L, 1 or 2]: a convolution whose filters are the table,
// each times the window.
void stft(NodeContext& node) {
  const int rank = node.in_rank(0);
  node.require(rank == 2 || rank == 3, fmt::format("its signal has {} axes, not 3", rank));
  const ValueId signal = rank == 2 ? node.unsqueeze(node.in(0), 2) : node.in(0);
  const DType dtype = node.in_type(0);
  node.require(is_float(dtype), fmt::format("its signal is {}, not a float", name_of(dtype)));
  const int64_t step = node.constant_int(1, "frame_step");
  node.require(step >= 1 && step < (int64_t{1} << 31), fmt::format("frame_step is {}", step));
  Transform transform;
  transform.parts = known(node, node.dims(signal)[2], "the last axis");
  node.require(transform.parts == 1 || transform.parts == 2, fmt::format("numbers of {} parts", transform.parts));
  node.require(node.has(2) || node.has(3), "it has neither a window nor a frame_length");
  if (node.has(2)) node.require(node.in_rank(2) == 1, "its window must have one axis");
  transform.length =
      node.has(3) ? node.constant_int(3, "frame_length") : known(node, node.in_dims(2)[0], "the window's length");
  node.require(transform.length >= 1 && transform.length < (int64_t{1} << 31),
               fmt::format("frame_length is {}", transform.length));
  transform.rows = transform.length;
  transform.bins = node.get_int("onesided", 1) != 0 ? transform.length / 2 + 1 : transform.length;
  check_size(node, transform);
  ir::Bytes table;
  for (int64_t k = 0; k < transform.bins; ++k) {
    for (int64_t out = 0; out < 2; ++out) {
      for (int64_t part = 0; part < transform.parts; ++part) {
        for (int64_t t = 0; t < transform.rows; ++t) append(table, dtype, coefficient(transform, t, part, k, out));
      }
    }
  }
  ValueId filters = node.constant(dtype, {2 * transform.bins, transform.parts, transform.length}, std::move(table));
  if (node.has(2)) {
    node.guard_equal(node.in_dims(2)[0], transform.length, "a window as long as a frame");
    filters = node.binary(PwOp::kMul, filters, node.cast(node.in(2), dtype));
  }
  const ValueId x = node.transpose(signal, {0, 2, 1});
  const Dim length = node.dims(x)[2], batch = node.dims(x)[0];
  node.guard_at_most(transform.length, length, "a frame must fit the signal");
  const Dim frames = ir::window_output(length, 0, 0, transform.length, step, 1, false);
  ConvParams params;
  params.spatial = 1;
  params.stride[0] = static_cast<int32_t>(step);
  Operation operation{OpKind::kConv, params, {x, filters}, {Dim(0)}};
  operation.results[0] = {dtype, Shape{batch, 2 * transform.bins, frames}};
  const ValueId y = node.transpose(node.emit_one(std::move(operation)), {0, 2, 1});
  node.set(0, node.reshape(y, {batch, frames, transform.bins, 2}));
}

ValueId count_up(NodeContext& node, int64_t length) {
  Operation operation{OpKind::kRange, NoParams{}, {node.scalar(DType::kI64, 0), node.scalar(DType::kI64, 1)}};
  operation.results[0] = {DType::kI64, Shape{length}};
  return node.emit_one(std::move(operation));
}

// 2595 log10(1 + hertz / 700), of a scalar input: double.
ValueId mel_of(NodeContext& node, int input) {
  const ValueId hertz = node.cast(node.reshape(node.in(input), {}), DType::kF64);
  return map(node, hertz, DType::kF64, [](ProgramBuilder& p, Reg x) {
    const auto number = [&](double value) { return p.constant(x.type, value); };
    const Reg log = p.apply(PwOp::kLog, p.apply(PwOp::kAdd, number(1), p.apply(PwOp::kDiv, x, number(700))));
    return p.apply(PwOp::kMul, log, number(2595 / std::numbers::ln10));
  });
}

// The bins at which the triangles have their corners, `count` of them, evenly spaced on the mel scale: double.
ValueId mel_corners(NodeContext& node, int64_t count, int64_t length) {
  ProgramBuilder p;
  const PwClass type = PwClass::kDouble;
  const auto number = [&](double value) { return p.constant(type, value); };
  const Reg i = p.load_as(DType::kI64, type), rate = p.load_as(node.in_type(2), type);
  const Reg low = p.load(DType::kF64), high = p.load(DType::kF64);
  const Reg step = p.apply(PwOp::kDiv, p.apply(PwOp::kSub, high, low), number(static_cast<double>(count)));
  const Reg mel = p.apply(PwOp::kAdd, p.apply(PwOp::kMul, i, step), low);
  const Reg power = p.apply(PwOp::kExp, p.apply(PwOp::kMul, mel, number(std::numbers::ln10 / 2595)));
  const Reg hertz = p.apply(PwOp::kMul, p.apply(PwOp::kSub, power, number(1)), number(700));
  const Reg bins = p.apply(PwOp::kMul, hertz, number(static_cast<double>(length + 1)));
  p.store(p.apply(PwOp::kFloor, p.apply(PwOp::kDiv, bins, rate)), DType::kF64);
  const ValueId indices = count_up(node, count);
  return node.pointwise(p, {indices, node.reshape(node.in(2), {}), mel_of(node, 3), mel_of(node, 4)}, DType::kF64);
}

// Triangles over the bins of a spectrum.
void mel_weight_matrix(NodeContext& node) {
  const int64_t filters = node.constant_int(0, "num_mel_bins"), length = node.constant_int(1, "dft_length");
  constexpr int64_t kMost = int64_t{1} << 24;
  node.require(filters >= 1 && filters < kMost && length >= 1 && length < kMost,
               fmt::format("{} filters over {} numbers", filters, length));
  const int64_t bins = length / 2 + 1;
  if (bins > kMostNumbers / filters) node.unsupported("a matrix so large");
  const auto dtype = dtype_of_onnx(node.get_int32("output_datatype", 1));
  if (!dtype) node.unsupported("its type is not supported");

  const ValueId corners = mel_corners(node, filters + 2, length);
  ProgramBuilder p;
  const Reg bin = p.load_as(DType::kI64, PwClass::kDouble);
  const Reg low = p.load(DType::kF64), middle = p.load(DType::kF64), high = p.load(DType::kF64);
  const auto share = [&](Reg part, Reg whole) { return p.apply(PwOp::kDiv, part, whole); };
  const auto within = [&](Reg first, Reg last) {
    return p.apply(PwOp::kAnd, p.apply(PwOp::kLessEqual, first, bin), p.apply(PwOp::kLess, bin, last));
  };
  const Reg rising = share(p.apply(PwOp::kSub, bin, low), p.apply(PwOp::kSub, middle, low));
  const Reg falling = share(p.apply(PwOp::kSub, high, bin), p.apply(PwOp::kSub, high, middle));
  const Reg zero = p.constant(PwClass::kDouble, 0), one = p.constant(PwClass::kDouble, 1);
  // The middle is 1 also where a triangle has no width.
  const Reg sides =
      p.apply(PwOp::kSelect, within(low, middle), rising, p.apply(PwOp::kSelect, within(middle, high), falling, zero));
  p.store(p.apply(PwOp::kSelect, p.apply(PwOp::kEqual, bin, middle), one, sides), *dtype);
  const auto part = [&](int64_t start) { return node.slice(corners, 0, start, filters); };
  node.set(0, node.pointwise(p, {node.unsqueeze(count_up(node, bins), 1), part(0), part(1), part(2)}, *dtype));
}

constexpr ImporterRow kRows[] = {
    {"DFT", dft},
    {"MelWeightMatrix", mel_weight_matrix},
    {"STFT", stft},
};

}  // namespace

ImporterTable signal_importers() { return kRows; }

}  // namespace planwright::builder::importer
