// Forests of fp32: a vector walks one tree for as many rows as it has lanes, or for few rows as many trees of one row;
// four vectors take turns, so that one computes while others wait for memory. Scores are summed in fp64 in the order of
// the trees, as the reference kernel does.
#include "tactics/kernels/fast/tree_ensemble.h"

#include "tactics/kernels/fast/vector_gather.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

using WordMask = hn::Mask<WordTag>;
constexpr WordTag kU{};
constexpr hn::RebindToSigned<FloatTag> kI{};
constexpr PairTag kPair{};
constexpr int kVectors = 4;
constexpr int64_t kGroup = kVectors * kLanes;
constexpr int64_t kInlinePaths = 1 << 12;  // so few are walked sooner than threads wake

// Which tests a forest has besides x <= split.
enum Tests { kPlain, kMissing, kSets };

HWY_INLINE WordVec word(uint32_t value) { return hn::Set(kU, value); }

template <int kWords, Tests kTests>
class Walker {
 public:
  Walker(const PackedForest& forest, int64_t features)
      : words_(forest.words),
        jump_shift_(static_cast<int>(kNodeFlagBits + forest.feature_bits)),
        last_(forest.nodes - 1),
        feature_mask_((uint32_t{1} << forest.feature_bits) - 1),
        last_feature_(static_cast<uint32_t>(features - 1)) {}

  // Walks kCount vectors down to their leaves and writes word 0 of those. `rows`: where each lane's row begins in x.
  template <int kCount>
  HWY_INLINE void walk(WordVec* at, const float* x, const WordVec* rows, uint32_t depth, uint32_t* leaves) const {
    for (int i = 0; i < kCount; ++i) at[i] = hn::Min(at[i], word(last_));
    if (depth > last_) depth = last_;
    for (uint32_t level = 0; level < depth; ++level) {
      WordMask done = hn::Eq(word(0), word(0));
      for (int i = 0; i < kCount; ++i) at[i] = next(at[i], x, rows[i], &done);
      if (hn::AllTrue(kU, done)) break;
    }
    for (int i = 0; i < kCount; ++i) hn::StoreU(gather(words_, place_of(at[i])), kU, leaves + i * kLanes);
  }

 private:
  static HWY_INLINE WordVec place_of(WordVec at) {
    return kWords == kNarrowWords ? hn::ShiftLeft<1>(at) : hn::ShiftLeft<2>(at);
  }

  // Words 0 and 1 of each lane's node: pairs of even lanes, then of odd ones, for half as many loads as one word a
  // time.
  HWY_INLINE void load_nodes(WordVec at, FloatVec* split, WordVec* meta) const {
    const PairVec index = hn::BitCast(kPair, at);
    const auto* pairs = reinterpret_cast<const uint64_t*>(words_);
    const PairVec even = gather_pairs(pairs, hn::And(index, hn::Set(kPair, 0xFFFFFFFFu)));
    const PairVec odd = gather_pairs(pairs, hn::ShiftRight<32>(index));
    *split = hn::BitCast(kF, hn::OddEven(hn::BitCast(kU, hn::ShiftLeft<32>(odd)), hn::BitCast(kU, even)));
    *meta = hn::OddEven(hn::BitCast(kU, odd), hn::BitCast(kU, hn::ShiftRight<32>(even)));
  }
  static HWY_INLINE PairVec gather_pairs(const uint64_t* pairs, PairVec at) {
    if (kWords == kWideWords) at = hn::Add(at, at);
    return gather(pairs, at);
  }

  // One level down; leaves stay where they are. Takes lanes that are in none from `done`.
  HWY_INLINE WordVec next(WordVec at, const float* x, WordVec rows, WordMask* done) const {
    FloatVec split;
    WordVec meta;
    load_nodes(at, &split, &meta);
    WordVec feature = hn::ShiftRight<kNodeFlagBits>(meta);
    if (kWords == kNarrowWords) feature = hn::And(feature, word(feature_mask_));
    const WordVec offset = hn::Add(rows, hn::Min(feature, word(last_feature_)));
    const FloatVec value = gather(x, offset);
    WordVec jump;
    if (kWords == kNarrowWords) {
      jump = hn::ShiftRightSame(meta, jump_shift_);
    } else {
      jump = gather(words_ + 2, place_of(at));
    }
    WordMask yes = hn::RebindMask(kU, hn::Le(value, split));
    WordVec step_of_no = word(1);
    if (kTests == kSets) {
      const WordMask is_equal = hn::TestBit(meta, word(kNodeEqual)), is_set = hn::TestBit(meta, word(kNodeSet));
      const WordMask equals = hn::And(is_equal, hn::RebindMask(kU, hn::Eq(value, split)));
      const WordMask belongs = hn::And(is_set, is_member(at, value, split));
      yes = hn::Or(hn::AndNot(hn::Or(is_equal, is_set), yes), hn::Or(equals, belongs));
      step_of_no = hn::IfThenElse(is_set, word(2), word(1));
    }
    if (kTests != kPlain) {
      const WordMask is_missing = hn::RebindMask(kU, hn::IsNaN(value));
      yes = hn::Or(yes, hn::And(hn::TestBit(meta, word(kNodeMissingIsYes)), is_missing));
    }
    const WordMask is_leaf = hn::Eq(jump, word(0));
    const WordVec step = hn::IfThenZeroElse(is_leaf, hn::IfThenElse(yes, jump, step_of_no));
    *done = hn::And(*done, is_leaf);
    return hn::Min(hn::Add(at, step), word(last_));
  }

  // Whether the value is base + i for a bit i of the mask behind the node.
  HWY_INLINE WordMask is_member(WordVec at, FloatVec value, FloatVec base) const {
    const WordVec mask = gather(words_, place_of(hn::Min(hn::Add(at, word(1)), word(last_))));
    const FloatVec distance = hn::Sub(value, base);
    const auto in_block = hn::And(hn::Ge(distance, hn::Zero(kF)), hn::Lt(distance, hn::Set(kF, 32.0f)));
    const auto whole = hn::ConvertTo(kI, hn::IfThenElseZero(in_block, distance));
    // A difference may be rounded; a sum of whole numbers of a set is not.
    const auto is_whole = hn::Eq(hn::Add(base, hn::ConvertTo(kF, whole)), value);
    const WordVec bit = hn::And(hn::Shr(mask, hn::BitCast(kU, whole)), word(1));
    return hn::And(hn::RebindMask(kU, hn::And(in_block, is_whole)), hn::Eq(bit, word(1)));
  }

  const uint32_t* words_;
  int jump_shift_;
  uint32_t last_, feature_mask_, last_feature_;
};

// Adds what a leaf gives to `scores`, one a target. False where it names a target that is not there.
HWY_INLINE bool add_votes(const PackedForest& forest, uint32_t place, int64_t targets, double* scores) {
  if (forest.leaves == LeafKind::kDense) {
    if (place > forest.votes - targets) return false;
    const float* weights = forest.vote_weights + place;
    for (int64_t i = 0; i < targets; ++i) scores[i] += static_cast<double>(weights[i]);
    return true;
  }
  for (int64_t i = place; i < forest.votes; ++i) {
    const uint32_t target = forest.vote_targets[i] & ~kLastVote;
    if (target >= targets) return false;
    scores[target] += static_cast<double>(forest.vote_weights[i]);
    if ((forest.vote_targets[i] & kLastVote) != 0) break;
  }
  return true;
}

// Walks of one forest's kind, called by pointer: a call a tree costs little, and what calls them exists once.
using Walk = void (*)(const PackedForest& forest, int64_t features, WordVec* at, const float* x, const WordVec* rows,
                      uint32_t depth, uint32_t* leaves);

template <int kWords, Tests kTests, int kCount>
void walk(const PackedForest& forest, int64_t features, WordVec* at, const float* x, const WordVec* rows,
          uint32_t depth, uint32_t* leaves) {
  Walker<kWords, kTests>(forest, features).template walk<kCount>(at, x, rows, depth, leaves);
}

// What all tasks of a run share.
struct Job {
  const KernelArgs& args;
  const PackedForest& forest;
  const float* x;
  int64_t rows, row_stride, targets;
  double divisor;
  Walk walk_one, walk_all;  // one vector, kVectors of them

  // As many vectors as `valid` lanes take.
  void walk(int64_t valid, WordVec* at, const float* from, const WordVec* offsets, uint32_t depth,
            uint32_t* leaves) const {
    (valid > kLanes ? walk_all : walk_one)(forest, args.inputs[0].dims[1], at, from, offsets, depth, leaves);
  }

  void write(int64_t row, const double* scores) const {
    const TensorView& y = args.outputs[0];
    float* to = y.as<float>() + row * y.strides[0];
    for (int64_t i = 0; i < targets; ++i) to[i * y.strides[1]] = static_cast<float>(scores[i] / divisor);
  }
};

// Adds to the scores of rows [begin, end) what each tree gives. Sums lie row by row, or where leaves are weights target
// by target.
bool add_rows(const Job& job, int64_t begin, int64_t end, double* scores) {
  const PackedForest& forest = job.forest;
  const int64_t count = end - begin;
  alignas(64) uint32_t leaves[kGroup];
  WordVec at[kVectors], rows[kVectors];
  for (int64_t tree = 0; tree < forest.trees; ++tree) {
    const uint32_t target = forest.targets[tree];
    if (target >= job.targets) return false;
    for (int64_t first = 0; first < count; first += kGroup) {
      const int64_t valid = count - first < kGroup ? count - first : kGroup;
      for (int i = 0; i < kVectors; ++i) {
        const WordVec lane =
            hn::Min(hn::Iota(kU, static_cast<uint32_t>(i * kLanes)), word(static_cast<uint32_t>(valid - 1)));
        rows[i] = hn::Mul(lane, word(static_cast<uint32_t>(job.row_stride)));
        at[i] = word(forest.roots[tree]);
      }
      const float* x = job.x + (begin + first) * job.row_stride;
      job.walk(valid, at, x, rows, forest.depths[tree], leaves);
      if (forest.leaves == LeafKind::kWeight) {
        double* sums = scores + target * count + first;
        const float* weights = reinterpret_cast<const float*>(leaves);
        for (int64_t i = 0; i < valid; ++i) sums[i] += static_cast<double>(weights[i]);
      } else {
        for (int64_t i = 0; i < valid; ++i) {
          if (!add_votes(forest, leaves[i], job.targets, scores + (first + i) * job.targets)) return false;
        }
      }
    }
  }
  return true;
}

// Adds to one row's scores what trees [begin, end) give.
bool add_trees(const Job& job, int64_t row, int64_t begin, int64_t end, double* scores) {
  const PackedForest& forest = job.forest;
  alignas(64) uint32_t leaves[kGroup], roots[kGroup];
  WordVec at[kVectors], rows[kVectors];
  for (int i = 0; i < kVectors; ++i) rows[i] = word(0);
  for (int64_t first = begin; first < end; first += kGroup) {
    const int64_t valid = end - first < kGroup ? end - first : kGroup;
    uint32_t depth = 0;
    for (int64_t i = 0; i < kGroup; ++i) {
      const int64_t tree = first + (i < valid ? i : valid - 1);
      roots[i] = forest.roots[tree];
      if (forest.depths[tree] > depth) depth = forest.depths[tree];
    }
    for (int i = 0; i < kVectors; ++i) at[i] = hn::LoadU(kU, roots + i * kLanes);
    const float* x = job.x + row * job.row_stride;
    job.walk(valid, at, x, rows, depth, leaves);
    for (int64_t i = 0; i < valid; ++i) {
      if (forest.leaves == LeafKind::kWeight) {
        const uint32_t target = forest.targets[first + i];
        if (target >= job.targets) return false;
        scores[target] += static_cast<double>(reinterpret_cast<const float*>(leaves)[i]);
      } else if (!add_votes(forest, leaves[i], job.targets, scores)) {
        return false;
      }
    }
  }
  return true;
}

void clear(double* scores, int64_t count) {
  for (int64_t i = 0; i < count; ++i) scores[i] = 0;
}

// Many rows: a task is some of them.
bool run_rows(const Job& job) {
  const int64_t group = rows_of_task(job.args);
  bool sound = true;
  parallel_for(*job.args.executor, (job.rows + group - 1) / group, [&](int64_t task, int worker) {
    const int64_t begin = task * group, end = begin + group < job.rows ? begin + group : job.rows;
    double* scores =
        reinterpret_cast<double*>(job.args.scratch + static_cast<size_t>(worker) * job.args.scratch_stride);
    clear(scores, (end - begin) * job.targets);
    if (!add_rows(job, begin, end, scores)) return __atomic_store_n(&sound, false, __ATOMIC_RELAXED);
    if (job.forest.leaves != LeafKind::kWeight) {
      for (int64_t row = begin; row < end; ++row) job.write(row, scores + (row - begin) * job.targets);
      return;
    }
    const TensorView& y = job.args.outputs[0];
    for (int64_t target = 0; target < job.targets; ++target) {
      float* to = y.as<float>() + begin * y.strides[0] + target * y.strides[1];
      const double* from = scores + target * (end - begin);
      for (int64_t i = 0; i < end - begin; ++i) to[i * y.strides[0]] = static_cast<float>(from[i] / job.divisor);
    }
  });
  return sound;
}

// Few rows: a task is some trees of one.
bool run_trees(const Job& job) {
  const int64_t chunks = tree_chunks(job.forest.trees), trees = job.forest.trees;
  double* sums = reinterpret_cast<double*>(job.args.workspace);
  bool sound = true;
  const auto run_task = [&](int64_t task, int) {
    const int64_t row = task / chunks, begin = task % chunks * kChunkTrees;
    const int64_t end = begin + kChunkTrees < trees ? begin + kChunkTrees : trees;
    double* scores = sums + task * job.targets;
    clear(scores, job.targets);
    if (!add_trees(job, row, begin, end, scores)) __atomic_store_n(&sound, false, __ATOMIC_RELAXED);
  };
  if (job.rows * trees <= kInlinePaths) {
    for (int64_t task = 0; task < job.rows * chunks; ++task) run_task(task, 0);
  } else {
    parallel_for(*job.args.executor, job.rows * chunks, run_task);
  }
  for (int64_t row = 0; row < job.rows; ++row) {
    double* scores = sums + row * chunks * job.targets;
    for (int64_t i = job.targets; i < chunks * job.targets; ++i) scores[i % job.targets] += scores[i];
    job.write(row, scores);
  }
  return sound;
}

template <int kWords, Tests kTests>
void set_walks(Job* job) {
  job->walk_one = walk<kWords, kTests, 1>;
  job->walk_all = walk<kWords, kTests, kVectors>;
}

template <int kWords>
Status run(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  PackedForest forest = read_packed_forest(args, kWords);
  if (forest.nodes == 0) forest.trees = 0;
  const auto& params = args.params_as<TreeEnsembleParams>();
  const bool averages = params.aggregate == TreeAggregate::kAverage;
  Job job = {args,
             forest,
             x.as<const float>(),
             x.dims[0],
             x.dims[0] > 1 ? x.strides[0] : 0,
             params.targets,
             averages ? static_cast<double>(args.inputs[1].dims[0]) : 1.0,
             nullptr,
             nullptr};
  if (forest.has_sets) {
    set_walks<kWords, kSets>(&job);
  } else if (forest.has_missing) {
    set_walks<kWords, kMissing>(&job);
  } else {
    set_walks<kWords, kPlain>(&job);
  }
  const bool sound = job.rows < kFewRows ? run_trees(job) : run_rows(job);
  if (sound) return kOkStatus;
  return error(StatusCode::kPrecondition, "TreeEnsemble: a leaf votes for a target that is not there");
}

template <int kWords>
Status validate(const KernelArgs& args) {
  return validate_packed_forest(args, kWords);
}
template <int kWords>
size_t packed_size(const KernelArgs& args) {
  return packed_forest_size(args, kWords);
}
template <int kWords>
Status pack(const KernelArgs& args, std::byte* destination) {
  return pack_forest(args, kWords, destination);
}

constexpr uint32_t kPackedInputs = 0x7E;  // all but x

constexpr KernelDescriptor kKernels[] = {
    {
        .name = "tree_ensemble_f32_narrow_" PW_TIER_STRING,
        .revision = 1,
        .op = OpKind::kTreeEnsemble,
        .isa = PW_TIER_ISA,
        .packed_inputs = kPackedInputs,
        .validate = validate<kNarrowWords>,
        .packed_size = packed_size<kNarrowWords>,
        .workspace_size = packed_forest_workspace,
        .scratch_size = packed_forest_scratch,
        .pack = pack<kNarrowWords>,
        .run = run<kNarrowWords>,
        .tactics = packed_forest_tactics,
    },
    {
        .name = "tree_ensemble_f32_wide_" PW_TIER_STRING,
        .revision = 1,
        .op = OpKind::kTreeEnsemble,
        .isa = PW_TIER_ISA,
        .packed_inputs = kPackedInputs,
        .validate = validate<kWideWords>,
        .packed_size = packed_size<kWideWords>,
        .workspace_size = packed_forest_workspace,
        .scratch_size = packed_forest_scratch,
        .pack = pack<kWideWords>,
        .run = run<kWideWords>,
        .tactics = packed_forest_tactics,
    },
};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(tree_ensemble_f32)
