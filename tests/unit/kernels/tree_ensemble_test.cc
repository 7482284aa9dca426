// The fast kernels of forests: on random ones of every kind against the reference kernel, and on damaged packed bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/kernel_generator.h"

namespace planwright::testing {
namespace {

enum class Leaves { kOneTarget, kTargetOfTree, kDense, kAny };

struct Kind {
  bool all_modes, missing;
  Leaves leaves;
};

// A table of trees as the importer writes it: every node has one link, votes belong to one leaf each.
class ForestMaker {
 public:
  ForestMaker(Rng& rng, const Kind& kind, int64_t features, int64_t targets)
      : rng_(rng), kind_(kind), features_(features), targets_(targets) {}

  void add_tree(int depth) {
    roots.push_back(static_cast<double>(rows_++));
    target_ = random_int(rng_, 0, targets_ - 1);
    nodes.resize(nodes.size() + kTreeNodeColumns);
    add_node(rows_ - 1, depth);
  }

  std::vector<double> roots, nodes, splits, members, votes, weights;

 private:
  double* row(int64_t at) { return nodes.data() + at * kTreeNodeColumns; }
  double number() { return static_cast<double>(random_int(rng_, -6, 6)) / (coin(rng_) ? 4 : 1); }

  void add_node(int64_t at, int depth) {
    if (depth == 0 || random_int(rng_, 0, 5) == 0) return add_leaf(at);
    const auto mode = static_cast<TreeMode>(kind_.all_modes ? random_int(rng_, 0, 6) : 0);
    const int64_t yes = add_row(), no = add_row();
    double* own = row(at);
    own[0] = static_cast<double>(mode);
    own[1] = static_cast<double>(random_int(rng_, 0, features_ - 1));
    own[2] = static_cast<double>(yes);
    own[3] = static_cast<double>(no);
    own[6] = kind_.missing && coin(rng_) ? 1 : 0;
    if (mode == TreeMode::kMember) {
      own[4] = static_cast<double>(members.size());
      for (int64_t i = random_int(rng_, 0, 9); i > 0; --i) {
        members.push_back(coin(rng_) ? number() : static_cast<double>(random_int(rng_, -70, 70)));
      }
      own[5] = static_cast<double>(members.size());
    } else {
      own[4] = static_cast<double>(splits.size());
      const double odd[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                            std::nan(""), 0, -0.0};
      splits.push_back(kind_.all_modes && random_int(rng_, 0, 9) == 0 ? odd[random_int(rng_, 0, 4)] : number());
    }
    add_node(yes, depth - 1);
    add_node(no, depth - 1);
  }

  int64_t add_row() {
    nodes.resize(nodes.size() + kTreeNodeColumns);
    return rows_++;
  }

  void add_leaf(int64_t at) {
    double* own = row(at);
    own[0] = static_cast<double>(TreeMode::kLeaf);
    own[4] = static_cast<double>(votes.size());
    const auto vote = [&](int64_t target) {
      votes.push_back(static_cast<double>(target));
      weights.push_back(std::uniform_real_distribution<double>(-1, 1)(rng_));
    };
    switch (kind_.leaves) {
      case Leaves::kOneTarget: vote(0); break;
      case Leaves::kTargetOfTree: vote(target_); break;
      case Leaves::kDense:
        for (int64_t i = 0; i < targets_; ++i) vote(i);
        break;
      case Leaves::kAny:
        for (int64_t i = random_int(rng_, 0, 3); i > 0; --i) vote(random_int(rng_, 0, targets_ - 1));
    }
    own[5] = static_cast<double>(votes.size());
  }

  Rng& rng_;
  const Kind kind_;
  const int64_t features_, targets_;
  int64_t rows_ = 0, target_ = 0;
};

KernelCase forest(Rng& rng) {
  const Kind kind = {coin(rng), coin(rng), static_cast<Leaves>(random_int(rng, 0, 3))};
  const int64_t features = random_int(rng, 1, 20), targets = random_int(rng, 1, 5);
  ForestMaker maker(rng, kind, features, targets);
  const int64_t trees = random_int(rng, 0, 7) == 0 ? random_int(rng, 200, 600) : random_int(rng, 0, 40);
  for (int64_t i = 0; i < trees; ++i) maker.add_tree(static_cast<int>(random_int(rng, 0, 6)));
  const int64_t rows = coin(rng) ? random_int(rng, 1, 20) : random_int(rng, 1, 300);
  const Dims dims = {rows, features};
  TestTensor x = TestTensor::random(rng, DType::kF32, dims, strides_of(dims, {0, 1}, random_int(rng, 0, 3)), -9, 9);
  x.map([&](double value) {
    const int64_t choice = random_int(rng, 0, 19);
    return choice == 0   ? std::nan("")
           : choice == 1 ? std::numeric_limits<double>::infinity()
           : choice == 2 ? std::round(value * 7)
                         : std::round(value * 4) / 4;
  });
  TreeEnsembleParams params;
  params.aggregate = coin(rng) ? TreeAggregate::kSum : TreeAggregate::kAverage;
  if (trees == 0) params.aggregate = TreeAggregate::kSum;
  params.targets = static_cast<int32_t>(targets);
  const auto list = [](DType dtype, const std::vector<double>& values) {
    return TestTensor::of(dtype, {static_cast<int64_t>(values.size())}, values);
  };
  const auto count = static_cast<int64_t>(maker.nodes.size()) / kTreeNodeColumns;
  const Dims scores = {rows, targets};
  return KernelCase::of(
             OpKind::kTreeEnsemble,
             {x, list(DType::kI64, maker.roots), TestTensor::of(DType::kI64, {count, kTreeNodeColumns}, maker.nodes),
              list(DType::kF32, maker.splits), list(DType::kF32, maker.members), list(DType::kI64, maker.votes),
              list(DType::kF32, maker.weights)},
             {TestTensor(DType::kF32, scores, random_strides(rng, scores))})
      .with(params);
}

const Generator kForests = {"TreeEnsemble",
                            OpKind::kTreeEnsemble,
                            forest,
                            {1e-6, 1e-6, 0},
                            {"tree_ensemble_f32_narrow", "tree_ensemble_f32_wide"},
                            120};

TEST(TreeEnsemble, AgreesWithTheReferenceOnRandomForests) { expect_agreement_on_random_cases(kForests); }

// A memory that a kernel may be given, of exactly this size.
std::byte* data_of(std::unique_ptr<GuardedMemory>& memory, size_t size) {
  memory = std::make_unique<GuardedMemory>(size, 64);
  return memory->data();
}

TEST(TreeEnsemble, StaysInBoundsWhateverThePackedBytesSay) {
  Rng rng(7);
  InlineExecutor executor;
  for (int i = 0; i < 300; ++i) {
    KernelCase c = forest(rng);
    for (const KernelDescriptor* kernel : kernels_of(OpKind::kTreeEnsemble)) {
      if (kernel->pack == nullptr || !validate_case(*kernel, c).ok()) continue;
      std::vector<TensorView> views;
      KernelArgs args = c.args(&views);
      std::unique_ptr<GuardedMemory> packed, workspace, scratch;
      std::byte* bytes = data_of(packed, args.packed_size = kernel->packed_size(args));
      ASSERT_TRUE(kernel->pack(args, bytes).ok()) << last_error();
      const auto words = static_cast<int64_t>(args.packed_size / 4);
      for (int64_t changes = random_int(rng, 1, 40); changes > 0; --changes) {
        const int64_t odd[] = {-1, 0, 1, INT32_MAX, INT32_MIN, random_int(rng, INT32_MIN, INT32_MAX)};
        const auto word = static_cast<int32_t>(odd[random_int(rng, 0, 5)]);
        // One in four is in the header or among the first trees.
        const int64_t at =
            random_int(rng, 0, random_int(rng, 0, 3) == 0 ? std::min<int64_t>(words, 40) - 1 : words - 1);
        __builtin_memcpy(bytes + at * 4, &word, 4);
      }
      args.packed = bytes;
      for (size_t input = 1; input < 7; ++input) views[input].data = nullptr;
      args.workspace = data_of(workspace, args.workspace_size = kernel->workspace_size(args));
      args.scratch = data_of(scratch, args.scratch_stride = kernel->scratch_size(args));
      args.executor = &executor;
      const Status status = kernel->run(args);
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::kPrecondition) << kernel->name << ": " << last_error();
      EXPECT_TRUE(workspace->is_intact() && scratch->is_intact() && c.outputs[0].is_intact()) << kernel->name;
    }
  }
}

TEST(TreeEnsemble, PacksNoCircleAndNoNodeThatIsNotThere) {
  Rng rng(3);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    KernelCase c = forest(rng);
    std::vector<double> nodes = c.inputs[2].elements();
    if (nodes.empty()) continue;
    const int64_t row = random_int(rng, 0, c.inputs[2].dims()[0] - 1), odd[] = {-1, 0, 1 << 20, random_int(rng, 0, 9)};
    nodes[static_cast<size_t>(row * kTreeNodeColumns + random_int(rng, 0, 5))] =
        static_cast<double>(odd[random_int(rng, 0, 3)]);
    c.inputs[2].set_elements(nodes);
    for (const KernelDescriptor* kernel : kernels_of(OpKind::kTreeEnsemble)) {
      if (kernel->pack == nullptr || !validate_case(*kernel, c).ok()) continue;
      std::vector<TensorView> views;
      const KernelArgs args = c.args(&views);
      GuardedMemory packed(kernel->packed_size(args), 64);
      refused += !kernel->pack(args, packed.data()).ok();
      EXPECT_TRUE(packed.is_intact());
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace planwright::testing
