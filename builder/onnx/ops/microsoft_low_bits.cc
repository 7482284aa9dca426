// MatMulNBits of the domain com.microsoft: weights of 2, 4 and 8 bits, as quantisers of language models write them.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

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
ValueId zero_points(NodeContext& node, int64_t rows, int64_t blocks, int64_t bits) {
  if (!node.has(3)) return node.scalar(node.in_type(2), static_cast<double>(int64_t{1} << (bits - 1)));
  if (node.in_type(3) != DType::kU8) return node.reshape(node.in(3), {rows, blocks});
  const int64_t bytes = (blocks * bits + 7) / 8;
  return node.slice(unpack_bits(node, node.reshape(node.in(3), {rows, bytes}), bits), 1, 0, blocks);
}

// A times weights that are kept in `bits` bits, with a scale and a zero point for every block along K.
void matmul_n_bits(NodeContext& node) {
  const int64_t k = node.get_int("K"), n = node.get_int("N"), block = node.get_int("block_size"),
                bits = node.get_int("bits", 4);
  constexpr int64_t kMost = int64_t{1} << 31;
  node.require(k >= 1 && n >= 1 && k < kMost && n < kMost, fmt::format("weights of {} x {}", k, n));
  node.require(block >= 16 && block < kMost && (block & (block - 1)) == 0, fmt::format("block_size is {}", block));
  if (bits != 2 && bits != 4 && bits != 8) node.unsupported(fmt::format("weights of {} bits", bits));
  if (node.get_int("weight_prepacked") != 0) node.unsupported("weights packed for one device; export them anew");
  if (node.has(4)) node.unsupported("g_idx; export without reordering");
  const DType dtype = node.in_type(2);
  node.require(node.in_type(1) == DType::kU8, "its weights must be uint8");
  node.require(node.in_type(0) == dtype, "its scales have another type than its input");
  const int64_t blocks = (k + block - 1) / block;
  const ValueId packed = node.reshape(node.in(1), {n, blocks, block * bits / 8});
  const ValueId levels = unpack_bits(node, packed, bits);
  const ValueId zeros = zero_points(node, n, blocks, bits);
  const ValueId by_block = node.rank(zeros) == 0 ? zeros : node.unsqueeze(zeros, 2);
  P program;
  const Reg level = program.load_as(DType::kU8, class_of(dtype));
  const Reg centred_level = program.apply(PwOp::kSub, level, program.load_as(node.dtype(by_block), class_of(dtype)));
  const ValueId scales = node.widened(node.reshape(node.in(2), {n, blocks, 1}));
  program.store(program.apply(PwOp::kMul, centred_level, program.load(node.dtype(scales))), node.dtype(scales));
  const ValueId real = node.pointwise(program, {levels, by_block, scales}, node.dtype(scales));
  const ValueId weights = node.slice(node.reshape(real, {n, blocks * block}), 1, 0, k);
  ValueId y = matmul_of(node, node.widened(node.in(0)), node.swap_last_axes(weights));
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
