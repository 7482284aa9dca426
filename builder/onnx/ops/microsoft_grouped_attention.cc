// GroupQueryAttention and RotaryEmbedding of the domain com.microsoft: what language models decode with.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/microsoft_attention.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// ---- Rotary embedding

// Turns the first pairs of numbers of every head by the angles of its position: the pairs are neighbours, or the
// halves of what is turned. x: [B, N, S, D]; the cosines and sines: [B or 1, 1, S, pairs].
ValueId rotated(NodeContext& node, ValueId x, ValueId cosines, ValueId sines, bool interleaved) {
  const Shape dims = node.dims(x);
  const int64_t width = constant_dim(node, dims[3], "a head's size");
  const int64_t pairs = constant_dim(node, node.dims(cosines)[3], "the number of angles");
  node.require(pairs >= 1 && 2 * pairs <= width, fmt::format("{} angles for a head of {} numbers", pairs, width));
  node.require(node.dtype(cosines) == node.dtype(x) && node.dtype(sines) == node.dtype(x),
               "its cosines and sines have another type than its input");
  const auto turned = [&](ValueId a, ValueId b, PwOp op, ValueId by_a, ValueId by_b) {
    const DType dtype = node.dtype(x);
    P program;
    const Reg first = program.apply(PwOp::kMul, program.load(dtype), program.load(dtype));
    const Reg second = program.apply(PwOp::kMul, program.load(dtype), program.load(dtype));
    program.store(program.apply(op, first, second), dtype);
    return node.pointwise(program, {a, by_a, b, by_b}, dtype);
  };
  const ValueId turning = node.slice(x, 3, 0, 2 * pairs);
  const Shape half{dims[0], dims[1], dims[2], pairs};
  ValueId a, b;
  if (interleaved) {
    const ValueId split = node.reshape(turning, {dims[0], dims[1], dims[2], pairs, 2});
    a = node.reshape(node.slice(split, 4, 0, 1), half);
    b = node.reshape(node.slice(split, 4, 1, 1), half);
  } else {
    a = node.slice(turning, 3, 0, pairs);
    b = node.slice(turning, 3, pairs, pairs);
  }
  const ValueId real = turned(a, b, PwOp::kSub, cosines, sines), imaginary = turned(b, a, PwOp::kAdd, cosines, sines);
  ValueId result;
  if (interleaved) {
    result = node.reshape(node.concat({node.unsqueeze(real, 4), node.unsqueeze(imaginary, 4)}, 4), node.dims(turning));
  } else {
    result = node.concat({real, imaginary}, 3);
  }
  return 2 * pairs == width ? result : node.concat({result, node.slice(x, 3, 2 * pairs, width - 2 * pairs)}, 3);
}

// The rows of a cache of angles at `positions` [B or 1, S], as [B or 1, 1, S, pairs].
ValueId angles_at(NodeContext& node, int cache, ValueId positions) {
  require_rank(node, cache, 2);
  return node.unsqueeze(node.gather(node.in(cache), positions, 0), 1);
}

void rotary_embedding(NodeContext& node) {
  if (node.get_int("is_packed_batching") != 0) node.unsupported("is_packed_batching");
  if (node.get_float("scale", 1) != 1) node.unsupported("a scale");
  require_rank(node, 2, 2);
  const bool flat = node.in_rank(0) == 3;
  if (!flat) require_rank(node, 0, 4);
  ValueId x = node.in(0);
  if (flat) {
    int64_t heads = node.get_int("num_heads");
    if (heads == 0) {
      const int64_t width = constant_dim(node, node.in_dims(0)[2], "its hidden size");
      const int64_t head = 2 * constant_dim(node, node.in_dims(2)[1], "the number of angles");
      node.require(head >= 2 && width % head == 0,
                   fmt::format("heads of {} numbers do not divide a hidden size of {}", head, width));
      heads = width / head;
    }
    node.require(heads >= 1 && heads < (1 << 20), fmt::format("'num_heads' is {}", heads));
    x = split_heads(node, x, heads);
  }
  ValueId positions = node.in(1);
  node.require(node.dtype(positions) == DType::kI64, "its positions must be int64");
  if (node.rank(positions) != 2) {  // that of the first query
    const ValueId first = node.reshape(positions, {});
    positions = node.unsqueeze(node.binary(PwOp::kAdd, count_up(node, node.dims(x)[2]), first), 0);
  }
  const ValueId y =
      rotated(node, x, angles_at(node, 2, positions), angles_at(node, 3, positions), node.get_int("interleaved") != 0);
  node.set(0, flat ? join_heads(node, y) : y);
}

// ---- Grouped queries

// What GroupQueryAttention does not get from its inputs' shapes.
struct Grouped {
  ValueId past;  // how many keys each batch has from earlier calls: int64 [B, 1]
  Dim queries, keys;
};

// Keys or values of earlier calls, [B, N, P, D], with this call's [B, N, S, D] written behind them in every batch:
// [B, N, T, D]. What lies behind those is left as it was.
ValueId with_past(NodeContext& node, const Grouped& group, int past, ValueId now) {
  const Shape dims = node.dims(now);
  const Dim earlier = node.in_dims(past)[2];
  const ValueId both = node.transpose(after_past(node, node.in(past), now), {0, 2, 1, 3});
  P program;
  const Reg t = program.load(DType::kI64), count = program.load(DType::kI64);
  const Reg length = program.load(DType::kI64), queries = program.load(DType::kI64);
  const Reg fresh = program.apply(PwOp::kSub, t, count);
  const Reg none = program.constant_int(t.type, 0);
  const Reg is_fresh = program.apply(PwOp::kAnd, program.apply(PwOp::kLessEqual, none, fresh),
                                     program.apply(PwOp::kLess, fresh, queries));
  const Reg old = program.apply(PwOp::kSelect, program.apply(PwOp::kLess, t, length), t, none);
  program.store(program.apply(PwOp::kSelect, is_fresh, program.apply(PwOp::kAdd, fresh, length), old), DType::kI64);
  const ValueId rows =
      node.pointwise(program,
                     {count_up(node, group.keys), group.past, node.shape_values(DType::kI64, {}, {earlier}),
                      node.shape_values(DType::kI64, {}, {group.queries})},
                     DType::kI64);
  GatherNDParams params;
  params.batch_dims = 1;
  const ValueId gathered = node.emit_one({OpKind::kGatherND, params, {both, node.unsqueeze(rows, 2)}});
  node.require(node.rank(gathered) == static_cast<int>(dims.size()), "its keys must have four axes");
  return node.transpose(gathered, {0, 2, 1, 3});
}

void refuse_rare_forms(NodeContext& node) {
  if (node.get_int("smooth_softmax", 0) > 0 || node.has(11)) node.unsupported("a smooth softmax or head sinks");
  if (node.get_int("causal", 1) == 0) node.unsupported("causal = 0");
  if (node.get_int("sliding_window_cache") != 0) node.unsupported("sliding_window_cache");
  if (node.wants(3)) node.unsupported("the matrix of scores as an output");
  for (int i = 12; i < node.input_count(); ++i) {
    if (node.has(i)) node.unsupported(fmt::format("its input {}", i));
  }
}

// How many keys there are with those of this call: what the model computes from shapes.
Dim total_keys(NodeContext& node, Dim earlier) {
  const std::optional<Shape>& total = node.elements(6);
  if (!total || total->size() != 1) {
    node.unsupported("total_sequence_length is computed from data; make it a constant or compute it from shapes");
  }
  return ir::max(earlier, (*total)[0]);
}

void group_query_attention(NodeContext& node) {
  refuse_rare_forms(node);
  const int64_t heads = count_of_heads(node, "num_heads"), kv_heads = count_of_heads(node, "kv_num_heads");
  node.require(heads % kv_heads == 0, fmt::format("{} heads of keys for {} of queries", kv_heads, heads));
  require_rank(node, 0, 3);
  Heads made{};
  if (node.has(1)) {
    made = {split_heads(node, node.in(0), heads), split_heads(node, node.in(1), kv_heads),
            split_heads(node, node.in(2), kv_heads)};
  } else {
    const int64_t width = constant_dim(node, node.in_dims(0)[2], "its hidden size"), all = heads + 2 * kv_heads;
    node.require(width % all == 0, fmt::format("{} heads do not divide a hidden size of {}", all, width));
    const int64_t head = width / all;
    made.q = split_heads(node, node.slice(node.in(0), 2, 0, heads * head), heads);
    made.k = split_heads(node, node.slice(node.in(0), 2, heads * head, kv_heads * head), kv_heads);
    made.v = split_heads(node, node.slice(node.in(0), 2, (heads + kv_heads) * head, kv_heads * head), kv_heads);
  }
  const Dim batch = node.dims(made.q)[0], queries = node.dims(made.q)[2];
  const bool has_past = node.has(3);
  if (has_past) {
    require_rank(node, 3, 4);
    require_rank(node, 4, 4);
  }
  Grouped group{ir::kNone, queries, has_past ? total_keys(node, node.in_dims(3)[2]) : queries};

  // seqlens_k is the number of keys less one. A first call may be padded, so that it has fewer keys than queries.
  const ValueId lengths = node.reshape(node.in(5), {batch, 1});
  const ValueId count = node.shape_values(DType::kI64, {}, {queries});
  group.past = map(node, node.cast(lengths, DType::kI64), count, DType::kI64, [](P& p, Reg last, Reg s) {
    const Reg before = p.apply(PwOp::kSub, p.apply(PwOp::kAdd, last, p.constant_int(last.type, 1)), s);
    return p.apply(PwOp::kMax, before, p.constant_int(last.type, 0));
  });

  if (node.get_int("do_rotary") != 0) {
    const bool interleaved = node.get_int("rotary_interleaved") != 0;
    const ValueId positions = node.has(9) ? node.in(9) : node.binary(PwOp::kAdd, count_up(node, queries), group.past);
    node.require(node.rank(positions) == 2, "its positions must have two axes");
    const ValueId cosines = angles_at(node, 7, positions), sines = angles_at(node, 8, positions);
    made.q = rotated(node, made.q, cosines, sines, interleaved);
    made.k = rotated(node, made.k, cosines, sines, interleaved);
  }
  if (has_past) {
    made.k = with_past(node, group, 3, made.k);
    made.v = with_past(node, group, 4, made.v);
  }
  AttentionParams params;
  params.softcap = node.get_float("softcap", 0);
  const ValueId first = node.reshape(group.past, {batch, 1, 1, 1});
  ValueId mask = attention_bias(node, 10);
  mask = add_masks(node, mask, causal_mask(node, first, queries, group.keys, node.get_int("local_window_size", -1)));
  node.set(0, attend(node, made, mask, params));
  if (node.wants(1)) node.set(1, made.k);
  if (node.wants(2)) node.set(2, made.v);
}

constexpr const char* kDomain = "com.microsoft";

constexpr ImporterRow kRows[] = {
    {"GroupQueryAttention", group_query_attention, kDomain},
    {"RotaryEmbedding", rotary_embedding, kDomain},
};

}  // namespace

ImporterTable microsoft_grouped_attention_importers() { return kRows; }

}  // namespace planwright::builder::importer
