// What the importers of com.microsoft's kinds of attention share.
//
// Letters of shapes: B batch, N heads, S queries, P keys of earlier calls, T all keys, D and E a head's sizes.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_MICROSOFT_ATTENTION_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_MICROSOFT_ATTENTION_H_

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

void require_rank(const NodeContext& node, int input, int rank);
int64_t count_of_heads(const NodeContext& node, const char* attribute);
// A dim that must be known now; `what` names it in the refusal.
int64_t constant_dim(const NodeContext& node, Dim dim, const char* what);
ValueId count_up(NodeContext& node, Dim length);  // 0, 1, ...: int64 [length]

ValueId split_heads(NodeContext& node, ValueId x, int64_t heads);  // [B, S, N * D] as [B, N, S, D]
ValueId join_heads(NodeContext& node, ValueId x);                  // [B, N, S, D] as [B, S, N * D]
// Keys (or values) of earlier calls, [B, N, P, D], before those of this one.
ValueId after_past(NodeContext& node, ValueId past, ValueId now);

// A mask is added to the scores: float, broadcast to [B, N, S, T]; kNone for none.
ValueId add_masks(NodeContext& node, ValueId a, ValueId b);
ValueId attention_bias(NodeContext& node, int input);
// Hides the keys that come after a query; `first` keys came before the first query, [B, 1, 1, 1] or a scalar. With a
// `window`, also those that lie so many or more before it.
ValueId causal_mask(NodeContext& node, ValueId first, Dim queries, Dim keys, int64_t window);

struct Heads {
  ValueId q, k, v;  // [B, N, S, D], [B, N, T, D], [B, N, T, E]
};
// The result as [B, S, N * E]; the node's `scale` counts.
ValueId attend(NodeContext& node, const Heads& heads, ValueId mask, AttentionParams params);

// What an operator that projects its queries, keys and values itself goes on with.
struct Projected {
  ValueId qkv;              // [B, S, the three side by side], the bias added
  int mask, past;           // inputs of the node; may be absent
  int attention_bias = -1;  // the same; -1: the operator has none
};

// Sets the outputs of Attention and QAttention: the result and, where it is wanted, the state for the next call.
void set_attention(NodeContext& node, const Projected& projected);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_MICROSOFT_ATTENTION_H_
