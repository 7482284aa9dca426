// Normalisations and softmax.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// ---- BatchNormalization

struct BatchNorm {
  ValueId x, scale, shift, mean, variance;
  double epsilon;
};

// y = x * (scale / sqrt(variance + epsilon)) + (shift - mean * that): with everything constant, one factor and one
// summand a channel, computed in double.
bool emit_folded_batch_norm(NodeContext& node, const BatchNorm& norm, ValueId* y) {
  for (const ValueId id : {norm.scale, norm.shift, norm.mean, norm.variance}) {
    if (!node.value(id).is_constant()) return false;
  }
  const std::vector<double> scale = read_doubles(node.value(norm.scale)), shift = read_doubles(node.value(norm.shift));
  const std::vector<double> mean = read_doubles(node.value(norm.mean)),
                            variance = read_doubles(node.value(norm.variance));
  const DType dtype = node.dtype(norm.x), wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  ir::Bytes factors, summands;
  for (size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + norm.epsilon);
    const ir::Bytes a = element_bytes(wide, factor), b = element_bytes(wide, shift[c] - mean[c] * factor);
    factors.insert(factors.end(), a.begin(), a.end());
    summands.insert(summands.end(), b.begin(), b.end());
  }
  const auto channels = static_cast<int64_t>(scale.size());
  const int spatial = node.rank(norm.x) - 2;
  const ValueId factor = per_channel(node, node.constant(wide, {channels}, std::move(factors)), spatial);
  const ValueId summand = per_channel(node, node.constant(wide, {channels}, std::move(summands)), spatial);
  ProgramBuilder program;
  const Reg x = program.load(dtype);
  const Reg product = program.apply(PwOp::kMul, x, program.load(wide));
  program.store(program.apply(PwOp::kAdd, product, program.load(wide)), dtype);
  *y = node.pointwise(program, {norm.x, factor, summand}, dtype);
  return true;
}

ValueId emit_batch_norm(NodeContext& node, const BatchNorm& norm) {
  ValueId y = ir::kNone;
  if (emit_folded_batch_norm(node, norm, &y)) return y;
  const DType dtype = node.dtype(norm.x);
  const int spatial = node.rank(norm.x) - 2;
  ProgramBuilder program;
  std::vector<ValueId> operands{norm.x};
  const Reg x = program.load(dtype);
  Reg loaded[4];
  for (int i = 0; i < 4; ++i) {
    const ValueId id = (ValueId[]){norm.mean, norm.variance, norm.scale, norm.shift}[i];
    operands.push_back(per_channel(node, id, spatial));
    loaded[i] = program.convert(program.load(node.dtype(id)), x.type);
  }
  const Reg deviation =
      program.apply(PwOp::kSqrt, program.apply(PwOp::kAdd, loaded[1], program.constant(x.type, norm.epsilon)));
  const Reg normal = program.apply(PwOp::kDiv, program.apply(PwOp::kSub, x, loaded[0]), deviation);
  program.store(program.apply(PwOp::kAdd, program.apply(PwOp::kMul, normal, loaded[2]), loaded[3]), dtype);
  return node.pointwise(program, std::move(operands), dtype);
}

// running * momentum + of_batch * (1 - momentum)
ValueId blend(NodeContext& node, ValueId running, ValueId of_batch, double momentum) {
  const DType dtype = node.dtype(running);
  return map(node, running, of_batch, dtype, [&](ProgramBuilder& p, Reg old, Reg batch) {
    batch = p.convert(batch, old.type);
    return p.apply(PwOp::kAdd, p.apply(PwOp::kMul, old, p.constant(old.type, momentum)),
                   p.apply(PwOp::kMul, batch, p.constant(old.type, 1 - momentum)));
  });
}

void batch_normalization(NodeContext& node) {
  node.require(node.in_rank(0) >= 2, fmt::format("its input {} has no channels", ir::to_string(node.in_dims(0))));
  if (node.since() < 9 && node.get_int("spatial", 1) == 0)
    node.unsupported("spatial = 0; normalise each channel instead");
  for (int i = 1; i < 5; ++i) {
    node.require(node.in_rank(i) == 1, fmt::format("input {} must have one axis", i));
    node.guard_equal(node.in_dims(i)[0], node.in_dims(0)[1], "one number for each channel");
    // Also among themselves: each may agree with another length of a dynamic axis.
    node.guard_equal(node.in_dims(i)[0], node.in_dims(1)[0], "one number for each channel");
  }
  BatchNorm norm{node.in(0), node.in(1), node.in(2),
                 node.in(3), node.in(4), static_cast<double>(node.get_float("epsilon", 1e-5f))};
  if (node.since() < 14) {
    if (node.wants(1)) node.unsupported("training outputs; export the model for inference");
  } else if (node.get_int("training_mode") != 0) {
    const uint32_t axes = ((1u << node.in_rank(0)) - 1u) & ~2u;
    const ValueId mean = node.reduce(ReduceKind::kMean, norm.x, axes);
    const ValueId centred = node.binary(PwOp::kSub, norm.x, mean);
    const ValueId variance = node.reduce(ReduceKind::kMean, node.binary(PwOp::kMul, centred, centred), axes);
    const Shape channels{node.in_dims(0)[1]};
    const double momentum = static_cast<double>(node.get_float("momentum", 0.9f));
    const ValueId batch_mean = node.reshape(mean, channels), batch_variance = node.reshape(variance, channels);
    if (node.wants(1)) node.set(1, blend(node, norm.mean, batch_mean, momentum));
    if (node.wants(2)) node.set(2, blend(node, norm.variance, batch_variance, momentum));
    norm.mean = batch_mean;
    norm.variance = batch_variance;
  }
  node.set(0, emit_batch_norm(node, norm));
}

// ---- Layer, group and instance

void layer_norm(NodeContext& node, bool rms) {
  const int axis = node.normalize_axis(node.get_int("axis", -1), node.in_rank(0));
  if (node.get_int("stash_type", 1) != 1) node.unsupported("a stash_type other than float");
  LayerNormParams params;
  params.axis = axis;
  params.rms = rms ? 1 : 0;
  params.epsilon = node.get_float("epsilon", 1e-5f);
  Operation operation{OpKind::kLayerNorm, params, {node.in(0), node.in(1)}};
  if (!rms && node.has(2)) operation.inputs.push_back(node.in(2));
  operation.results[0].dtype = node.in_type(0);
  const DType statistics = node.in_type(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  const int wanted = node.wants(2) ? 3 : node.wants(1) ? 2 : 1;
  for (int i = 1; i < wanted; ++i) operation.results.push_back({statistics});
  const std::vector<ValueId> made = node.emit(std::move(operation));
  for (int i = 0; i < std::min(wanted, node.output_count()); ++i) node.set(i, made[static_cast<size_t>(i)]);
}

void layer_normalization(NodeContext& node) { layer_norm(node, false); }
void rms_normalization(NodeContext& node) { layer_norm(node, true); }

// y * scale + bias, each given for the channels, in the type of the node's input.
ValueId scale_channels(NodeContext& node, ValueId y, ValueId scale, ValueId bias) {
  const int spatial = node.rank(y) - 2;
  const DType dtype = node.in_type(0);
  ProgramBuilder program;
  const Reg x = program.load(node.dtype(y));
  const Reg product = program.apply(PwOp::kMul, x, program.load(dtype));
  program.store(program.apply(PwOp::kAdd, product, program.load(dtype)), dtype);
  return node.pointwise(program, {y, per_channel(node, scale, spatial), per_channel(node, bias, spatial)}, dtype);
}

// Widened.
ValueId group_norm(NodeContext& node, int64_t groups) {
  node.require(groups >= 1 && groups < (int64_t{1} << 31), fmt::format("{} groups", groups));
  GroupNormParams params;
  params.groups = static_cast<int32_t>(groups);
  params.epsilon = node.get_float("epsilon", 1e-5f);
  return node.emit_one({OpKind::kGroupNorm, params, {node.widened(node.in(0))}});
}

int64_t constant_channels(const NodeContext& node) {
  node.require(node.in_rank(0) >= 2, fmt::format("its input {} has no channels", ir::to_string(node.in_dims(0))));
  const Dim channels = node.in_dims(0)[1];
  if (!channels.is_constant()) node.unsupported("its number of channels is not constant");
  return channels.constant();
}

void instance_normalization(NodeContext& node) {
  const int64_t channels = constant_channels(node);
  for (const int i : {1, 2}) {
    node.require(node.in_rank(i) == 1, fmt::format("input {} must have one axis", i));
    node.guard_equal(node.in_dims(i)[0], channels, "one number for each channel");
  }
  node.set(0, scale_channels(node, group_norm(node, channels), node.in(1), node.in(2)));
}

// Each group's number, repeated for its channels (opset 18 scales groups, opset 21 channels).
ValueId spread_groups(NodeContext& node, ValueId x, int64_t groups, int64_t channels) {
  const ValueId column = node.reshape(x, {groups, 1});
  return node.reshape(node.expand(column, {groups, channels / groups}), {channels});
}

void group_normalization(NodeContext& node) {
  const int64_t groups = node.get_int("num_groups"), channels = constant_channels(node);
  node.require(groups >= 1 && channels % groups == 0, fmt::format("{} channels in {} groups", channels, groups));
  ValueId scale = node.in(1), bias = node.in(2);
  if (node.since() < 21) {
    scale = spread_groups(node, scale, groups, channels);
    bias = spread_groups(node, bias, groups, channels);
  }
  node.set(0, scale_channels(node, group_norm(node, groups), scale, bias));
}

void lrn(NodeContext& node) {
  LrnParams params;
  params.size = node.get_int32("size");
  node.require(params.size >= 1, fmt::format("size is {}", params.size));
  params.alpha = node.get_float("alpha", 1e-4f);
  params.beta = node.get_float("beta", 0.75f);
  params.bias = node.get_float("bias", 1.0f);
  node.set(0, node.emit_one({OpKind::kLrn, params, {node.in(0)}}));
}

// x / |x|, where the norm is 0: 0
void lp_normalization(NodeContext& node) {
  const int axis = node.normalize_axis(node.get_int("axis", -1), node.in_rank(0));
  const int64_t p = node.get_int("p", 2);
  node.require(p == 1 || p == 2, fmt::format("p is {}, it must be 1 or 2", p));
  const ValueId norm = node.reduce(p == 1 ? ReduceKind::kL1 : ReduceKind::kL2, node.widened(node.in(0)), 1u << axis);
  node.set(0, map(node, node.in(0), norm, node.in_type(0), [](ProgramBuilder& program, Reg x, Reg length) {
             const Reg zero = program.constant(x.type, 0);
             const Reg quotient = program.apply(PwOp::kDiv, x, length);
             return program.apply(PwOp::kSelect, program.apply(PwOp::kEqual, length, zero), zero, quotient);
           }));
}

// ---- Softmax

// 0 softmax, 1 log-softmax, 2 hardmax. Before opset 13 the axes from `axis` on are taken as one.
void softmax_along(NodeContext& node, int32_t log) {
  const ValueId x = node.in(0);
  const bool flattens = node.since() != 0 && node.since() < 13;
  const int rank = node.rank(x);
  node.require(rank >= 1, "its input is a scalar");
  int axis = flattens ? normalize_split_axis(node, node.get_int("axis", 1), rank)
                      : node.normalize_axis(node.get_int("axis", -1), rank);
  SoftmaxParams params;
  params.log = log;
  if (!flattens || axis == rank - 1) {
    params.axis = axis;
    node.set(0, node.emit_one({OpKind::kSoftmax, params, {x}}));
    return;
  }
  const Shape dims = node.dims(x);
  const Shape outer(dims.begin(), dims.begin() + axis), inner(dims.begin() + axis, dims.end());
  const ValueId rows = node.reshape(x, {ir::product(outer), ir::product(inner)});
  params.axis = 1;
  node.set(0, node.reshape(node.emit_one({OpKind::kSoftmax, params, {rows}}), dims));
}

void softmax(NodeContext& node) { softmax_along(node, 0); }
void log_softmax(NodeContext& node) { softmax_along(node, 1); }
void hardmax(NodeContext& node) { softmax_along(node, 2); }

constexpr ImporterRow kRows[] = {
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", group_normalization},
    {"Hardmax", hardmax},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
    {"LogSoftmax", log_softmax},
    {"LpNormalization", lp_normalization},
    {"LRN", lrn},
    {"RMSNormalization", rms_normalization},
    {"Softmax", softmax},
};

}  // namespace

ImporterTable normalization_importers() { return kRows; }

}  // namespace planwright::builder::importer
