#include <cstring>
#include <type_traits>

#include "builder/ir/graph.h"

namespace planwright::ir {

Params default_params(OpKind kind) {
  switch (kind) {
    case OpKind::kPointwise:
    case OpKind::kMatMul:
    case OpKind::kReshape:
    case OpKind::kExpand:
    case OpKind::kTile:
    case OpKind::kCopy:
    case OpKind::kDet:
    case OpKind::kPairCoupling:
    case OpKind::kBitCast:
    case OpKind::kRange:
    case OpKind::kReadValues:
    case OpKind::kNonZero: return NoParams{};
    case OpKind::kConv: return ConvParams{};
    case OpKind::kConvTranspose: return ConvTransposeParams{};
    case OpKind::kAttention: return AttentionParams{};
    case OpKind::kPool: return PoolParams{};
    case OpKind::kResize: return ResizeParams{};
    case OpKind::kReduce: return ReduceParams{};
    case OpKind::kArgReduce: return ArgReduceParams{};
    case OpKind::kSoftmax: return SoftmaxParams{};
    case OpKind::kLayerNorm: return LayerNormParams{};
    case OpKind::kGroupNorm: return GroupNormParams{};
    case OpKind::kLrn: return LrnParams{};
    case OpKind::kCumulative: return CumulativeParams{};
    case OpKind::kGather: return GatherParams{};
    case OpKind::kGatherElements: return GatherElementsParams{};
    case OpKind::kGatherND: return GatherNDParams{};
    case OpKind::kScatterElements: return ScatterElementsParams{};
    case OpKind::kScatterND: return ScatterNDParams{};
    case OpKind::kTopK: return TopKParams{};
    case OpKind::kOneHot: return OneHotParams{};
    case OpKind::kTrilu: return TriluParams{};
    case OpKind::kTranspose: return TransposeParams{};
    case OpKind::kSlice: return SliceParams{};
    case OpKind::kConcat: return ConcatParams{};
    case OpKind::kPad: return PadParams{};
    case OpKind::kReverseSequence: return ReverseSequenceParams{};
    case OpKind::kFill: return FillParams{};
    case OpKind::kRnn: return RnnParams{};
    case OpKind::kShapeValues: return ShapeValuesParams{};
    case OpKind::kTreeEnsemble: return TreeEnsembleParams{};
    case OpKind::kGridSample: return GridSampleParams{};
    case OpKind::kRoiAlign: return RoiAlignParams{};
    case OpKind::kDeformConv: return DeformConvParams{};
    case OpKind::kRandom: return RandomParams{};
    case OpKind::kIf: return NoParams{};
    case OpKind::kLoop: return LoopParams{};
    case OpKind::kUnique: return UniqueParams{};
    case OpKind::kNonMaxSuppression: return NonMaxSuppressionParams{};
    case OpKind::kBlockMatMul: return BlockMatMulParams{};
    case OpKind::kCustom: return CustomParams{};
  }
  return NoParams{};
}

Bytes to_bytes(const Params& params) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, CustomParams>) {
          return value.parameters;
        } else if constexpr (std::is_empty_v<T>) {
          return Bytes{};
        } else {
          static_assert(std::is_trivially_copyable_v<T>);
          Bytes bytes(sizeof(T));
          std::memcpy(bytes.data(), &value, sizeof(T));
          return bytes;
        }
      },
      params);
}

}  // namespace planwright::ir
