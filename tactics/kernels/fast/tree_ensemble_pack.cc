// Writes forests in the form of tree_ensemble.h: nodes depth first, `no` right behind its parent.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tactics/kernels/fast/tree_ensemble.h"

namespace planwright {
namespace {

enum Input { kX = 0, kRoots, kNodes, kSplits, kMembers, kVotes, kWeights };

// Memory of a builder that may fail, given back when it goes.
template <typename T>
class Buffer {
 public:
  explicit Buffer(int64_t count) : data_(static_cast<T*>(calloc(static_cast<size_t>(count) + 1, sizeof(T)))) {}
  ~Buffer() { free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }

 private:
  T* data_;
};

// One of the three comparisons that packed nodes make, and where it leads.
struct Test {
  uint32_t flags;
  float split;
  int64_t yes, no;
};

int compare_floats(const void* a, const void* b) {
  float x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return x < y ? -1 : x > y;
}

bool is_small_integer(float x) { return std::fabs(x) < 16777216.0f && x == std::trunc(x); }

class Packer {
 public:
  Packer(const KernelArgs& args, int node_words, uint32_t* words, int64_t capacity)
      : args_(args),
        node_words_(node_words),
        words_(words),
        capacity_(capacity),
        open_(count(kNodes) + 2),
        members_(count(kMembers)),
        jumps_(capacity),
        vote_marks_(count(kVotes)) {}

  bool has_memory() const {
    return open_.get() != nullptr && members_.get() != nullptr && jumps_.get() != nullptr &&
           vote_marks_.get() != nullptr;
  }

  // As it looks from the leaves alone.
  LeafKind leaf_kind() const;
  Status add_tree(int64_t tree, LeafKind leaves, uint32_t* root, uint32_t* depth, uint32_t* target);
  // Whether leaves of a tree gave weights to several targets, so that LeafKind::kWeight is not theirs.
  bool is_mixed() const { return is_mixed_; }
  Status finish_nodes(uint32_t* feature_bits);

  uint32_t nodes() const { return static_cast<uint32_t>(used_); }
  bool has_missing() const { return has_missing_; }
  bool has_sets() const { return has_sets_; }
  bool is_last_vote(int64_t vote) const { return vote_marks_.get()[vote] == kLast; }

 private:
  // A node whose place waits behind `yes` links: of `links` nodes from `from` on, two slots apart where `is_set`.
  struct Open {
    int64_t row, from, links;
    uint32_t depth;
  };
  enum Mark : uint8_t { kNoVote = 0, kNotLast, kLast };

  int64_t count(Input input) const { return args_.inputs[input].dims[0]; }
  int64_t column(int64_t row, int i) const {
    return args_.inputs[kNodes].as<const int64_t>()[row * kTreeNodeColumns + i];
  }
  TreeMode mode(int64_t row) const { return static_cast<TreeMode>(column(row, 0)); }
  bool is_leaf(int64_t row) const { return mode(row) == TreeMode::kLeaf; }
  bool is_sound(int64_t row) const;
  Test test_of(int64_t row) const;
  Status add_chain(Open start, LeafKind leaves, int64_t* open, uint32_t* depth, uint32_t* target);
  Status add_leaf(int64_t row, LeafKind leaves, uint32_t* target);
  // A set as tests of blocks of 32 members; *links of them.
  Status add_set(int64_t row, int64_t* links);
  Status add_node(uint32_t flags, int64_t feature, float split);
  uint32_t* slot(int64_t at) const { return words_ + at * node_words_; }

  const KernelArgs& args_;
  const int node_words_;
  uint32_t* const words_;
  const int64_t capacity_;
  int64_t used_ = 0, largest_feature_ = 0;
  bool has_missing_ = false, has_sets_ = false, is_mixed_ = false;
  Buffer<Open> open_;
  Buffer<float> members_;
  Buffer<uint32_t> jumps_;
  Buffer<uint8_t> vote_marks_;
};

Status unsound() {
  return error(StatusCode::kInvalid, "TreeEnsemble: a node names a feature, node, split or vote that is not there");
}

bool Packer::is_sound(int64_t row) const {
  if (row < 0 || row >= count(kNodes)) return false;
  const int64_t mode = column(row, 0), begin = column(row, 4), end = column(row, 5);
  const auto is_range = [&](int64_t length) { return begin >= 0 && begin <= end && end <= length; };
  if (mode == static_cast<int64_t>(TreeMode::kLeaf)) return is_range(count(kVotes));
  if (column(row, 1) < 0 || column(row, 1) >= args_.inputs[kX].dims[1]) return false;
  if (mode == static_cast<int64_t>(TreeMode::kMember)) return is_range(count(kMembers));
  return mode >= 0 && mode < static_cast<int64_t>(TreeMode::kMember) && begin >= 0 && begin < count(kSplits);
}

Test Packer::test_of(int64_t row) const {
  constexpr float kInfinity = __builtin_inff();
  const TreeMode mode = this->mode(row);
  const float split = args_.inputs[kSplits].as<const float>()[column(row, 4)];
  bool missing_is_yes = column(row, 6) != 0;
  float to = split;
  // x < t is x <= the number before t. Nothing is below -infinity, and what compares with NaN is not true.
  if (mode == TreeMode::kLess || mode == TreeMode::kGreaterEqual) {
    to = split == -kInfinity ? __builtin_nanf("") : std::nextafterf(split, -kInfinity);
  }
  const bool swaps = mode == TreeMode::kGreater || mode == TreeMode::kGreaterEqual || mode == TreeMode::kNotEqual;
  const bool equal = mode == TreeMode::kEqual || mode == TreeMode::kNotEqual;
  if (swaps) {
    // Of a missing x only "not equal" is true by itself. Where the split is NaN, every other x answers no.
    missing_is_yes = mode != TreeMode::kNotEqual && !missing_is_yes;
    if (!equal && split != split) to = kInfinity;
  }
  const uint32_t flags = (equal ? uint32_t{kNodeEqual} : 0u) | (missing_is_yes ? uint32_t{kNodeMissingIsYes} : 0u);
  const int64_t yes = column(row, 2), no = column(row, 3);
  return swaps ? Test{flags, to, no, yes} : Test{flags, to, yes, no};
}

LeafKind Packer::leaf_kind() const {
  const int64_t targets = args_.params_as<TreeEnsembleParams>().targets;
  const int64_t* votes = args_.inputs[kVotes].as<const int64_t>();
  bool dense = true, single = true;
  for (int64_t row = 0; row < count(kNodes) && (dense || single); ++row) {
    if (!is_sound(row) || !is_leaf(row)) continue;
    const int64_t begin = column(row, 4), end = column(row, 5);
    single = single && end - begin == 1;
    dense = dense && end - begin == targets;
    for (int64_t i = begin; i < end && dense; ++i) dense = votes[i] == i - begin;
  }
  return single ? LeafKind::kWeight : dense ? LeafKind::kDense : LeafKind::kVotes;
}

Status Packer::add_node(uint32_t flags, int64_t feature, float split) {
  if (used_ >= capacity_) {
    return error(StatusCode::kUnsupported, "TreeEnsemble: more than one link leads to a node");
  }
  uint32_t* words = slot(used_++);
  memcpy(words, &split, sizeof split);
  words[1] = static_cast<uint32_t>(feature) << kNodeFlagBits | flags;
  if (feature > largest_feature_) largest_feature_ = feature;
  has_missing_ = has_missing_ || (flags & kNodeMissingIsYes) != 0;
  has_sets_ = has_sets_ || (flags & (kNodeSet | kNodeEqual)) != 0;
  return kOkStatus;
}

Status Packer::add_set(int64_t row, int64_t* links) {
  float* members = members_.get();
  int64_t count = 0;
  for (int64_t i = column(row, 4); i < column(row, 5); ++i) {
    const float member = args_.inputs[kMembers].as<const float>()[i];
    if (member == member) members[count++] = member;
  }
  qsort(members, static_cast<size_t>(count), sizeof(float), compare_floats);
  const uint32_t missing = column(row, 6) != 0 ? uint32_t{kNodeMissingIsYes} : 0u;
  const int64_t feature = column(row, 1);
  *links = 0;
  if (count == 0) {  // nothing compares with NaN
    *links = 1;
    return add_node(missing, feature, __builtin_nanf(""));
  }
  for (int64_t i = 0; i < count; ++*links) {
    const float base = members[i];
    uint32_t mask = 1;
    for (++i; i < count && members[i] == base; ++i) {
    }
    for (; is_small_integer(base) && i < count && is_small_integer(members[i]) && members[i] - base < 32; ++i) {
      mask |= uint32_t{1} << static_cast<int>(members[i] - base);
    }
    const bool alone = mask == 1;
    PW_RETURN_IF_ERROR(add_node(missing | (alone ? uint32_t{kNodeEqual} : uint32_t{kNodeSet}), feature, base));
    if (alone) continue;
    PW_RETURN_IF_ERROR(add_node(0, 0, 0));
    slot(used_ - 1)[0] = mask;
  }
  return kOkStatus;
}

Status Packer::add_leaf(int64_t row, LeafKind leaves, uint32_t* target) {
  const int64_t begin = column(row, 4), end = column(row, 5);
  const int64_t* votes = args_.inputs[kVotes].as<const int64_t>();
  for (int64_t i = begin; i < end; ++i) {
    if (votes[i] < 0 || votes[i] >= args_.params_as<TreeEnsembleParams>().targets) return unsound();
    const uint8_t mark = i + 1 == end ? kLast : kNotLast;
    uint8_t& known = vote_marks_.get()[i];
    if (known != kNoVote && known != mark) {
      return error(StatusCode::kUnsupported, "TreeEnsemble: leaves share some of their votes");
    }
    known = mark;
  }
  PW_RETURN_IF_ERROR(add_node(0, 0, 0));
  uint32_t word = begin == end ? ~uint32_t{0} : static_cast<uint32_t>(begin);
  if (leaves == LeafKind::kWeight) {
    is_mixed_ = is_mixed_ || (*target != ~uint32_t{0} && *target != static_cast<uint32_t>(votes[begin]));
    *target = static_cast<uint32_t>(votes[begin]);
    memcpy(&word, args_.inputs[kWeights].as<const float>() + begin, sizeof word);
  }
  slot(used_ - 1)[0] = word;
  return kOkStatus;
}

// A node, what follows from no to no, and the leaf at the end.
Status Packer::add_chain(Open start, LeafKind leaves, int64_t* open, uint32_t* depth, uint32_t* target) {
  uint32_t steps = start.depth;
  for (int64_t row = start.row;;) {
    if (!is_sound(row)) return unsound();
    if (is_leaf(row)) {
      if (steps > *depth) *depth = steps;
      return add_leaf(row, leaves, target);
    }
    const int64_t from = used_;
    int64_t links = 1;
    Test test = {0, 0, column(row, 2), column(row, 3)};
    if (mode(row) == TreeMode::kMember) {
      PW_RETURN_IF_ERROR(add_set(row, &links));
    } else {
      test = test_of(row);
      PW_RETURN_IF_ERROR(add_node(test.flags, column(row, 1), test.split));
    }
    steps += static_cast<uint32_t>(links);
    if (*open > count(kNodes)) return error(StatusCode::kUnsupported, "TreeEnsemble: links lead in a circle");
    open_.get()[(*open)++] = {test.yes, from, links, steps};
    row = test.no;
  }
}

Status Packer::add_tree(int64_t tree, LeafKind leaves, uint32_t* root, uint32_t* depth, uint32_t* target) {
  *root = static_cast<uint32_t>(used_);
  *depth = 0;
  *target = ~uint32_t{0};
  int64_t open = 1;
  open_.get()[0] = {args_.inputs[kRoots].as<const int64_t>()[tree], 0, 0, 0};
  while (open > 0) {
    const Open next = open_.get()[--open];
    int64_t from = next.from;
    for (int64_t i = 0; i < next.links; ++i) {
      jumps_.get()[from] = static_cast<uint32_t>(used_ - from);
      from += (slot(from)[1] & kNodeSet) != 0 ? 2 : 1;
    }
    PW_RETURN_IF_ERROR(add_chain(next, leaves, &open, depth, target));
  }
  if (*target == ~uint32_t{0}) *target = 0;
  return kOkStatus;
}

// Jumps are put beside features once it is known how many bits those take.
Status Packer::finish_nodes(uint32_t* feature_bits) {
  *feature_bits = 0;
  while (largest_feature_ >> *feature_bits != 0) ++*feature_bits;
  const uint32_t shift = kNodeFlagBits + *feature_bits;
  for (int64_t i = 0; i < used_; ++i) {
    if (node_words_ == kWideWords) {
      slot(i)[2] = jumps_.get()[i];
    } else {
      if (shift > 31 || jumps_.get()[i] >> (32 - shift) != 0) {
        return error(StatusCode::kUnsupported, "TreeEnsemble: a tree is too large for nodes of 64 bits");
      }
      slot(i)[1] |= jumps_.get()[i] << shift;
    }
  }
  return kOkStatus;
}

// Where pack_forest writes: what read_packed_forest reads.
uint32_t* part(std::byte* destination, const void* of) {
  return reinterpret_cast<uint32_t*>(destination + (static_cast<const std::byte*>(of) - destination));
}

Status pack_as(const KernelArgs& args, int node_words, const PackedForest& parts, bool weights_fit, std::byte* to,
               bool* is_mixed) {
  const int64_t capacity = args.inputs[kNodes].dims[0] + 2 * args.inputs[kMembers].dims[0];
  Packer packer(args, node_words, part(to, parts.words), capacity);
  if (!packer.has_memory()) return error(StatusCode::kResource, "TreeEnsemble: no memory to pack the forest");
  LeafKind leaves = packer.leaf_kind();
  if (leaves == LeafKind::kWeight && !weights_fit) leaves = LeafKind::kVotes;
  for (int64_t i = 0; i < parts.trees; ++i) {
    PW_RETURN_IF_ERROR(
        packer.add_tree(i, leaves, part(to, parts.roots) + i, part(to, parts.depths) + i, part(to, parts.targets) + i));
  }
  *is_mixed = packer.is_mixed();
  uint32_t feature_bits = 0;
  PW_RETURN_IF_ERROR(packer.finish_nodes(&feature_bits));
  for (int64_t i = 0; i < parts.votes; ++i) {
    const auto target = static_cast<uint32_t>(args.inputs[kVotes].as<const int64_t>()[i]);
    part(to, parts.vote_targets)[i] = target | (packer.is_last_vote(i) ? kLastVote : 0u);
  }
  if (parts.votes > 0) {
    memcpy(part(to, parts.vote_weights), args.inputs[kWeights].data, static_cast<size_t>(parts.votes) * sizeof(float));
  }
  const uint32_t header[] = {packer.nodes(), feature_bits, packer.has_missing(), packer.has_sets(),
                             static_cast<uint32_t>(leaves)};
  memcpy(to, header, sizeof header);
  return kOkStatus;
}

}  // namespace

Status pack_forest(const KernelArgs& args, int node_words, std::byte* destination) {
  KernelArgs written = args;
  written.packed = destination;
  written.packed_size = packed_forest_size(args, node_words);
  bool is_mixed = false;
  for (int attempt = 0; attempt == 0 || (attempt == 1 && is_mixed); ++attempt) {
    memset(destination, 0, written.packed_size);
    PW_RETURN_IF_ERROR(
        pack_as(args, node_words, read_packed_forest(written, node_words), attempt == 0, destination, &is_mixed));
  }
  return kOkStatus;
}

}  // namespace planwright
