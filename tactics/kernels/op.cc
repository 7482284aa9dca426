#include "tactics/kernels/op.h"

#include "tactics/kernels/custom.h"
#include "tactics/kernels/kernel.h"

namespace planwright {
namespace {

// One row an operator, in OpKind's order.
struct OpRow {
  const char* name;
  Arity arity;
  uint32_t params_size;
};

constexpr int kAny = -1;
constexpr uint32_t kNoParams = 0;

constexpr OpRow kOps[kOpKindCount] = {
    {"Pointwise", {0, kAny, 1, kMaxPwOutputs}, kNoParams},
    {"MatMul", {2, 3, 1, 1}, kNoParams},
    {"Conv", {2, 3, 1, 1}, sizeof(ConvParams)},
    {"ConvTranspose", {2, 2, 1, 1}, sizeof(ConvTransposeParams)},
    {"Attention", {3, 4, 1, 1}, sizeof(AttentionParams)},
    {"Pool", {1, 1, 1, 2}, sizeof(PoolParams)},
    {"Resize", {1, 1, 1, 1}, sizeof(ResizeParams)},
    {"Reduce", {1, 1, 1, 1}, sizeof(ReduceParams)},
    {"ArgReduce", {1, 1, 1, 1}, sizeof(ArgReduceParams)},
    {"Softmax", {1, 1, 1, 1}, sizeof(SoftmaxParams)},
    {"LayerNorm", {1, 3, 1, 3}, sizeof(LayerNormParams)},
    {"GroupNorm", {1, 1, 1, 1}, sizeof(GroupNormParams)},
    {"Lrn", {1, 1, 1, 1}, sizeof(LrnParams)},
    {"Cumulative", {1, 1, 1, 1}, sizeof(CumulativeParams)},
    {"Gather", {2, 2, 1, 1}, sizeof(GatherParams)},
    {"GatherElements", {2, 2, 1, 1}, sizeof(GatherElementsParams)},
    {"GatherND", {2, 2, 1, 1}, sizeof(GatherNDParams)},
    {"ScatterElements", {3, 3, 1, 1}, sizeof(ScatterElementsParams)},
    {"ScatterND", {3, 3, 1, 1}, sizeof(ScatterNDParams)},
    {"TopK", {1, 1, 2, 2}, sizeof(TopKParams)},
    {"OneHot", {2, 2, 1, 1}, sizeof(OneHotParams)},
    {"Trilu", {1, 1, 1, 1}, sizeof(TriluParams)},
    {"Reshape", {1, 1, 1, 1}, kNoParams},
    {"Transpose", {1, 1, 1, 1}, sizeof(TransposeParams)},
    {"Slice", {1, 1, 1, 1}, sizeof(SliceParams)},
    {"Expand", {1, 1, 1, 1}, kNoParams},
    {"Concat", {1, kAny, 1, 1}, sizeof(ConcatParams)},
    {"Pad", {1, 2, 1, 1}, sizeof(PadParams)},
    {"Tile", {1, 1, 1, 1}, kNoParams},
    {"Copy", {1, 1, 1, 1}, kNoParams},
    {"ReverseSequence", {2, 2, 1, 1}, sizeof(ReverseSequenceParams)},
    {"Fill", {0, 0, 1, 1}, sizeof(FillParams)},
    {"Range", {2, 2, 1, 1}, kNoParams},
    {"Rnn", {2, 7, 1, 3}, sizeof(RnnParams)},
    {"ShapeValues", {0, 0, 1, 1}, sizeof(ShapeValuesParams)},
    {"TreeEnsemble", {7, 7, 1, 1}, sizeof(TreeEnsembleParams)},
    {"GridSample", {2, 2, 1, 1}, sizeof(GridSampleParams)},
    {"RoiAlign", {3, 3, 1, 1}, sizeof(RoiAlignParams)},
    {"DeformConv", {3, 4, 1, 1}, sizeof(DeformConvParams)},
    {"Det", {1, 1, 1, 1}, kNoParams},
    {"Random", {0, 0, 1, 1}, sizeof(RandomParams)},
    {"BitCast", {1, 1, 1, 1}, kNoParams},
    {"ReadValues", {1, 1, 1, 1}, kNoParams},
    {"NonZero", {1, 1, 1, 1}, kNoParams},
    {"Unique", {1, 1, 2, 5}, sizeof(UniqueParams)},
    {"NonMaxSuppression", {2, 4, 2, 2}, sizeof(NonMaxSuppressionParams)},
    {"PairCoupling", {1, 1, 1, 1}, kNoParams},
    {"BlockMatMul", {3, 3, 1, 1}, sizeof(BlockMatMulParams)},
};

// `each` for every spatial axis; -1, which no step has, where their number cannot be right.
int spatial_scalars(int32_t spatial, int each) { return spatial < 1 || spatial > kMaxSpatial ? -1 : each * spatial; }

constexpr OpRow kControl[] = {
    {"If", {1, kAny, 1, kAny}, kNoParams},
    {"Loop", {0, kAny, 1, kAny}, kNoParams},
};

// The plugin narrows it down.
constexpr OpRow kCustomRow = {"Custom", {0, PW_MAX_CUSTOM_INPUTS, 1, PW_MAX_CUSTOM_OUTPUTS}, kNoParams};

const OpRow& row_of(OpKind kind) {
  if (kind == OpKind::kCustom) return kCustomRow;
  return is_control(kind) ? kControl[static_cast<int>(kind) - static_cast<int>(OpKind::kIf)]
                          : kOps[static_cast<int>(kind)];
}

}  // namespace

const char* name_of(OpKind kind) { return is_valid(kind) ? row_of(kind).name : "?"; }

Arity arity_of(OpKind kind) { return row_of(kind).arity; }

uint32_t params_size_of(OpKind kind) { return row_of(kind).params_size; }

int scalar_count_of(OpKind kind, const void* params, int rank) {
  switch (kind) {
    case OpKind::kConv: return spatial_scalars(static_cast<const ConvParams*>(params)->spatial, 1);
    case OpKind::kConvTranspose: return spatial_scalars(static_cast<const ConvTransposeParams*>(params)->spatial, 1);
    case OpKind::kPool: return spatial_scalars(static_cast<const PoolParams*>(params)->spatial, 2);
    case OpKind::kSlice:
    case OpKind::kPad: return 2 * rank;
    case OpKind::kDeformConv: return 2;
    case OpKind::kTrilu:
    case OpKind::kNonMaxSuppression: return 1;
    case OpKind::kShapeValues: return static_cast<const ShapeValuesParams*>(params)->count;
    default: return 0;
  }
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kReference: return "reference";
    case Isa::kBaseline: return "baseline";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx512Vnni: return "avx512vnni";
    case Isa::kAmx: return "amx";
  }
  return "?";
}

}  // namespace planwright
