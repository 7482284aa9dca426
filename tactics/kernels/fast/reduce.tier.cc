// Sums, means, maxima and minima over any axes, fp32.
//
// With the axes in physical order there are two shapes. Where the innermost axis is reduced, a vector runs along it and
// is folded at the end; where it is kept (channels of an image pooled over its pixels), a vector of neighbouring
// outputs runs down the reduced axes. Either way one output is made by one task in one fixed order, in four interleaved
// partial sums, so that rounding grows with a quarter of the length and does not depend on threads.
#include "tactics/kernels/fast/loop_nest.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kTaskElements = 1 << 14;

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kReduce).validate(args));
  if (args.inputs[0].dtype != DType::kF32) return error(StatusCode::kUnsupported, "not fp32");
  if (element_count(args.inputs[0]) == 0) return error(StatusCode::kUnsupported, "nothing to reduce");
  switch (args.params_as<ReduceParams>().kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean:
    case ReduceKind::kMax:
    case ReduceKind::kMin:
    case ReduceKind::kSumSquare: return kOkStatus;
    default: return error(StatusCode::kUnsupported, "none of sum, mean, max, min, sum of squares");
  }
}

struct SumOp {
  static float start() { return 0.0f; }
  static HWY_INLINE FloatVec fold(FloatVec sum, FloatVec x) { return hn::Add(sum, x); }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return hn::Add(a, b); }
};
struct SquareOp {
  static float start() { return 0.0f; }
  static HWY_INLINE FloatVec fold(FloatVec sum, FloatVec x) { return hn::MulAdd(x, x, sum); }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return hn::Add(a, b); }
};
struct MaxOp {  // keeps a NaN in either
  static float start() { return -__builtin_inff(); }
  static HWY_INLINE FloatVec fold(FloatVec a, FloatVec b) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
  }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return fold(a, b); }
};
struct MinOp {
  static float start() { return __builtin_inff(); }
  static HWY_INLINE FloatVec fold(FloatVec a, FloatVec b) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
  }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return fold(a, b); }
};

// The kept axes (view 0: y, view 1: x) and the reduced ones (view 0: x), each in physical order.
struct Job {
  const KernelArgs& args;
  LoopNest kept, reduced;
  float scale;
};

// Folds `length` elements, `stride` apart, into `sums`.
template <typename Op>
HWY_INLINE void fold_row(const float* x, int64_t length, int64_t stride, FloatVec sums[4]) {
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 4 * kLanes <= length; i += 4 * kLanes) {
      for (int v = 0; v < 4; ++v) sums[v] = Op::fold(sums[v], hn::LoadU(kF, x + i + v * kLanes));
    }
  }
  // Lanes past the end hold the neutral element (0 for squares too).
  float lanes[kLanes];
  for (; i < length; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = i + lane < length ? x[(i + lane) * stride] : Op::start();
    sums[0] = Op::fold(sums[0], hn::LoadU(kF, lanes));
  }
}

// One output.
template <typename Op>
float reduce_rows(const Job& job, const float* x) {
  FloatVec sums[4];
  for (FloatVec& sum : sums) sum = hn::Set(kF, Op::start());
  const int64_t rows = job.reduced.outer_count(), length = job.reduced.inner();
  const int64_t stride = job.reduced.strides[0][job.reduced.rank - 1];
  OuterPosition at(job.reduced, 0);
  for (int64_t row = 0; row < rows; ++row, at.next()) fold_row<Op>(x + at.offset(0), length, stride, sums);
  float lanes[kLanes];
  hn::StoreU(Op::join(Op::join(sums[0], sums[1]), Op::join(sums[2], sums[3])), kF, lanes);
  // A fixed tree over the lanes.
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = hn::GetLane(Op::join(hn::Set(kF, lanes[lane]), hn::Set(kF, lanes[lane + half])));
    }
  }
  return lanes[0];
}

// `valid` neighbouring outputs, one a lane, down all reduced elements.
template <typename Op, bool kPartial>
FloatVec reduce_columns(const Job& job, const float* x, int valid) {
  FloatVec sums[4];
  for (FloatVec& sum : sums) sum = hn::Set(kF, Op::start());
  const int64_t rows = job.reduced.outer_count(), length = job.reduced.inner();
  const int64_t stride = job.reduced.strides[0][job.reduced.rank - 1];
  OuterPosition at(job.reduced, 0);
  for (int64_t row = 0; row < rows; ++row, at.next()) {
    const float* from = x + at.offset(0);
    int64_t i = 0;
    const auto load = [&](int64_t index) {
      const float* element = from + index * stride;
      return kPartial ? load_n(element, valid) : hn::LoadU(kF, element);
    };
    for (; i + 4 <= length; i += 4) {
      for (int v = 0; v < 4; ++v) sums[v] = Op::fold(sums[v], load(i + v));
    }
    for (; i < length; ++i) sums[0] = Op::fold(sums[0], load(i));
  }
  return Op::join(Op::join(sums[0], sums[1]), Op::join(sums[2], sums[3]));
}

template <typename Op>
void run_with(const Job& job) {
  const KernelArgs& args = job.args;
  const float* x = args.inputs[0].as<const float>();
  float* y = args.outputs[0].as<float>();
  const LoopNest& kept = job.kept;
  const int inner = kept.rank - 1;
  const int64_t rows = kept.outer_count(), columns = kept.dims[inner];
  const int64_t reduced = job.reduced.outer_count() * job.reduced.inner();
  const bool along_columns = kept.strides[1][inner] == 1 && kept.strides[0][inner] == 1 && columns > 1;
  const int64_t step = along_columns ? kLanes : 1;
  // A task is a group of `step`-wide pieces of one row of outputs.
  const int64_t group = kTaskElements / (reduced * step + 1) + 1;
  const int64_t pieces = (columns + step - 1) / step, groups = (pieces + group - 1) / group;
  parallel_for(*args.executor, rows * groups, [&](int64_t task, int) {
    const OuterPosition at(kept, task / groups);
    const int64_t first = task % groups * group, end = first + group < pieces ? first + group : pieces;
    for (int64_t piece = first; piece < end; ++piece) {
      const int64_t column = piece * step;
      const float* from = x + at.offset(1) + column * kept.strides[1][inner];
      float* to = y + at.offset(0) + column * kept.strides[0][inner];
      if (!along_columns) {
        *to = reduce_rows<Op>(job, from) * job.scale;
        continue;
      }
      const FloatVec scale = hn::Set(kF, job.scale);
      const int valid = static_cast<int>(columns - column < kLanes ? columns - column : kLanes);
      if (valid == kLanes) {
        hn::StoreU(hn::Mul(reduce_columns<Op, false>(job, from, valid), scale), kF, to);
      } else {
        store_n(hn::Mul(reduce_columns<Op, true>(job, from, valid), scale), to, valid);
      }
    }
  });
}

Status run(const KernelArgs& args) {
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  const auto& params = args.params_as<ReduceParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t kept_dims[kMaxRank], kept_strides[2][kMaxRank], reduced_dims[kMaxRank], reduced_strides[1][kMaxRank];
  int kept = 0, reduced = 0;
  int64_t count = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    if ((params.axes >> axis & 1) != 0) {
      reduced_dims[reduced] = x.dims[axis];
      reduced_strides[0][reduced++] = x.strides[axis];
      count *= x.dims[axis];
    } else {
      kept_dims[kept] = x.dims[axis];
      kept_strides[0][kept] = y.strides[axis];
      kept_strides[1][kept++] = x.strides[axis];
    }
  }
  const Job job{args, make_loop_nest(kept, kept_dims, 2, kept_strides),
                make_loop_nest(reduced, reduced_dims, 1, reduced_strides),
                params.kind == ReduceKind::kMean ? 1.0f / static_cast<float>(count) : 1.0f};
  switch (params.kind) {
    case ReduceKind::kMax: run_with<MaxOp>(job); break;
    case ReduceKind::kMin: run_with<MinOp>(job); break;
    case ReduceKind::kSumSquare: run_with<SquareOp>(job); break;
    default: run_with<SumOp>(job); break;
  }
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "reduce_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kReduce,
    .isa = PW_TIER_ISA,
    .packed_inputs = 0,
    .validate = validate,
    .packed_size = nullptr,
    .workspace_size = nullptr,
    .scratch_size = nullptr,
    .pack = nullptr,
    .run = run,
    .tactics = nullptr,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

namespace planwright {
extern const KernelTable PW_TIER_TABLE(reduce_f32);
const KernelTable PW_TIER_TABLE(reduce_f32) = {PW_TIER_NAMESPACE::kKernels, 1};
}  // namespace planwright
