// The packed form of a forest, for kernels that walk many of its paths side by side.
//
// A node is a few 32-bit words: word 0 is the fp32 split, word 1 holds flags and the feature. Its `no` is the node
// after it (two further on behind a set, whose mask lies between), its `yes` lies `jump` nodes further on; a jump of 0
// is a leaf, whose word 0 is its weight or the place of its votes. Narrow nodes have the jump in the high bits of word
// 1, wide ones in word 2. Modes are brought down to three: x <= split, x == split, and x is a member of a set, split +
// i for the bits i of a mask; the others swap yes and no or take the next smaller split.
//
// A reader trusts none of this: it bounds every place before it reads there, and takes no more steps than a tree says
// that it is deep, at most as many as there are nodes. A damaged forest gives wrong scores, never a stray read.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_TREE_ENSEMBLE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_TREE_ENSEMBLE_H_

#include "tactics/kernels/kernel.h"

namespace planwright {

enum PackedNodeFlag : uint32_t { kNodeEqual = 1, kNodeSet = 2, kNodeMissingIsYes = 4 };
inline constexpr int kNodeFlagBits = 3;
inline constexpr int kNarrowWords = 2, kWideWords = 4;

// What the leaves of a forest give.
enum class LeafKind : uint32_t {
  kWeight = 0,  // one weight, word 0 itself, to the tree's one target
  kDense,       // one weight to each target, from the place of votes that word 0 names
  kVotes,       // votes from there to the first marked as the last; none where there is no such place
};
inline constexpr uint32_t kLastVote = uint32_t{1} << 31;

// A forest as it lies in `packed`, its numbers made safe.
struct PackedForest {
  uint32_t nodes = 0;         // slots of node_words words
  uint32_t feature_bits = 0;  // of narrow nodes
  bool has_missing = false, has_sets = false;
  LeafKind leaves = LeafKind::kWeight;
  int64_t trees = 0, votes = 0;
  const uint32_t *roots = nullptr, *depths = nullptr, *targets = nullptr;  // one a tree, not yet bounded
  const uint32_t* vote_targets = nullptr;
  const float* vote_weights = nullptr;
  const uint32_t* words = nullptr;
};

// ---- Shared by the tiers. `node_words` is kNarrowWords or kWideWords.
Status validate_packed_forest(const KernelArgs& args, int node_words);
size_t packed_forest_size(const KernelArgs& args, int node_words);
Status pack_forest(const KernelArgs& args, int node_words, std::byte* destination);
PackedForest read_packed_forest(const KernelArgs& args, int node_words);

// Fewer rows than this are walked one by one, several trees at a time, in tasks of kChunkTrees trees.
inline constexpr int64_t kFewRows = 16, kChunkTrees = 256;
inline int64_t tree_chunks(int64_t trees) { return trees == 0 ? 1 : (trees + kChunkTrees - 1) / kChunkTrees; }
// Tactic parameter 0: rows of a task.
inline int64_t rows_of_task(const KernelArgs& args) {
  const int32_t tuned = args.tactic.v[0];
  return tuned <= 0 ? 128 : tuned < 4096 ? tuned : 4096;
}
size_t packed_forest_workspace(const KernelArgs& args);
size_t packed_forest_scratch(const KernelArgs& args);
int packed_forest_tactics(const KernelArgs& args, TacticParams* list, int capacity);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_TREE_ENSEMBLE_H_
