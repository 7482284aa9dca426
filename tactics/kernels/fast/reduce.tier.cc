// Sums, means, maxima, minima and norms over any axes, fp32.
//
// With the axes in physical order there are two shapes. Where the innermost axis is reduced, a vector runs along it and
// is folded at the end; where it is kept (channels of an image pooled over its pixels), or too short to fill vectors,
// vectors of neighbouring outputs run down the reduced axes. Elements are folded in runs of at most 1,024 by four
// interleaved partial results, runs one after another, so that rounding grows with the number of runs and not of
// elements. Few outputs of many elements each are made of parts, in tasks of their own, joined in order: the same bits
// at any number of threads.
#include "tactics/kernels/fast/loop_nest.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kTaskElements = 1 << 14;
constexpr int64_t kRun = 1024;
// Columns of up to four vectors are reduced side by side, so that what is read of a pixel is read at once.
constexpr int kWidth = 4;
// Parts are made of up to 16 pieces, at most 64 of each: 256 KiB of workspace whatever the shape.
constexpr int64_t kFewPieces = 16;
constexpr int64_t kMostParts = 64;

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kReduce).validate(args));
  if (args.inputs[0].dtype != DType::kF32) return error(StatusCode::kUnsupported, "not fp32");
  if (element_count(args.inputs[0]) == 0) return error(StatusCode::kUnsupported, "nothing to reduce");
  switch (args.params_as<ReduceParams>().kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean:
    case ReduceKind::kMax:
    case ReduceKind::kMin:
    case ReduceKind::kL1:
    case ReduceKind::kL2:
    case ReduceKind::kSumSquare: return kOkStatus;
    default: return error(StatusCode::kUnsupported, "none of sum, mean, max, min, L1, L2, sum of squares");
  }
}

size_t workspace_size(const KernelArgs&) {
  return static_cast<size_t>(kMostParts * kFewPieces * kWidth * kLanes) * sizeof(float);
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
struct MagnitudeOp {
  static float start() { return 0.0f; }
  static HWY_INLINE FloatVec fold(FloatVec sum, FloatVec x) { return hn::Add(sum, hn::Abs(x)); }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return hn::Add(a, b); }
};
struct MaxOp {  // keeps a NaN in either
  static float start() { return -__builtin_inff(); }
  static HWY_INLINE FloatVec fold(FloatVec a, FloatVec b) {
    return hn::IfThenElse(hn::Eq(a, a), hn::Max(a, b), a);  // x86's gives b where either is NaN
  }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return fold(a, b); }
};
struct MinOp {
  static float start() { return __builtin_inff(); }
  static HWY_INLINE FloatVec fold(FloatVec a, FloatVec b) { return hn::IfThenElse(hn::Eq(a, a), hn::Min(a, b), a); }
  static HWY_INLINE FloatVec join(FloatVec a, FloatVec b) { return fold(a, b); }
};

// The kept axes (view 0: y, view 1: x) and the reduced ones (view 0: x), each in physical order.
struct Job {
  const KernelArgs& args;
  LoopNest kept, reduced;
  float scale = 1.0f;
  bool root = false;  // of the result
  // Outputs in pieces: up to kWidth vectors of neighbours, or one output.
  bool along_columns = false;
  int64_t step = 1, pieces_in_row = 1, pieces = 1;
  int64_t count = 1;                  // reduced elements of an output
  int64_t parts = 1, part_count = 1;  // and of one part of it

  int64_t reduced_stride() const { return reduced.strides[0][reduced.rank - 1]; }
};

Job make_job(const KernelArgs& args) {
  const auto& params = args.params_as<ReduceParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t kept_dims[kMaxRank], kept_strides[2][kMaxRank], reduced_dims[kMaxRank], reduced_strides[1][kMaxRank];
  int kept = 0, reduced = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if ((params.axes >> axis & 1) != 0) {
      reduced_dims[reduced] = x.dims[axis];
      reduced_strides[0][reduced++] = x.strides[axis];
    } else {
      kept_dims[kept] = x.dims[axis];
      kept_strides[0][kept] = y.strides[axis];
      kept_strides[1][kept++] = x.strides[axis];
    }
  }
  Job job{args, make_loop_nest(kept, kept_dims, 2, kept_strides),
          make_loop_nest(reduced, reduced_dims, 1, reduced_strides)};
  const int inner = job.kept.rank - 1;
  const int64_t columns = job.kept.inner();
  const bool fills_vectors = job.reduced_stride() == 1 && job.reduced.inner() >= 4 * kLanes;
  job.along_columns = columns > 1 && (job.kept.strides[1][inner] == 1 || !fills_vectors);
  job.step =
      job.along_columns ? (columns < kWidth * kLanes ? (columns + kLanes - 1) / kLanes * kLanes : kWidth * kLanes) : 1;
  job.pieces_in_row = (columns + job.step - 1) / job.step;
  job.pieces = job.kept.outer_count() * job.pieces_in_row;
  job.count = job.reduced.outer_count() * job.reduced.inner();
  if (params.kind == ReduceKind::kMean) job.scale = 1.0f / static_cast<float>(job.count);
  job.root = params.kind == ReduceKind::kL2;
  if (job.pieces <= kFewPieces) {
    const int64_t wanted = job.pieces * job.count * job.step / kTaskElements;
    job.parts = wanted < 1 ? 1 : wanted < kMostParts ? wanted : kMostParts;
  }
  job.part_count = (job.count + job.parts - 1) / job.parts;
  job.parts = (job.count + job.part_count - 1) / job.part_count;
  return job;
}

// Calls body(run, length) for the runs of neighbouring reduced elements that make up elements [begin, end).
template <typename Body>
HWY_INLINE void for_each_run(const Job& job, const float* x, int64_t begin, int64_t end, const Body& body) {
  const int64_t inner = job.reduced.inner(), stride = job.reduced_stride();
  OuterPosition at(job.reduced, begin / inner);
  for (int64_t i = begin; i < end;) {
    const int64_t in_row = i % inner;
    int64_t length = inner - in_row < end - i ? inner - in_row : end - i;
    length = length < kRun ? length : kRun;
    body(x + at.offset(0) + in_row * stride, length);
    i += length;
    if (in_row + length == inner) at.next();
  }
}

// The first `count` of the elements `stride` apart, the other lanes `rest`. Not inlined: it is long, and rarely used.
HWY_NOINLINE FloatVec gather_n(const float* from, int64_t stride, int count, float rest) {
  float lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = lane < count ? from[lane * stride] : rest;
  return hn::LoadU(kF, lanes);
}

// Folds `length` elements, `stride` apart.
template <typename Op>
HWY_INLINE FloatVec fold_row(const float* x, int64_t length, int64_t stride) {
  FloatVec sums[4];
  for (FloatVec& sum : sums) sum = hn::Set(kF, Op::start());
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 4 * kLanes <= length; i += 4 * kLanes) {
      for (int v = 0; v < 4; ++v) sums[v] = Op::fold(sums[v], hn::LoadU(kF, x + i + v * kLanes));
    }
  }
  // Lanes past the end hold the neutral element (0 for squares too).
  for (; i < length; i += kLanes) {
    const int count = static_cast<int>(length - i < kLanes ? length - i : kLanes);
    sums[0] = Op::fold(sums[0], gather_n(x + i * stride, stride, count, Op::start()));
  }
  return Op::join(Op::join(sums[0], sums[1]), Op::join(sums[2], sums[3]));
}

// One output of elements [begin, end).
template <typename Op>
float reduce_rows(const Job& job, const float* x, int64_t begin, int64_t end) {
  FloatVec total = hn::Set(kF, Op::start());
  for_each_run(job, x, begin, end, [&](const float* run, int64_t length) {
    total = Op::join(total, fold_row<Op>(run, length, job.reduced_stride()));
  });
  float lanes[kLanes];
  hn::StoreU(total, kF, lanes);
  // A fixed tree over the lanes.
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = hn::GetLane(Op::join(hn::Set(kF, lanes[lane]), hn::Set(kF, lanes[lane + half])));
    }
  }
  return lanes[0];
}

// Elements of neighbouring outputs: contiguous, only some of a vector, or apart.
struct LoadWhole {
  HWY_INLINE FloatVec operator()(const float* from) const { return hn::LoadU(kF, from); }
};
struct LoadPartial {
  int valid;
  HWY_INLINE FloatVec operator()(const float* from) const { return load_n(from, valid); }
};
struct LoadApart {
  int valid;
  int64_t apart;
  HWY_INLINE FloatVec operator()(const float* from) const { return gather_n(from, apart, valid, 0.0f); }
};

// kVectors vectors of neighbouring outputs, one a lane, of elements [begin, end).
template <typename Op, int kVectors, typename Load>
HWY_NOINLINE void reduce_columns(const Job& job, const float* x, int64_t begin, int64_t end, const Load& load,
                                 FloatVec* totals) {
  constexpr int kInterleaved = kVectors == 1 ? 4 : 2;
  const int64_t stride = job.reduced_stride();
  for (int v = 0; v < kVectors; ++v) totals[v] = hn::Set(kF, Op::start());
  for_each_run(job, x, begin, end, [&](const float* run, int64_t length) {
    FloatVec sums[kInterleaved][kVectors];
    for (auto& row : sums) {
      for (FloatVec& sum : row) sum = hn::Set(kF, Op::start());
    }
    int64_t i = 0;
    for (; i + kInterleaved <= length; i += kInterleaved) {
      for (int r = 0; r < kInterleaved; ++r) {
        for (int v = 0; v < kVectors; ++v) sums[r][v] = Op::fold(sums[r][v], load(run + (i + r) * stride + v * kLanes));
      }
    }
    for (; i < length; ++i) {
      for (int v = 0; v < kVectors; ++v) sums[0][v] = Op::fold(sums[0][v], load(run + i * stride + v * kLanes));
    }
    for (int v = 0; v < kVectors; ++v) {
      FloatVec sum = Op::join(sums[0][v], sums[1][v]);
      if constexpr (kInterleaved == 4) sum = Op::join(sum, Op::join(sums[2][v], sums[3][v]));
      totals[v] = Op::join(totals[v], sum);
    }
  });
}

// What a piece reads and writes.
struct Piece {
  const float* from;
  float* to;
  int valid;
};
Piece piece_at(const Job& job, int64_t index) {
  const int inner = job.kept.rank - 1;
  const OuterPosition at(job.kept, index / job.pieces_in_row);
  const int64_t column = index % job.pieces_in_row * job.step, left = job.kept.inner() - column;
  return {job.args.inputs[0].as<const float>() + at.offset(1) + column * job.kept.strides[1][inner],
          job.args.outputs[0].as<float>() + at.offset(0) + column * job.kept.strides[0][inner],
          static_cast<int>(left < job.step ? left : job.step)};
}

// The piece's outputs before they are finished, of elements [begin, end).
template <typename Op>
void reduce_piece(const Job& job, const Piece& piece, int64_t begin, int64_t end, FloatVec* totals) {
  if (!job.along_columns) {
    totals[0] = hn::Set(kF, reduce_rows<Op>(job, piece.from, begin, end));
    return;
  }
  const int64_t apart = job.kept.strides[1][job.kept.rank - 1];
  if (apart == 1 && piece.valid == kWidth * kLanes) {
    return reduce_columns<Op, kWidth>(job, piece.from, begin, end, LoadWhole{}, totals);
  }
  for (int first = 0, v = 0; first < piece.valid; first += kLanes, ++v) {
    const float* from = piece.from + first * apart;
    const int valid = piece.valid - first < kLanes ? piece.valid - first : kLanes;
    if (apart != 1) {
      reduce_columns<Op, 1>(job, from, begin, end, LoadApart{valid, apart}, totals + v);
    } else if (valid == kLanes) {
      reduce_columns<Op, 1>(job, from, begin, end, LoadWhole{}, totals + v);
    } else {
      reduce_columns<Op, 1>(job, from, begin, end, LoadPartial{valid}, totals + v);
    }
  }
}

void finish_piece(const Job& job, const Piece& piece, const FloatVec* totals) {
  const int64_t apart = job.kept.strides[0][job.kept.rank - 1];
  for (int first = 0, v = 0; first < piece.valid; first += kLanes, ++v) {
    FloatVec total = hn::Mul(totals[v], hn::Set(kF, job.scale));
    if (job.root) total = hn::Sqrt(total);
    const int valid = piece.valid - first < kLanes ? piece.valid - first : kLanes;
    if (apart == 1) {
      store_n(total, piece.to + first, valid);
      continue;
    }
    float lanes[kLanes];
    hn::StoreU(total, kF, lanes);
    for (int lane = 0; lane < valid; ++lane) piece.to[(first + lane) * apart] = lanes[lane];
  }
}

template <typename Op>
void run_with(const Job& job) {
  Executor& executor = *job.args.executor;
  if (job.parts == 1) {
    const int64_t group = kTaskElements / (job.count * job.step) + 1;
    parallel_for(executor, (job.pieces + group - 1) / group, [&](int64_t task, int) {
      for (int64_t i = task * group; i < (task + 1) * group && i < job.pieces; ++i) {
        const Piece piece = piece_at(job, i);
        FloatVec totals[kWidth];
        reduce_piece<Op>(job, piece, 0, job.count, totals);
        finish_piece(job, piece, totals);
      }
    });
    return;
  }
  float* parts = reinterpret_cast<float*>(job.args.workspace);
  constexpr int64_t kPart = kWidth * kLanes;
  parallel_for(executor, job.pieces * job.parts, [&](int64_t task, int) {
    const int64_t begin = task % job.parts * job.part_count, end = begin + job.part_count;
    FloatVec totals[kWidth];
    for (FloatVec& total : totals) total = hn::Zero(kF);
    reduce_piece<Op>(job, piece_at(job, task / job.parts), begin, end < job.count ? end : job.count, totals);
    for (int v = 0; v < kWidth; ++v) hn::StoreU(totals[v], kF, parts + task * kPart + v * kLanes);
  });
  for (int64_t i = 0; i < job.pieces; ++i) {
    FloatVec totals[kWidth];
    for (int v = 0; v < kWidth; ++v) {
      const float* part = parts + i * job.parts * kPart + v * kLanes;
      totals[v] = hn::LoadU(kF, part);
      for (int64_t p = 1; p < job.parts; ++p) totals[v] = Op::join(totals[v], hn::LoadU(kF, part + p * kPart));
    }
    finish_piece(job, piece_at(job, i), totals);
  }
}

Status run(const KernelArgs& args) {
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  const Job job = make_job(args);
  switch (args.params_as<ReduceParams>().kind) {
    case ReduceKind::kMax: run_with<MaxOp>(job); break;
    case ReduceKind::kMin: run_with<MinOp>(job); break;
    case ReduceKind::kL1: run_with<MagnitudeOp>(job); break;
    case ReduceKind::kL2:
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
    .validate = validate,
    .workspace_size = workspace_size,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(reduce_f32)
