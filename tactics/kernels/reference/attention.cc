#include <math.h>

#include "tactics/kernels/reference/dot.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// Fills `weights` with softmax(scale * q K^T + mask) of one query row; the first `columns` of K are seen.
void attend(const KernelArgs& args, const Run& query, const Position& at, int64_t kv_head, int64_t columns,
            double* weights) {
  const auto& params = args.params_as<AttentionParams>();
  const TensorView& k = args.inputs[1];
  const bool masked = args.core_inputs > 3 && !args.inputs[3].absent;
  // The mask is read as if it had the dims of the scores, [B,H,S,T].
  int64_t mask_strides[kMaxRank] = {};
  if (masked) {
    TensorView scores;
    scores.rank = 4;
    broadcast_strides(args.inputs[3], scores, mask_strides);
  }
  double most = -INFINITY;
  for (int64_t t = 0; t < columns; ++t) {
    const Run key = {k, at.at[0] * k.strides[0] + kv_head * k.strides[1] + t * k.strides[2], k.strides[3]};
    double score = dot(query, key, k.dims[3], 0.0) * static_cast<double>(params.scale);
    if (params.softcap != 0.0f) {
      const double cap = params.softcap;
      score = cap * tanh(score / cap);
    }
    if (masked) score += load<double>(args.inputs[3], at.offset(mask_strides, 3) + t * mask_strides[3]);
    weights[t] = score;
    if (score > most || score != score) most = score;
  }
  double sum = 0;
  for (int64_t t = 0; t < columns; ++t) sum += weights[t] = exp(weights[t] - most);
  const bool is_zero = params.zero_nan != 0 && sum != sum;
  for (int64_t t = 0; t < columns; ++t) weights[t] = is_zero ? 0 : weights[t] / sum;
}

}  // namespace

Status validate_attention(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &q = args.inputs[0], &k = args.inputs[1], &v = args.inputs[2];
  PW_REQUIRE(q.rank == 4 && k.rank == 4 && v.rank == 4, "Attention: Q, K and V have ranks %d, %d, %d, not 4", q.rank,
             k.rank, v.rank);
  PW_REQUIRE(is_float(q.dtype) && is_float(k.dtype) && is_float(v.dtype) && is_float(args.outputs[0].dtype),
             "Attention: Q, K, V and the output must be floats");
  PW_REQUIRE(k.dims[0] == q.dims[0] && v.dims[0] == q.dims[0] && k.dims[1] == v.dims[1] && k.dims[2] == v.dims[2] &&
                 k.dims[3] == q.dims[3],
             "Attention: the dims of Q, K and V do not fit");
  PW_REQUIRE(k.dims[1] > 0 ? q.dims[1] % k.dims[1] == 0 : q.dims[1] == 0,
             "Attention: %ld query heads cannot share %ld key heads", q.dims[1], k.dims[1]);
  if (args.core_inputs > 3 && !args.inputs[3].absent) {
    const TensorView& mask = args.inputs[3];
    const int64_t scores[4] = {q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
    PW_REQUIRE(mask.rank <= 4 && is_float(mask.dtype), "Attention: a mask of rank %d and type %s", mask.rank,
               name_of(mask.dtype));
    for (int i = 1; i <= mask.rank; ++i) {
      const int64_t dim = mask.dims[mask.rank - i];
      PW_REQUIRE(dim == 1 || dim == scores[4 - i],
                 "Attention: the mask's %ld elements at axis %d do not broadcast to %ld", dim, mask.rank - i,
                 scores[4 - i]);
    }
  }
  const int64_t dims[4] = {q.dims[0], q.dims[1], q.dims[2], v.dims[3]};
  return require_dims(args, 0, dims, 4);
}

size_t attention_workspace(const KernelArgs&) { return 0; }
// One row of the N x N matrix.
size_t attention_scratch(const KernelArgs& args) {
  return static_cast<size_t>(args.inputs[1].dims[2]) * sizeof(double);
}

Status run_attention(const KernelArgs& args) {
  const TensorView &q = args.inputs[0], &k = args.inputs[1], &v = args.inputs[2], &y = args.outputs[0];
  const bool causal = args.params_as<AttentionParams>().causal != 0;
  for_each_position(args, Box(y, 0, 3), [&](const Position& at, int worker) {
    double* weights = reinterpret_cast<double*>(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    const int64_t kv_head = at.at[1] / (q.dims[1] / k.dims[1]);
    const int64_t columns = causal && at.at[2] < k.dims[2] ? at.at[2] + 1 : k.dims[2];
    attend(args, {q, at.offset(q.strides, 3), q.strides[3]}, at, kv_head, columns, weights);
    const int64_t values = at.at[0] * v.strides[0] + kv_head * v.strides[1];
    for (int64_t e = 0; e < v.dims[3]; ++e) {
      double sum = 0;
      for (int64_t t = 0; t < columns; ++t) {
        sum += weights[t] * load<double>(v, values + t * v.strides[2] + e * v.strides[3]);
      }
      store(y, at.offset(y.strides, 3) + e * y.strides[3], sum);
    }
  });
  return kOkStatus;
}

}  // namespace planwright::reference
