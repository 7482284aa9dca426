#include "tests/support/random_cases.h"

#include "tests/support/random_families.h"

namespace planwright::testing {

KernelCase random_case(OpKind op, Rng& rng) {
  CaseMaker make(rng);
  switch (op) {
    case OpKind::kPointwise: return cases::pointwise(make, rng);
    case OpKind::kMatMul: return cases::matmul(make);
    case OpKind::kBlockMatMul: return cases::block_matmul(make);
    case OpKind::kConv: return cases::conv(make);
    case OpKind::kConvTranspose: return cases::conv_transpose(make);
    case OpKind::kAttention: return cases::attention(make);
    case OpKind::kPool: return cases::pool(make);
    case OpKind::kResize: return cases::resize(make);
    case OpKind::kReduce: return cases::reduce(make);
    case OpKind::kArgReduce: return cases::arg_reduce(make);
    case OpKind::kSoftmax: return cases::softmax(make);
    case OpKind::kLayerNorm: return cases::layer_norm(make);
    case OpKind::kGroupNorm: return cases::group_norm(make);
    case OpKind::kLrn: return cases::lrn(make);
    case OpKind::kCumulative: return cases::cumulative(make);
    case OpKind::kGather: return cases::gather(make);
    case OpKind::kGatherElements: return cases::gather_elements(make);
    case OpKind::kGatherND: return cases::gather_nd(make);
    case OpKind::kScatterElements: return cases::scatter_elements(make);
    case OpKind::kScatterND: return cases::scatter_nd(make);
    case OpKind::kTopK: return cases::top_k(make);
    case OpKind::kOneHot: return cases::one_hot(make);
    case OpKind::kTrilu: return cases::trilu(make);
    case OpKind::kReshape: return cases::reshape(make);
    case OpKind::kTranspose: return cases::transpose(make, rng);
    case OpKind::kSlice: return cases::slice(make);
    case OpKind::kExpand: return cases::expand(make);
    case OpKind::kConcat: return cases::concat(make);
    case OpKind::kPad: return cases::pad(make);
    case OpKind::kTile: return cases::tile(make);
    case OpKind::kCopy: return cases::copy(make);
    case OpKind::kReverseSequence: return cases::reverse_sequence(make);
    case OpKind::kFill: return cases::fill(make, rng);
    case OpKind::kRange: return cases::range(make);
    case OpKind::kRnn: return cases::rnn(make);
    case OpKind::kShapeValues: return cases::shape_values(make);
    case OpKind::kTreeEnsemble: return cases::tree_ensemble(make);
    case OpKind::kGridSample: return cases::grid_sample(make);
    case OpKind::kRoiAlign: return cases::roi_align(make);
    case OpKind::kDeformConv: return cases::deform_conv(make);
    case OpKind::kDet: return cases::det(make);
    case OpKind::kPairCoupling: return cases::pair_coupling(make);
    case OpKind::kRandom: return cases::random_numbers(make, rng);
    case OpKind::kBitCast: return cases::bit_cast(make);
    case OpKind::kReadValues: return cases::read_values(make);
    case OpKind::kNonZero: return cases::non_zero(make);
    case OpKind::kUnique: return cases::unique(make);
    case OpKind::kNonMaxSuppression: return cases::non_max_suppression(make);
    case OpKind::kIf:
    case OpKind::kLoop:
    case OpKind::kCustom: break;  // have no reference kernel
  }
  return {};
}

}  // namespace planwright::testing
