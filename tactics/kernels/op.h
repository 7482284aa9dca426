// The core operators: the only ones the graph, the tactics and the engine file know.
//
// ONNX's operators are lowered to these at import. Operands are in the order given here; an operator with an
// epilogue takes the epilogue program's operands after its own ("..."). A pointwise operand broadcasts to the output
// as numpy does (aligned at the last axis). Axes are never negative here, attributes never absent.
#ifndef PLANWRIGHT_TACTICS_KERNELS_OP_H_
#define PLANWRIGHT_TACTICS_KERNELS_OP_H_

#include <cstdint>

namespace planwright {

// Numbers are in the engine file and the timing cache: only ever add to the end.
enum class OpKind : uint8_t {
  // Runs an expression program (program.h) at every element. inputs: the program's operands.
  kPointwise = 0,

  // ---- Contractions. All but Attention take an epilogue.
  // The zero point is one number of A's or X's type, which is int8 or uint8: what is multiplied is how much more each
  // element is, and a convolution's padding is 0 of that.
  kMatMul,         // A[...,M,K] B[...,K,N] (zero point) ... -> [...,M,N]; batch axes broadcast. Ranks of A, B are >= 2.
  kConv,           // X[N,C,spatial] W[M,C/group,kernel] (zero point) ... -> [N,M,spatial]
  kConvTranspose,  // X[N,C,spatial] W[C,M/group,kernel] ... -> [N,M,spatial]
  kAttention,      // Q[B,H,S,D] K[B,Hkv,T,D] V[B,Hkv,T,E] (mask, optional, broadcasts to [B,H,S,T]) -> [B,H,S,E]

  // ---- Windows, reductions, normalisations.
  kPool,        // X[N,C,spatial] -> Y (, int64 indices for max)
  kResize,      // X -> Y
  kReduce,      // X -> Y, reduced axes kept with length 1
  kArgReduce,   // X -> int64 Y, the axis kept with length 1
  kSoftmax,     // X -> Y
  kLayerNorm,   // X (scale, bias: optional, broadcast to X) -> Y (, mean, inverse deviation)
  kGroupNorm,   // X[N,C,spatial] -> Y, each of `groups` channel groups normalised; scale and bias are pointwise
  kLrn,         // X[N,C,spatial] -> Y
  kCumulative,  // X -> Y, running sum or product along an axis

  // ---- Selection.
  kGather,           // data indices -> Y
  kGatherElements,   // data indices -> Y
  kGatherND,         // data indices -> Y
  kScatterElements,  // data indices updates -> Y
  kScatterND,        // data indices updates -> Y
  kTopK,             // X -> values, int64 indices
  kOneHot,           // indices values[2] -> Y
  kTrilu,            // X -> Y

  // ---- Movement. The first five are views where they can be (builder/passes/make_views.cc).
  kReshape,          // X -> Y: the same elements in row-major order
  kTranspose,        // X -> Y
  kSlice,            // X -> Y
  kExpand,           // X -> Y: broadcast
  kConcat,           // X0 X1 ... -> Y
  kPad,              // X (value scalar, optional) -> Y
  kTile,             // X -> Y: dims of Y are multiples of X's
  kCopy,             // X -> Y: the same dims in another physical layout
  kReverseSequence,  // X lengths[int64] -> Y

  // ---- Sources.
  kFill,   // -> Y: every element is params.value_bits
  kRange,  // start delta -> Y[n] (both scalars of Y's type)

  // ---- Recurrent.
  // What the input gives each gate (X W^T and every bias that may be added ahead) is computed before, for all times at
  // once: G[times, batch, directions * gates * hidden]. The bias, [directions, hidden], is the one that the reset gate
  // of a GRU multiplies (linear_before_reset).
  kRnn,  // G R (bias) (sequence_lens) (initial_h) (initial_c) (peephole) -> Y (, Y_h, Y_c)

  // ---- Sources, continued.
  kShapeValues,  // -> Y: int64[count] or a scalar, the step's scalars: shape arithmetic that the model uses as data

  // ---- Added since, of any kind.
  kTreeEnsemble,  // X[N,F] roots[T] nodes[M,columns] splits[] members[] votes[V] weights[V] -> [N,targets]
  kGridSample,    // X[N,C,spatial] grid[N,spatial out,axes] -> [N,C,spatial out]
  kRoiAlign,      // X[N,C,H,W] regions[R,4] batch_indices[R] -> [R,C,height,width]
  kDeformConv,    // X[N,C,H,W] W[M,C/group,kernel] offsets (mask, optional) -> [N,M,spatial out]
  kDet,           // X[...,M,M] -> [...]
  kRandom,        // -> Y: random numbers
  kBitCast,       // X -> Y: the same bits as elements of another type of the same bit_width

  // ---- Sizes that depend on data.
  kReadValues,         // X -> int64 Y of X's dims, whose elements shapes depend on
  kNonZero,            // X -> int64 Y[rank, n], n the number of its elements that are not 0
  kUnique,             // X -> Y, int64 n[1] (, first, inverse, counts: int64); filled up to n, as long as they might be
  kNonMaxSuppression,  // boxes scores (overlap, score thresholds) -> int64 picks[most, 3], n[1]; picks filled up to n

  // ---- Added since, of any kind.
  kPairCoupling,  // R[N,pairs of classes] -> P[N,classes]: probabilities that fit those of the pairs, as libsvm finds
                  // them

  // A product by integers with a scale for each block of rows, as quantised weights are kept: A[...,M,K] W[K,N] (int4,
  // int8) S[ceil(K / block),N] ... -> [...,M,N], the product of A by the numbers W[k,n] * S[k / block,n].
  kBlockMatMul,

  // ---- Control flow, numbered apart: no kernel computes these, the loader runs their bodies. The operands given here
  // are those of a graph's node; the step of a plan has fewer (control.h).
  kIf = 240,  // condition[1] (operands of the first body, then of the second) -> what either body makes
  kLoop,  // trip count[1] (optional), carried values, operands of the body -> iterations done, carried values, stacks

  // A plugin's operator (custom.h), also apart: it has one kernel, the plugin's, and no reference kernel.
  kCustom = 248,  // what the plugin says
};

inline constexpr int kOpKindCount = static_cast<int>(OpKind::kBlockMatMul) + 1;  // without those numbered apart

constexpr bool is_control(OpKind kind) { return kind == OpKind::kIf || kind == OpKind::kLoop; }

constexpr bool is_valid(OpKind kind) {
  return static_cast<int>(kind) < kOpKindCount || is_control(kind) || kind == OpKind::kCustom;
}

// How many bodies the operator runs: an If one of two, a Loop one again and again.
constexpr int bodies_of(OpKind kind) { return kind == OpKind::kIf ? 2 : kind == OpKind::kLoop ? 1 : 0; }

// "Conv", "MatMul", ...: the name reports and graph dumps use.
const char* name_of(OpKind kind);

// Operands the operator itself takes, before any epilogue operands; -1 where it may vary without bound (kConcat, and
// kPointwise, whose operands all belong to the program; control flow).
struct Arity {
  int min_inputs, max_inputs;
  int min_outputs, max_outputs;
};
Arity arity_of(OpKind kind);

// Whether the operator may carry a program that runs on its (single) output: Conv, ConvTranspose, MatMul, BlockMatMul.
constexpr bool takes_epilogue(OpKind kind) {
  return kind == OpKind::kMatMul || kind == OpKind::kConv || kind == OpKind::kConvTranspose ||
         kind == OpKind::kBlockMatMul;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_OP_H_
