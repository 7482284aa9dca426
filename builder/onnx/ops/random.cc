// Random numbers. A graph gives the same ones at every run: they follow from the node's seed, or from its name where it
// has none, and from an element's place.
#include <fmt/format.h>

#include <bit>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// FNV-1a of the name, so that nodes without a seed differ.
uint64_t seed_of(const NodeContext& node) {
  if (node.has_attribute("seed")) return std::bit_cast<uint32_t>(node.get_float("seed"));
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char letter : node.layer()) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  return hash;
}

ValueId numbers(NodeContext& node, RandomKind kind, double shift, double scale, DType dtype, Shape dims) {
  if (!is_float(dtype)) node.unsupported(fmt::format("random numbers of {}", name_of(dtype)));
  RandomParams params;
  params.kind = kind;
  params.seed = seed_of(node);
  params.shift = shift;
  params.scale = scale;
  Operation operation{OpKind::kRandom, params};
  operation.results[0] = {dtype, std::move(dims)};
  return node.emit_one(std::move(operation));
}

DType type_of(const NodeContext& node, DType fallback) {
  if (!node.has_attribute("dtype")) return fallback;
  const auto dtype = dtype_of_onnx(node.get_int32("dtype"));
  if (!dtype) node.unsupported("its type is not supported");
  return *dtype;
}

ValueId uniform(NodeContext& node, DType dtype, Shape dims) {
  const auto low = static_cast<double>(node.get_float("low", 0)), high = static_cast<double>(node.get_float("high", 1));
  return numbers(node, RandomKind::kUniform, low, high - low, dtype, std::move(dims));
}

ValueId normal(NodeContext& node, DType dtype, Shape dims) {
  const auto mean = static_cast<double>(node.get_float("mean", 0)),
             scale = static_cast<double>(node.get_float("scale", 1));
  return numbers(node, RandomKind::kNormal, mean, scale, dtype, std::move(dims));
}

Shape declared_dims(const NodeContext& node) {
  Shape dims;
  for (const int64_t dim : node.get_ints("shape")) {
    node.require(dim >= 0, fmt::format("'shape' has a dim of {}", dim));
    dims.push_back(dim);
  }
  return dims;
}

using Distribution = ValueId (*)(NodeContext& node, DType dtype, Shape dims);

template <Distribution distribution>
void of_shape(NodeContext& node) {
  node.set(0, distribution(node, type_of(node, DType::kF32), declared_dims(node)));
}

template <Distribution distribution>
void like_input(NodeContext& node) {
  node.set(0, distribution(node, type_of(node, node.in_type(0)), node.in_dims(0)));
}

void bernoulli(NodeContext& node) {
  const DType wide = node.in_type(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  const ValueId chance = numbers(node, RandomKind::kUniform, 0, 1, wide, node.in_dims(0));
  const ValueId share = node.cast(node.in(0), wide);
  node.set(0, map(node, chance, share, type_of(node, node.in_type(0)),
                  [](ProgramBuilder& p, Reg a, Reg b) { return p.apply(PwOp::kLess, a, b); }));
}

// Draws classes from rows of unnormalised logarithms: the number of partial sums that a uniform number has passed.
void multinomial(NodeContext& node) {
  node.require(node.in_rank(0) == 2, "its input must have two axes");
  const Dim batch = node.in_dims(0)[0], classes = node.in_dims(0)[1];
  const int64_t draws = node.get_int("sample_size", 1);
  node.require(draws >= 1 && draws < (int64_t{1} << 31), fmt::format("sample_size is {}", draws));
  node.guard_at_most(1, classes, "there must be a class to draw");
  const ValueId shares = node.emit_one({OpKind::kSoftmax, SoftmaxParams{1, 0}, {node.cast(node.in(0), DType::kF32)}});
  CumulativeParams params;
  params.axis = 1;
  const ValueId sums = node.unsqueeze(node.emit_one({OpKind::kCumulative, params, {shares}}), 1);
  const ValueId chance = numbers(node, RandomKind::kUniform, 0, 1, DType::kF32, {batch, draws, 1});
  const ValueId passed = map(node, sums, chance, DType::kI32,
                             [](ProgramBuilder& p, Reg sum, Reg u) { return p.apply(PwOp::kLessEqual, sum, u); });
  const ValueId index = node.squeeze(node.reduce(ReduceKind::kSum, passed, 1u << 2), 1u << 2);
  const ValueId last = node.shape_values(DType::kI32, {}, {classes - 1});
  const DType dtype = type_of(node, DType::kI32);
  node.set(0, node.cast(node.binary(PwOp::kMin, index, last), dtype));
}

constexpr ImporterRow kRows[] = {
    {"Bernoulli", bernoulli},
    {"Multinomial", multinomial},
    {"RandomNormal", of_shape<normal>},
    {"RandomNormalLike", like_input<normal>},
    {"RandomUniform", of_shape<uniform>},
    {"RandomUniformLike", like_input<uniform>},
};

}  // namespace

ImporterTable random_importers() { return kRows; }

}  // namespace planwright::builder::importer
