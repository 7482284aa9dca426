// MatMulNBits of the domain com.microsoft: weights of 2, 4 and 8 bits, as quantisers of language models write them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// What the node's attributes say of its weights: K x N of them, in blocks along K, each level `bits` bits wide. They
// are stored column by column, and a column's levels and its zero points fill their last byte with zeros.
struct Form {
  int64_t k, n, block, bits;

  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t column_bytes() const { return blocks() * (block * bits / 8); }
  int64_t zero_point_bytes() const { return (blocks() * bits + 7) / 8; }
  int64_t middle() const { return int64_t{1} << (bits - 1); }  // the zero point where none is given
};

Form read_form(const NodeContext& node) {
  const Form form = {node.get_int("K"), node.get_int("N"), node.get_int("block_size"), node.get_int("bits", 4)};
  constexpr int64_t kMost = int64_t{1} << 31;
  node.require(form.k >= 1 && form.n >= 1 && form.k < kMost && form.n < kMost,
               fmt::format("weights of {} x {}", form.k, form.n));
  node.require(form.block >= 16 && form.block < kMost && (form.block & (form.block - 1)) == 0,
               fmt::format("block_size is {}", form.block));
  if (form.bits != 2 && form.bits != 4 && form.bits != 8) {
    node.unsupported(fmt::format("weights of {} bits", form.bits));
  }
  return form;
}

void require_size(const NodeContext& node, int input, const char* name, int64_t size, const char* unit) {
  const Dim count = ir::product(node.in_dims(input));
  node.require(!count.is_constant() || count == Dim(size),
               fmt::format("its {} hold {} {}; for its K, N, bits and block_size it must be {}", name,
                           ir::to_string(count), unit, size));
}

void check_inputs(const NodeContext& node, const Form& form) {
  if (node.get_int("weight_prepacked") != 0) node.unsupported("weights packed for one device; export them anew");
  if (node.has(4)) node.unsupported("g_idx; export without reordering");
  node.require(node.in_type(1) == DType::kU8, "its weights must be uint8");
  node.require(is_float(node.in_type(0)), "its input must be of floats");
  node.require(node.in_type(0) == node.in_type(2), "its scales have another type than its input");
  require_size(node, 1, "weights", form.n * form.column_bytes(), "bytes");
  require_size(node, 2, "scales", form.n * form.blocks(), "elements");
  if (!node.has(3)) return;
  const bool packed = node.in_type(3) == DType::kU8;
  require_size(node, 3, "zero points", form.n * (packed ? form.zero_point_bytes() : form.blocks()),
               packed ? "bytes" : "elements");
}

// ---- Weights known now: integers that stay as narrow as they are

int64_t field(const std::byte* bytes, int64_t index, int64_t bits) {
  const int64_t bit = index * bits;
  return std::to_integer<int64_t>(bytes[bit / 8]) >> (bit % 8) & ((1 << bits) - 1);
}

bool is_known(const NodeContext& node) {
  const bool is_single = size_of(node.in_type(2)) <= sizeof(float);
  return is_single && node.input(1).is_constant() && node.input(2).is_constant() &&
         (!node.has(3) || node.input(3).is_constant());
}

// Of each block of each column, [N, blocks].
std::vector<double> known_zero_points(const NodeContext& node, const Form& form) {
  const size_t count = static_cast<size_t>(form.n * form.blocks());
  if (!node.has(3)) return std::vector<double>(count, static_cast<double>(form.middle()));
  if (node.in_type(3) != DType::kU8) return read_doubles(node.input(3));
  std::vector<double> zeros;
  zeros.reserve(count);
  const std::byte* bytes = node.input(3).constant->data();
  for (int64_t column = 0; column < form.n; ++column, bytes += form.zero_point_bytes()) {
    for (int64_t i = 0; i < form.blocks(); ++i) zeros.push_back(static_cast<double>(field(bytes, i, form.bits)));
  }
  return zeros;
}

// Whether all levels less their zero points are integers of the type.
bool fit(const NodeContext& node, const Form& form, const std::vector<double>& zeros, DType dtype) {
  const double least = dtype == DType::kI4 ? -8 : -128, most = -least - 1;
  const std::byte* column = node.input(1).constant->data();
  for (int64_t n = 0; n < form.n; ++n, column += form.column_bytes()) {
    for (int64_t k = 0; k < form.k; ++k) {
      const double zero = zeros[static_cast<size_t>(n * form.blocks() + k / form.block)];
      const double integer = static_cast<double>(field(column, k, form.bits)) - zero;
      if (!(integer >= least && integer <= most) || integer != std::nearbyint(integer)) return false;
    }
  }
  return true;
}

// The levels less `zeros`, which are integers of the type then: [K, N].
ValueId integers(NodeContext& node, const Form& form, const std::vector<double>& zeros, DType dtype) {
  ir::Bytes data(static_cast<size_t>(form.k * form.n));
  const std::byte* const packed = node.input(1).constant->data();
  // So many columns of what is read and a row of what is written stay in the L1 cache.
  constexpr int64_t kColumns = 64;
  for (int64_t first = 0; first < form.n; first += kColumns) {
    const int64_t last = std::min(form.n, first + kColumns);
    for (int64_t k = 0; k < form.k; ++k) {
      for (int64_t n = first; n < last; ++n) {
        const int64_t level = field(packed + n * form.column_bytes(), k, form.bits);
        const double zero = zeros[static_cast<size_t>(n * form.blocks() + k / form.block)];
        data[static_cast<size_t>(k * form.n + n)] = static_cast<std::byte>(level - static_cast<int64_t>(zero));
      }
    }
  }
  return node.constant(dtype, {form.k, form.n}, std::move(data));
}

// One fp32 for each block of each column, [blocks, N]: `of(i)` for the i-th of [N, blocks].
template <typename Of>
ValueId by_block(NodeContext& node, const Form& form, const Of& of) {
  std::vector<float> numbers(static_cast<size_t>(form.n * form.blocks()));
  for (int64_t n = 0; n < form.n; ++n) {
    for (int64_t i = 0; i < form.blocks(); ++i) {
      numbers[static_cast<size_t>(i * form.n + n)] = static_cast<float>(of(static_cast<size_t>(n * form.blocks() + i)));
    }
  }
  ir::Bytes data(numbers.size() * sizeof(float));
  std::memcpy(data.data(), numbers.data(), data.size());
  return node.constant(DType::kF32, {form.blocks(), form.n}, std::move(data));
}

// The sums of each block of the last axis: [..., K] to [..., blocks].
ValueId block_sums(NodeContext& node, const Form& form, ValueId a) {
  const int axis = node.rank(a) - 1;
  const auto sums = [&](int64_t start, int64_t count, int64_t length) {
    Shape dims = node.dims(a);
    dims.back() = count;
    dims.push_back(length);
    const ValueId part = node.reshape(node.slice(a, axis, start, count * length), std::move(dims));
    return node.squeeze(node.reduce(ReduceKind::kSum, part, 1u << (axis + 1)), 1u << (axis + 1));
  };
  const int64_t whole = form.k / form.block, rest = form.k % form.block;
  if (whole == 0) return sums(0, 1, rest);
  if (rest == 0) return sums(0, whole, form.block);
  return node.concat({sums(0, whole, form.block), sums(whole * form.block, 1, rest)}, axis);
}

// `a`, fp32 of two axes or more, times the weights. Where the zero points do not let a level be an integer as wide as
// it is stored, it is taken from the middle of its range: A(W - z)s = A(W - m)s + sum(A)(m - z)s, block by block.
ValueId known_product(NodeContext& node, const Form& form, ValueId a) {
  const std::vector<double> scales = read_doubles(node.input(2)), zeros = known_zero_points(node, form);
  const DType dtype = form.bits == 8 ? DType::kI8 : DType::kI4;
  const bool is_whole = fit(node, form, zeros, dtype);
  const double middle = static_cast<double>(form.middle());
  const ValueId levels = integers(node, form, is_whole ? zeros : std::vector<double>(zeros.size(), middle), dtype);
  const ValueId product = node.emit_one({OpKind::kBlockMatMul,
                                         BlockMatMulParams{form.block},
                                         {a, levels, by_block(node, form, [&](size_t i) { return scales[i]; })}});
  if (is_whole) return product;
  const ValueId shifts = by_block(node, form, [&](size_t i) { return scales[i] * (middle - zeros[i]); });
  return node.binary(PwOp::kAdd, product, node.matmul(block_sums(node, form, a), shifts));
}

// ---- Weights computed when the engine runs

// `x`, uint8 [..., n], as its fields of `bits`, lowest first: uint8 [..., n * 8 / bits].
ValueId unpack_bits(NodeContext& node, ValueId x, int64_t bits) {
  if (bits == 8) return x;
  const int64_t fields = 8 / bits;
  ir::Bytes shifts;
  for (int64_t i = 0; i < fields; ++i) shifts.push_back(static_cast<std::byte>(i * bits));
  const ValueId counts = node.constant(DType::kU8, {fields}, std::move(shifts));
  Shape dims = node.dims(x);
  const ValueId split = map(node, node.unsqueeze(x, node.rank(x)), counts, DType::kU8, [&](P& p, Reg byte, Reg shift) {
    return p.apply(PwOp::kBitAnd, p.apply(PwOp::kShiftRight, byte, shift), p.constant_int(byte.type, (1 << bits) - 1));
  });
  dims.back() = dims.back() * fields;
  return node.reshape(split, std::move(dims));
}

// The zero points of every block, [N, blocks]: packed as the weights are, one a block in the scales' type, or all the
// middle of the range.
ValueId zero_points(NodeContext& node, const Form& form) {
  if (!node.has(3)) return node.scalar(node.in_type(2), static_cast<double>(form.middle()));
  if (node.in_type(3) != DType::kU8) return node.reshape(node.in(3), {form.n, form.blocks()});
  const ValueId bytes = node.reshape(node.in(3), {form.n, form.zero_point_bytes()});
  return node.slice(unpack_bits(node, bytes, form.bits), 1, 0, form.blocks());
}

// The weights as floats, [K, N].
ValueId computed_weights(NodeContext& node, const Form& form) {
  const DType dtype = node.in_type(2);
  const ValueId packed = node.reshape(node.in(1), {form.n, form.blocks(), form.block * form.bits / 8});
  const ValueId levels = unpack_bits(node, packed, form.bits);
  const ValueId zeros = zero_points(node, form);
  const ValueId of_block = node.rank(zeros) == 0 ? zeros : node.unsqueeze(zeros, 2);
  P program;
  const Reg level = program.load_as(DType::kU8, class_of(dtype));
  const Reg centred_level = program.apply(PwOp::kSub, level, program.load_as(node.dtype(of_block), class_of(dtype)));
  const ValueId scales = node.widened(node.reshape(node.in(2), {form.n, form.blocks(), 1}));
  program.store(program.apply(PwOp::kMul, centred_level, program.load(node.dtype(scales))), node.dtype(scales));
  const ValueId real = node.pointwise(program, {levels, of_block, scales}, node.dtype(scales));
  return node.swap_last_axes(node.slice(node.reshape(real, {form.n, form.blocks() * form.block}), 1, 0, form.k));
}

// A times weights that are kept in few bits, with a scale and a zero point for every block along K.
void matmul_n_bits(NodeContext& node) {
  const Form form = read_form(node);
  check_inputs(node, form);
  const DType dtype = node.in_type(2);
  const ValueId a = node.widened(node.in(0));
  ValueId y = is_known(node) && node.rank(a) >= 2 ? known_product(node, form, a)
                                                  : matmul_of(node, a, computed_weights(node, form));
  if (node.has(5)) {
    node.require(node.in_rank(5) == 1 && node.in_type(5) == dtype, "its bias must have one axis and the input's type");
    y = node.binary(PwOp::kAdd, y, node.widened(node.in(5)));
  }
  node.set(0, node.cast(y, dtype));
}

constexpr ImporterRow kRows[] = {{"MatMulNBits", matmul_n_bits, "com.microsoft"}};

}  // namespace

ImporterTable microsoft_low_bits_importers() { return kRows; }

}  // namespace planwright::builder::importer
