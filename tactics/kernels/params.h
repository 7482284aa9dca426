// The typed attributes of the core operators: one plain struct each, the same in the graph (ir::Node), in a step of
// the engine file (bytes) and in front of a kernel. A value that may depend on a shape is not here: it is one of the
// step's `scalars`, evaluated when shapes are set; what they are stands in each struct's comment.
//
// Every struct is trivially copyable, has no padding, and starts zeroed, so equal attributes are equal bytes.
#ifndef PLANWRIGHT_TACTICS_KERNELS_PARAMS_H_
#define PLANWRIGHT_TACTICS_KERNELS_PARAMS_H_

#include <cstdint>

#include "schemas/types/dtype.h"
#include "tactics/kernels/op.h"

namespace planwright {

inline constexpr int kMaxSpatial = 3;  // 1-, 2- and 3-D convolution, pooling, resize of images

struct NoParams {};  // kMatMul, kReshape, kExpand, kTile, kCopy, kBitCast, kRange, kDet, kPairCoupling, kPointwise

// scalars: pad_begin[spatial]. What lies past the input at the end is implied by the output's dims.
struct ConvParams {
  int32_t spatial = 2;
  int32_t group = 1;
  int32_t stride[kMaxSpatial] = {1, 1, 1};
  int32_t dilation[kMaxSpatial] = {1, 1, 1};
};

// scalars: pad_begin[spatial] (in output space). Output dims carry output_padding.
struct ConvTransposeParams {
  int32_t spatial = 2;
  int32_t group = 1;
  int32_t stride[kMaxSpatial] = {1, 1, 1};
  int32_t dilation[kMaxSpatial] = {1, 1, 1};
};

enum class PoolKind : int32_t { kMax = 0, kAverage, kLp };

// scalars: pad_begin[spatial], pad_end[spatial] (an average that counts padding divides by what of the window lies
// inside the padded input).
struct PoolParams {
  PoolKind kind = PoolKind::kMax;
  int32_t spatial = 2;
  int32_t kernel[kMaxSpatial] = {1, 1, 1};
  int32_t stride[kMaxSpatial] = {1, 1, 1};
  int32_t dilation[kMaxSpatial] = {1, 1, 1};
  int32_t count_include_pad = 0;
  int32_t column_major_indices = 0;  // ONNX storage_order
  int32_t p = 2;                     // kLp
};

enum class ResizeMode : int32_t { kNearest = 0, kLinear, kCubic };
enum class ResizeCoordinates : int32_t {
  kHalfPixel = 0,
  kPytorchHalfPixel,
  kAsymmetric,
  kAlignCorners,
  kHalfPixelSymmetric,
  kTfCropAndResize,
  kTfHalfPixelForNearest,
};
enum class ResizeRounding : int32_t { kRoundPreferFloor = 0, kRoundPreferCeil, kFloor, kCeil };

// scalars: none. Axes with scale 0 in `scale` use out/in; the others the given scale.
struct ResizeParams {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kRoundPreferFloor;
  int32_t exclude_outside = 0;
  int32_t antialias = 0;
  float cubic_a = -0.75f;
  float extrapolation = 0.0f;
  int32_t reserved = 0;
  double scale[kMaxRank] = {};
  double roi_start[kMaxRank] = {};  // kTfCropAndResize, normalised
  double roi_end[kMaxRank] = {};
};

enum class ReduceKind : int32_t {
  kSum = 0,
  kMean,
  kMax,
  kMin,
  kProd,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kSumSquare,
};

// axes: bit i set: axis i is reduced.
struct ReduceParams {
  ReduceKind kind = ReduceKind::kSum;
  uint32_t axes = 0;
};

struct ArgReduceParams {
  int32_t axis = 0;
  int32_t is_max = 1;
  int32_t select_last = 0;
};

// log: 0 softmax, 1 log-softmax, 2 hardmax.
struct SoftmaxParams {
  int32_t axis = 0;
  int32_t log = 0;
};

// Normalises over axes [axis, rank). rms: no mean is taken away.
struct LayerNormParams {
  int32_t axis = 0;
  int32_t rms = 0;
  float epsilon = 1e-5f;
};

struct GroupNormParams {
  int32_t groups = 1;
  float epsilon = 1e-5f;
};

struct LrnParams {
  int32_t size = 1;
  float alpha = 1e-4f, beta = 0.75f, bias = 1.0f;
};

enum class CumulativeKind : int32_t { kSum = 0, kProd };
struct CumulativeParams {
  CumulativeKind kind = CumulativeKind::kSum;
  int32_t axis = 0;
  int32_t exclusive = 0;
  int32_t reverse = 0;
};

// softmax(scale * Q K^T + mask) V. Heads of Q are dealt to heads of K and V in runs of H/Hkv.
struct AttentionParams {
  float scale = 1.0f;
  int32_t causal = 0;    // row s sees columns t <= s
  float softcap = 0.0f;  // 0: none; else softcap*tanh(x/softcap) before the mask
  // A row whose softmax is NaN, as that of no seen column is, counts as all 0.
  int32_t zero_nan = 0;
};

struct GatherParams {
  int32_t axis = 0;
};
struct GatherElementsParams {
  int32_t axis = 0;
};
struct GatherNDParams {
  int32_t batch_dims = 0;
};

enum class ScatterReduction : int32_t { kNone = 0, kAdd, kMul, kMax, kMin };
struct ScatterElementsParams {
  int32_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
};
struct ScatterNDParams {
  ScatterReduction reduction = ScatterReduction::kNone;
};

// The number taken is the output's dim.
struct TopKParams {
  int32_t axis = 0;
  int32_t largest = 1;
  int32_t sorted = 1;
};

// The depth is the output's dim at `axis`.
struct OneHotParams {
  int32_t axis = 0;
};

// scalars: k, the diagonal.
struct TriluParams {
  int32_t upper = 1;
};

// Output axis i is input axis perm[i].
struct TransposeParams {
  int32_t perm[kMaxRank] = {};
};

// scalars: start[rank], step[rank] (the start already clamped into the axis; a step may be negative).
struct SliceParams {
  int32_t reserved = 0;
};

struct ConcatParams {
  int32_t axis = 0;
};

enum class PadMode : int32_t { kConstant = 0, kReflect, kEdge, kWrap };
// scalars: pad_begin[rank], pad_end[rank]; negative ones crop.
struct PadParams {
  PadMode mode = PadMode::kConstant;
};

struct ReverseSequenceParams {
  int32_t batch_axis = 1;
  int32_t time_axis = 0;
};

// value_bits: the element's bytes, zero-extended to eight.
struct FillParams {
  uint64_t value_bits = 0;
};

enum class RnnKind : int32_t { kRnn = 0, kGru, kLstm };
enum class RnnActivation : int32_t {
  kTanh = 0,
  kSigmoid,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};
struct RnnParams {
  RnnKind kind = RnnKind::kLstm;
  int32_t directions = 1;  // 1 or 2
  int32_t reverse = 0;     // the only direction runs backwards
  int32_t hidden = 0;
  int32_t batch_first = 0;  // ONNX layout=1
  int32_t linear_before_reset = 0;
  int32_t input_forget = 0;
  float clip = 0.0f;                  // 0: none
  RnnActivation activations[6] = {};  // f, g, h of each direction
  float alpha[6] = {};
  float beta[6] = {};
};

// scalars: the elements of Y, `count` of them.
struct ShapeValuesParams {
  int32_t count = 0;
};

// ---- Trees. Numbers of modes are in the engine file.
enum class TreeMode : int32_t {
  kLessEqual = 0,  // x <= split: on to `yes`, else to `no`
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,   // x is one of members [begin, end)
  kLeaf,     // gives votes [begin, end)
  kUnknown,  // any other number
};
// A row of the nodes: mode, feature, yes, no, begin, end, missing_is_yes. `yes` and `no` are rows further on. A node
// that compares has its split at `begin`. Votes are targets; each adds the weight at its place.
inline constexpr int kTreeNodeColumns = 7;
enum class TreeAggregate : int32_t { kSum = 0, kAverage, kMin, kMax };
struct TreeEnsembleParams {
  TreeAggregate aggregate = TreeAggregate::kSum;
  int32_t targets = 1;
};

// ---- Images read between their pixels
enum class GridSampleMode : int32_t { kNearest = 0, kLinear, kCubic };
enum class GridSamplePadding : int32_t { kZeros = 0, kBorder, kReflection };
struct GridSampleParams {
  GridSampleMode mode = GridSampleMode::kLinear;
  GridSamplePadding padding = GridSamplePadding::kZeros;
  int32_t align_corners = 0;
};

inline constexpr int kMaxSamplingRatio = 256;
enum class RoiAlignMode : int32_t { kAverage = 0, kMax };
struct RoiAlignParams {
  RoiAlignMode mode = RoiAlignMode::kAverage;
  int32_t height = 1, width = 1;  // cells of a region
  int32_t sampling_ratio = 0;     // samples of a cell along each axis; 0: as many as it has pixels
  float spatial_scale = 1.0f;
  int32_t half_pixel = 1;  // pixel centres lie at .5
};

// scalars: pad_begin[2]. Offsets are [N, 2 * offset_group * kernel, out], row before column; the mask has half as many.
struct DeformConvParams {
  int32_t group = 1;
  int32_t offset_group = 1;
  int32_t stride[2] = {1, 1};
  int32_t dilation[2] = {1, 1};
};

// Larger matrices than a stack of scratch memory is worth are refused.
inline constexpr int kMaxDetSize = 4096;
// So are those of the pairs of more classes than this.
inline constexpr int kMaxCoupledClasses = 4096;

// shift + scale * r for every element, r uniform in [0, 1) or normal. The numbers follow from the seed and the
// element's place alone (reference/random.cc).
enum class RandomKind : int32_t { kUniform = 0, kNormal };
struct RandomParams {
  RandomKind kind = RandomKind::kUniform;
  int32_t reserved = 0;
  uint64_t seed = 0;
  double shift = 0;
  double scale = 1;
};

struct UniqueParams {
  int32_t axis = -1;   // -1: of the elements, in row-major order
  int32_t sorted = 1;  // 0: in the order in which they first come
};

struct BlockMatMulParams {
  int64_t block = 1;  // rows of W that share a scale; of the last block there may be fewer
};

// scalars: the most boxes picked of a class.
struct NonMaxSuppressionParams {
  int32_t center_point_box = 0;  // 1: boxes are centre x, y, width, height; 0: two corners y, x
};

// Bytes of the operator's params struct; 0 for NoParams, and for kCustom, whose plugin says.
uint32_t params_size_of(OpKind kind);

// How many scalars the operator takes at this rank of its first input (spatial for windows).
// Conv/ConvTranspose: spatial; Pool: 2*spatial; Slice, Pad: 2*rank; Trilu, NonMaxSuppression: 1; DeformConv: 2;
// ShapeValues: count; others 0.
int scalar_count_of(OpKind kind, const void* params, int rank);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_PARAMS_H_
