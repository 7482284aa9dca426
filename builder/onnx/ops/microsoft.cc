// Fused operators of the domain com.microsoft, which ONNX Runtime's optimizers write into the models they save:
// products, activations and normalisations.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "builder/onnx/ops/activations.h"
#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

void require_same_type(NodeContext& node, int a, int b) {
  node.require(node.in_type(a) == node.in_type(b), fmt::format("its inputs {} and {} are {} and {}", a, b,
                                                               name_of(node.in_type(a)), name_of(node.in_type(b))));
}

// ---- Products

// `batch`: the first axis stands before the last two, [M, batch..., K] for [batch..., M, K].
ValueId transposed(NodeContext& node, ValueId x, bool matrix, bool batch) {
  const int rank = node.rank(x);
  if (rank < 2) return x;
  std::vector<int> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return node.transpose(x, perm);
}

void fused_matmul(NodeContext& node) {
  require_same_type(node, 0, 1);
  const ValueId a =
      transposed(node, node.widened(node.in(0)), node.get_int("transA") != 0, node.get_int("transBatchA") != 0);
  const ValueId b =
      transposed(node, node.widened(node.in(1)), node.get_int("transB") != 0, node.get_int("transBatchB") != 0);
  const ValueId product = matmul_of(node, a, b);
  const auto alpha = static_cast<double>(node.get_float("alpha", 1));
  if (alpha == 1) return node.set(0, node.cast(product, node.in_type(0)));
  node.set(0, map(node, product, node.in_type(0),
                  [&](P& p, Reg x) { return p.apply(PwOp::kMul, x, p.constant(x.type, alpha)); }));
}

ValueId activated(NodeContext& node, ValueId x, const std::string& name, double alpha, double beta) {
  if (name.empty()) return x;
  return map(node, x, node.dtype(x), [&](P& p, Reg y) {
    const std::optional<Reg> made = named_activation(p, name, alpha, beta, y);
    if (!made) node.unsupported(fmt::format("the activation '{}'", name));
    return *made;
  });
}

// A convolution, a bias of the channels, a tensor to add, an activation.
void fused_conv(NodeContext& node) {
  ValueId y = add_channel_bias(node, conv_of(node, node.in(0), node.in(1)), 2);
  if (node.has(3)) {
    require_same_type(node, 0, 3);
    y = node.binary(PwOp::kAdd, y, node.widened(node.in(3)));
  }
  const std::vector<float> numbers = node.get_floats("activation_params");
  const auto number = [&](size_t i, double fallback) {
    return i < numbers.size() ? static_cast<double>(numbers[i]) : fallback;
  };
  const std::string name = node.get_string("activation");
  y = activated(node, y, name, number(0, name == "LeakyRelu" ? 0.01 : 0.2), number(1, 0.5));
  node.set(0, node.cast(y, node.in_type(0)));
}

void fused_gemm(NodeContext& node) {
  const std::string name = node.get_string("activation");
  const float alpha = node.get_float("activation_alpha", name == "LeakyRelu" ? 0.01f : 0.2f);
  const float beta = node.get_float("activation_beta", 0.5f);
  const ValueId y = activated(node, gemm_of(node), name, static_cast<double>(alpha), static_cast<double>(beta));
  node.set(0, node.cast(y, node.in_type(0)));
}

// ---- Activations

using Activation = Reg (*)(P& p, Reg x);

// The activation of the first input, to which the second is added where it is given.
template <Activation activation>
void biased(NodeContext& node) {
  const DType dtype = node.in_type(0);
  P program;
  std::vector<ValueId> operands{node.in(0)};
  Reg x = program.load(dtype);
  if (node.has(1)) {
    require_same_type(node, 0, 1);
    node.require(node.in_rank(1) <= node.in_rank(0), "its bias has more axes than its input");
    operands.push_back(node.in(1));
    x = program.apply(PwOp::kAdd, x, program.load(dtype));
  }
  program.store(activation(program, x), dtype);
  node.set(0, node.pointwise(program, std::move(operands), dtype));
}

void quick_gelu(NodeContext& node) {
  const auto alpha = static_cast<double>(node.get_float("alpha", 1.702f));
  node.set(0, map(node, node.in(0), node.in_type(0), [&](P& p, Reg x) {
             return p.apply(PwOp::kMul, x, p.apply(PwOp::kSigmoid, p.apply(PwOp::kMul, x, p.constant(x.type, alpha))));
           }));
}

// ---- Normalisations

// Normalises over the axes from `axis` on. Output 0 is the result; `mean` and `deviation` say which outputs of the
// node get the statistics.
struct Norm {
  ValueId x, scale, shift = ir::kNone;
  int axis;
  bool rms;
  int mean = -1, deviation = -1;
  float epsilon = 1e-12f;  // where the node gives none
};

void set_norm(NodeContext& node, const Norm& norm) {
  LayerNormParams params;
  params.axis = norm.axis;
  params.rms = norm.rms ? 1 : 0;
  params.epsilon = node.get_float("epsilon", norm.epsilon);
  Operation operation{OpKind::kLayerNorm, params, {norm.x, norm.scale}};
  if (norm.shift != ir::kNone) operation.inputs.push_back(norm.shift);
  const DType dtype = node.dtype(norm.x);
  const DType statistics = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const bool mean = norm.mean >= 0 && node.wants(norm.mean),
             deviation = norm.deviation >= 0 && node.wants(norm.deviation);
  if (norm.rms && mean) node.unsupported("the mean of a normalisation that takes none away");
  operation.results = {{dtype}, {statistics, std::nullopt, mean}, {statistics}};
  operation.results.resize(deviation ? 3 : mean ? 2 : 1);
  const std::vector<ValueId> made = node.emit(std::move(operation));
  node.set(0, made[0]);
  if (mean) node.set(norm.mean, made[1]);
  if (deviation) node.set(norm.deviation, made[2]);
}

void simplified_layer_norm(NodeContext& node) {
  const int axis = node.normalize_axis(node.get_int("axis", -1), node.in_rank(0));
  if (node.get_int("stash_type", 1) != 1) node.unsupported("a stash_type other than float");
  set_norm(node, {.x = node.in(0), .scale = node.in(1), .axis = axis, .rms = true, .deviation = 1, .epsilon = 1e-5f});
}

// input + skip (+ bias), normalised over the last axis.
void skip_norm(NodeContext& node, bool rms) {
  const DType dtype = node.in_type(0);
  const int bias = rms ? 3 : 4, rank = node.in_rank(0);
  node.require(rank >= 1, "its input is a scalar");
  require_same_type(node, 0, 1);
  node.require(node.in_rank(1) <= rank, "its skip has more axes than its input");
  P program;
  std::vector<ValueId> operands{node.in(0), node.in(1)};
  const Reg x = program.load(dtype);
  Reg sum = program.apply(PwOp::kAdd, x, program.load(dtype));
  if (node.has(bias)) {
    require_same_type(node, 0, bias);
    node.require(node.in_rank(bias) == 1, "its bias must have one axis");
    operands.push_back(node.in(bias));
    sum = program.apply(PwOp::kAdd, sum, program.load(dtype));
  }
  program.store(sum, dtype);
  const ValueId total = node.pointwise(program, std::move(operands), dtype);
  set_norm(node, {.x = total,
                  .scale = node.in(2),
                  .shift = !rms && node.has(3) ? node.in(3) : ir::kNone,
                  .axis = rank - 1,
                  .rms = rms,
                  .mean = 1,
                  .deviation = 2});
  if (node.wants(3)) node.set(3, total);
}

void skip_layer_norm(NodeContext& node) { skip_norm(node, false); }
void skip_simplified_layer_norm(NodeContext& node) { skip_norm(node, true); }

// The rows of an embedding that `ids` name; every table must be a matrix.
ValueId embedded(NodeContext& node, int table, ValueId ids) {
  node.require(node.in_rank(table) == 2, fmt::format("input {} must be a matrix", table));
  return node.gather(node.in(table), ids, 0);
}

// Words, positions and segments, summed and normalised.
void embed_layer_norm(NodeContext& node) {
  node.require(node.in_rank(0) == 2, "its ids must have two axes");
  for (const int table : {3, 4}) {
    if (node.has(table)) require_same_type(node, 2, table);
  }
  ValueId sum = embedded(node, 2, node.in(0));
  ValueId positions;
  if (node.has(8)) {
    positions = embedded(node, 3, node.in(8));
  } else {
    node.require(node.in_rank(3) == 2, "input 3 must be a matrix");
    node.guard_at_most(node.in_dims(0)[1], node.in_dims(3)[0], "an embedding for every position");
    positions = node.slice(node.in(3), 0, 0, node.in_dims(0)[1]);
  }
  sum = node.binary(PwOp::kAdd, sum, positions);
  if (node.has(1)) sum = node.binary(PwOp::kAdd, sum, embedded(node, 4, node.in(1)));
  set_norm(node, {.x = sum, .scale = node.in(5), .shift = node.in(6), .axis = 2, .rms = false});
  if (node.wants(2)) node.set(2, sum);
  if (!node.wants(1)) return;
  const Dim batch = node.in_dims(0)[0];
  if (!node.has(7)) return node.set(1, node.fill(DType::kI32, {batch}, 0));
  node.require(node.in_rank(7) == 2, "its mask must have two axes");
  const ValueId ones = map(node, node.in(7), DType::kI32,
                           [](P& p, Reg x) { return p.apply(PwOp::kEqual, x, p.constant_int(x.type, 1)); });
  node.set(1, node.squeeze(node.reduce(ReduceKind::kSum, ones, 2), 2));
}

constexpr const char* kDomain = "com.microsoft";

constexpr ImporterRow kRows[] = {
    {"BiasGelu", biased<gelu_of>, kDomain},
    {"EmbedLayerNormalization", embed_layer_norm, kDomain},
    {"FastGelu", biased<tanh_gelu_of>, kDomain},
    {"FusedConv", fused_conv, kDomain},
    {"FusedGemm", fused_gemm, kDomain},
    {"FusedMatMul", fused_matmul, kDomain},
    {"Gelu", biased<gelu_of>, kDomain},
    {"QuickGelu", quick_gelu, kDomain},
    {"SimplifiedLayerNormalization", simplified_layer_norm, kDomain},
    // ONNX Runtime keeps this one in ONNX's own domain, which has no such operator.
    {"SimplifiedLayerNormalization", simplified_layer_norm},
    {"SkipLayerNormalization", skip_layer_norm, kDomain},
    {"SkipSimplifiedLayerNormalization", skip_simplified_layer_norm, kDomain},
    {"TransposeMatMul", fused_matmul, kDomain},
};

}  // namespace

ImporterTable microsoft_importers() { return kRows; }

}  // namespace planwright::builder::importer
