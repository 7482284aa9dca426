// Attention and MultiHeadAttention of the domain com.microsoft, and what their like share.
//
// Letters of shapes: B batch, N heads, S queries, P keys of earlier calls, T all keys, D a head's size.
#include "builder/onnx/ops/microsoft_attention.h"

#include <fmt/format.h>

#include <cfloat>
#include <cmath>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
using P = ProgramBuilder;

void require_rank(const NodeContext& node, int input, int rank) {
  node.require(node.in_rank(input) == rank,
               fmt::format("its input {} has {} axes, not {}", input, node.in_rank(input), rank));
}

int64_t count_of_heads(const NodeContext& node, const char* attribute) {
  const int64_t heads = node.get_int(attribute);
  node.require(heads >= 1 && heads < (1 << 20), fmt::format("'{}' is {}", attribute, heads));
  return heads;
}

int64_t constant_dim(const NodeContext& node, Dim dim, const char* what) {
  if (!dim.is_constant()) node.unsupported(fmt::format("{} is not a constant", what));
  return dim.constant();
}

// ---- Heads

ValueId split_heads(NodeContext& node, ValueId x, int64_t heads) {
  node.require(node.rank(x) == 3, "its queries, keys and values must have three axes");
  const Shape dims = node.dims(x);
  const int64_t width = constant_dim(node, dims[2], "its hidden size");
  node.require(width % heads == 0, fmt::format("{} heads do not divide a hidden size of {}", heads, width));
  return node.transpose(node.reshape(x, {dims[0], dims[1], heads, width / heads}), {0, 2, 1, 3});
}

ValueId join_heads(NodeContext& node, ValueId x) {
  const Shape dims = node.dims(x);
  return node.reshape(node.transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

// ---- Masks

ValueId add_masks(NodeContext& node, ValueId a, ValueId b) {
  if (a == ir::kNone || b == ir::kNone) return a == ir::kNone ? b : a;
  return node.binary(PwOp::kAdd, a, b);
}

namespace {

// 0 where `kept` is not 0, else `fill`
ValueId mask_of(NodeContext& node, ValueId kept, double fill) {
  return map(node, kept, DType::kF32, [&](P& p, Reg x) {
    const Reg positive = p.apply(PwOp::kLess, p.constant_int(x.type, 0), x);
    const PwClass type = PwClass::kFloat;
    return p.apply(PwOp::kSelect, p.convert(positive, type), p.constant(type, 0), p.constant(type, fill));
  });
}

}  // namespace

ValueId count_up(NodeContext& node, Dim length) {
  Operation operation{OpKind::kRange, NoParams{}, {node.scalar(DType::kI64, 0), node.scalar(DType::kI64, 1)}};
  operation.results[0] = {DType::kI64, Shape{length}};
  return node.emit_one(std::move(operation));
}

namespace {

// Whether key t is one of the first `ends[b]` (and none before `starts[b]`): [B, 1, 1, T]
ValueId keys_before(NodeContext& node, ValueId ends, ValueId starts, Dim batch, Dim keys) {
  const ValueId columns = count_up(node, keys);
  const ValueId end = node.reshape(ends, {batch, 1, 1, 1});
  P program;
  std::vector<ValueId> operands{columns, end};
  const Reg t = program.load(DType::kI64);
  Reg kept = program.apply(PwOp::kLess, t, program.load(node.dtype(end)));
  if (starts != ir::kNone) {
    operands.push_back(node.reshape(starts, {batch, 1, 1, 1}));
    kept = program.apply(PwOp::kAnd, kept, program.apply(PwOp::kLessEqual, program.load(node.dtype(starts)), t));
  }
  program.store(kept, DType::kI32);
  return node.pointwise(program, std::move(operands), DType::kI32);
}

// Keys that padding hides, as the operators spell it: how many keys each batch has, the same followed by where they
// begin, or 1 and 0 for each key, or for each query and key.
ValueId padding_mask(NodeContext& node, int input, Dim batch, Dim queries, Dim keys) {
  if (!node.has(input)) return ir::kNone;
  const ValueId mask = node.in(input);
  const Shape dims = node.dims(mask);
  const DType dtype = node.dtype(mask);
  node.require(dtype == DType::kI32 || dtype == DType::kI64, fmt::format("its mask is {}, not int32", name_of(dtype)));
  const auto fill = static_cast<double>(node.get_float("mask_filter_value", -10000.0f));
  switch (dims.size()) {
    case 1: {
      const bool starts = ir::proven_equal(dims[0], batch * 2) && !ir::proven_equal(dims[0], batch);
      if (!starts && ir::proven_different(dims[0], batch))
        node.unsupported("a mask of cumulated lengths; give 1 and 0 for each key instead");
      const ValueId first = starts ? node.slice(mask, 0, batch, batch) : ir::kNone;
      if (!starts) node.guard_equal(dims[0], batch, "one length for each batch");
      return mask_of(node, keys_before(node, node.slice(mask, 0, 0, batch), first, batch, keys), fill);
    }
    case 2:
      node.guard_equal(dims[1], keys, "one mask entry for each key");
      return mask_of(node, node.reshape(mask, {dims[0], 1, 1, dims[1]}), fill);
    case 3:
      node.guard_equal(dims[1], queries, "one row of the mask for each query");
      node.guard_equal(dims[2], keys, "one mask entry for each key");
      return mask_of(node, node.unsqueeze(mask, 1), fill);
    default: node.unsupported(fmt::format("a mask of {} axes", dims.size()));
  }
}

}  // namespace

ValueId attention_bias(NodeContext& node, int input) {
  if (input < 0 || !node.has(input)) return ir::kNone;
  require_rank(node, input, 4);
  return node.cast(node.in(input), DType::kF32);
}

ValueId causal_mask(NodeContext& node, ValueId first, Dim queries, Dim keys, int64_t window) {
  const ValueId rows = node.unsqueeze(count_up(node, queries), 1), columns = count_up(node, keys);
  P program;
  const Reg s = program.load(DType::kI64), t = program.load(DType::kI64), before = program.load(DType::kI64);
  const Reg at = program.apply(PwOp::kAdd, s, before);
  Reg kept = program.apply(PwOp::kLessEqual, t, at);
  if (window >= 1) {
    const Reg reach = program.apply(PwOp::kSub, at, t);
    kept = program.apply(PwOp::kAnd, kept, program.apply(PwOp::kLess, reach, program.constant_int(reach.type, window)));
  }
  const PwClass type = PwClass::kFloat;
  program.store(program.apply(PwOp::kSelect, program.convert(kept, type), program.constant(type, 0),
                              program.constant(type, static_cast<double>(-FLT_MAX))),
                DType::kF32);
  return node.pointwise(program, {rows, columns, first}, DType::kF32);
}

// ---- The core

ValueId attend(NodeContext& node, const Heads& heads, ValueId mask, AttentionParams params) {
  const int64_t width = constant_dim(node, node.dims(heads.q)[3], "a head's size");
  node.require(width >= 1, "a head is empty");
  node.require(node.dtype(heads.q) == node.dtype(heads.k) && node.dtype(heads.q) == node.dtype(heads.v),
               "its queries, keys and values differ in type");
  params.scale = node.get_float("scale", 0);
  if (params.scale == 0) params.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  Operation operation{OpKind::kAttention, params, {heads.q, heads.k, heads.v}};
  if (mask != ir::kNone) operation.inputs.push_back(mask);
  operation.results[0].dtype = node.dtype(heads.q);
  return join_heads(node, node.emit_one(std::move(operation)));
}

ValueId after_past(NodeContext& node, ValueId past, ValueId now) {
  node.require(node.dtype(past) == node.dtype(now), "its past has another type than its keys and values");
  return node.concat({past, now}, 2);
}

namespace {

// What `unidirectional` asks for, given P keys of earlier calls.
ValueId unidirectional(NodeContext& node, const Heads& heads, Dim past, ValueId mask, AttentionParams& params) {
  if (node.get_int("unidirectional") == 0) return mask;
  if (past == Dim(0)) {
    params.causal = 1;
    return mask;
  }
  const ValueId first = node.shape_values(DType::kI64, {}, {past});
  return add_masks(node, mask, causal_mask(node, first, node.dims(heads.q)[2], node.dims(heads.k)[2], 0));
}

}  // namespace

void set_attention(NodeContext& node, const Projected& projected) {
  if (node.get_int("do_rotary") != 0) node.unsupported("do_rotary; rotate with RotaryEmbedding instead");
  if (node.get_int("past_present_share_buffer") != 0) node.unsupported("past_present_share_buffer");
  const int64_t heads = count_of_heads(node, "num_heads");
  const int64_t width = constant_dim(node, node.dims(projected.qkv)[2], "its hidden size");
  std::vector<int64_t> sizes = node.get_ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, width / 3);
  node.require(sizes.size() == 3 && sizes[0] >= 1 && sizes[0] == sizes[1] && sizes[2] >= 1 && sizes[0] <= width &&
                   sizes[2] <= width && sizes[0] + sizes[1] + sizes[2] == width,
               fmt::format("hidden sizes [{}] do not make up {}", fmt::join(sizes, ", "), width));
  ValueId parts[3];
  int64_t at = 0;
  for (size_t i = 0; i < 3; at += sizes[i++]) {
    parts[i] = split_heads(node, node.slice(projected.qkv, 2, at, sizes[i]), heads);
  }
  Heads made{parts[0], parts[1], parts[2]};
  Dim earlier = 0;
  if (node.has(projected.past)) {
    require_rank(node, projected.past, 5);
    const ValueId past = node.in(projected.past);
    earlier = node.dims(past)[3];
    node.guard_equal(node.dims(past)[0], 2, "keys and values of earlier calls");
    made.k = after_past(node, node.squeeze(node.slice(past, 0, 0, 1), 1), made.k);
    made.v = after_past(node, node.squeeze(node.slice(past, 0, 1, 1), 1), made.v);
  }
  const Dim batch = node.dims(made.q)[0], queries = node.dims(made.q)[2], keys = node.dims(made.k)[2];
  AttentionParams params;
  ValueId mask = add_masks(node, padding_mask(node, projected.mask, batch, queries, keys),
                           attention_bias(node, projected.attention_bias));
  mask = unidirectional(node, made, earlier, mask, params);
  node.set(0, attend(node, made, mask, params));
  if (node.wants(1)) node.set(1, node.concat({node.unsqueeze(made.k, 0), node.unsqueeze(made.v, 0)}, 0));
}

namespace {

// X W + bias, then attention.
void attention(NodeContext& node) {
  require_rank(node, 0, 3);
  require_rank(node, 1, 2);
  node.require(node.in_type(0) == node.in_type(1), "its input and weights have different types");
  ValueId qkv = node.matmul(node.widened(node.in(0)), node.widened(node.in(1)));
  if (node.has(2)) {
    require_rank(node, 2, 1);
    node.require(node.in_type(2) == node.in_type(0), "its bias has another type than its input");
    qkv = node.binary(PwOp::kAdd, qkv, node.widened(node.in(2)));
  }
  qkv = node.cast(qkv, node.in_type(0));
  set_attention(node, {.qkv = qkv, .mask = 3, .past = 4, .attention_bias = 5});
}

// Part `i` of what was packed into [B, S, N, parts, D], as [B, N, S, D].
ValueId unpacked(NodeContext& node, int input, int64_t i, int64_t parts) {
  const Shape dims = node.in_dims(input);
  node.guard_equal(dims[3], parts, "what is packed side by side");
  return node.transpose(node.squeeze(node.slice(node.in(input), 3, i, 1), 1u << 3), {0, 2, 1, 3});
}

// The queries (0), keys (1) or values (2) of MultiHeadAttention, with their part of the bias.
ValueId projected_heads(NodeContext& node, int input, int64_t heads) {
  const bool packed = !node.has(1), packed_pair = node.has(1) && node.in_rank(1) == 5;
  ValueId x;
  if (packed) {
    require_rank(node, 0, 5);
    x = unpacked(node, 0, input, 3);
  } else if (packed_pair && input > 0) {
    x = unpacked(node, 1, input - 1, 2);
  } else if (input > 0 && node.in_rank(input) == 4) {  // heads already
    x = node.in(input);
  } else {
    x = split_heads(node, node.in(input), heads);
  }
  node.guard_equal(node.dims(x)[1], heads, "num_heads heads");
  if (!node.has(3)) return x;
  require_rank(node, 3, 1);
  node.require(node.in_type(3) == node.dtype(x), "its bias has another type than its queries");
  const int64_t total = constant_dim(node, node.in_dims(3)[0], "its bias");
  const int64_t width = constant_dim(node, node.dims(x)[3], "a head's size");
  const int64_t length = heads * width, start = input == 2 ? total - length : input * length;
  node.require(start >= 0 && start + length <= total, fmt::format("a bias of {} numbers", total));
  return node.binary(PwOp::kAdd, x, node.reshape(node.slice(node.in(3), 0, start, length), {heads, 1, width}));
}

void multi_head_attention(NodeContext& node) {
  const int64_t heads = count_of_heads(node, "num_heads");
  if (node.has(8) || node.has(9)) node.unsupported("a shared buffer of keys and values");
  if (node.wants(3)) node.unsupported("the matrix of scores as an output");
  Heads made{projected_heads(node, 0, heads), projected_heads(node, 1, heads), projected_heads(node, 2, heads)};
  Dim earlier = 0;
  if (node.has(6)) {
    require_rank(node, 6, 4);
    require_rank(node, 7, 4);
    earlier = node.in_dims(6)[2];
    made.k = after_past(node, node.in(6), made.k);
    made.v = after_past(node, node.in(7), made.v);
  }
  const Dim batch = node.dims(made.q)[0], queries = node.dims(made.q)[2], keys = node.dims(made.k)[2];
  AttentionParams params;
  ValueId mask = add_masks(node, padding_mask(node, 4, batch, queries, keys), attention_bias(node, 5));
  mask = unidirectional(node, made, earlier, mask, params);
  node.set(0, attend(node, made, mask, params));
  if (node.wants(1)) node.set(1, made.k);
  if (node.wants(2)) node.set(2, made.v);
}

constexpr const char* kDomain = "com.microsoft";

constexpr ImporterRow kRows[] = {
    {"Attention", attention, kDomain},
    {"MultiHeadAttention", multi_head_attention, kDomain},
};

}  // namespace

ImporterTable microsoft_attention_importers() { return kRows; }

}  // namespace planwright::builder::importer
