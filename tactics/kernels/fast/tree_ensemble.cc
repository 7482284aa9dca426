#include "tactics/kernels/fast/tree_ensemble.h"

#include <cstring>

#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

enum Input { kX = 0, kRoots, kNodes, kSplits, kMembers, kVotes, kWeights };

constexpr int64_t kMaxNodes = int64_t{1} << 28;

struct Header {
  uint32_t nodes, feature_bits, has_missing, has_sets, leaves, reserved[11];
};
static_assert(sizeof(Header) == 64);

int64_t count_of(const KernelArgs& args, Input input) { return args.inputs[input].dims[0]; }

// A set takes a node and a mask for every block of members, at worst one for each.
int64_t node_capacity(const KernelArgs& args) { return count_of(args, kNodes) + 2 * count_of(args, kMembers); }

int bits_for(int64_t largest) {
  int bits = 0;
  while (bits < 62 && int64_t{1} << bits <= largest) ++bits;
  return bits;
}

struct Places {
  size_t roots, depths, targets, vote_targets, vote_weights, nodes, size;
};

Places places_of(const KernelArgs& args, int node_words) {
  constexpr size_t kLine = 64;
  const auto lines = [](int64_t words) { return (static_cast<size_t>(words) * 4 + kLine - 1) / kLine * kLine; };
  Places p;
  p.roots = sizeof(Header);
  p.depths = p.roots + lines(count_of(args, kRoots));
  p.targets = p.depths + lines(count_of(args, kRoots));
  p.vote_targets = p.targets + lines(count_of(args, kRoots));
  p.vote_weights = p.vote_targets + lines(count_of(args, kVotes));
  p.nodes = p.vote_weights + lines(count_of(args, kVotes));
  p.size = p.nodes + lines(node_capacity(args) * node_words);
  return p;
}

}  // namespace

Status validate_packed_forest(const KernelArgs& args, int node_words) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kTreeEnsemble).validate(args));
  const auto& params = args.params_as<TreeEnsembleParams>();
  const TensorView& x = args.inputs[kX];
  constexpr Input kFloats[] = {kX, kSplits, kMembers, kWeights}, kLists[] = {kRoots, kNodes, kMembers, kVotes};
  for (const Input input : kFloats) {
    if (args.inputs[input].dtype != DType::kF32)
      return error(StatusCode::kUnsupported, "operand %d is not fp32", input);
  }
  if (args.outputs[0].dtype != DType::kF32) return error(StatusCode::kUnsupported, "the output is not fp32");
  if (params.aggregate != TreeAggregate::kSum && params.aggregate != TreeAggregate::kAverage) {
    return error(StatusCode::kUnsupported, "the least or largest vote is wanted");
  }
  for (const Input input : kLists) {
    if (count_of(args, input) >= kMaxNodes / 4) return error(StatusCode::kUnsupported, "the forest is too large");
  }
  if (params.targets > 1 << 16) return error(StatusCode::kUnsupported, "too many targets");
  if (x.dims[1] < 1 || x.dims[1] >= 1 << 24) return error(StatusCode::kUnsupported, "%ld features", x.dims[1]);
  if (x.dims[1] > 1 && x.strides[1] != 1) return error(StatusCode::kUnsupported, "the features are not innermost");
  // Offsets within a group of rows are 32-bit.
  if (x.dims[0] > 1 && x.strides[0] >= 1 << 22) return error(StatusCode::kUnsupported, "the rows lie too far apart");
  if (node_words == kNarrowWords && bits_for(x.dims[1] - 1) + bits_for(node_capacity(args)) + kNodeFlagBits > 32) {
    return error(StatusCode::kUnsupported, "nodes and features are too many for 32 bits");
  }
  return kOkStatus;
}

size_t packed_forest_size(const KernelArgs& args, int node_words) { return places_of(args, node_words).size; }

PackedForest read_packed_forest(const KernelArgs& args, int node_words) {
  const Places places = places_of(args, node_words);
  Header header;
  memcpy(&header, args.packed, sizeof header);
  const auto words = [&](size_t place) { return reinterpret_cast<const uint32_t*>(args.packed + place); };
  const auto capacity = static_cast<uint32_t>(node_capacity(args));
  PackedForest forest;
  forest.nodes = header.nodes < capacity ? header.nodes : capacity;
  forest.feature_bits = header.feature_bits < 24 ? header.feature_bits : 24;
  forest.has_missing = header.has_missing != 0;
  forest.has_sets = header.has_sets != 0;
  forest.leaves =
      header.leaves > static_cast<uint32_t>(LeafKind::kVotes) ? LeafKind::kVotes : static_cast<LeafKind>(header.leaves);
  forest.trees = count_of(args, kRoots);
  forest.votes = count_of(args, kVotes);
  forest.roots = words(places.roots);
  forest.depths = words(places.depths);
  forest.targets = words(places.targets);
  forest.vote_targets = words(places.vote_targets);
  forest.vote_weights = reinterpret_cast<const float*>(args.packed + places.vote_weights);
  forest.words = words(places.nodes);
  return forest;
}

size_t packed_forest_workspace(const KernelArgs& args) {
  const int64_t rows = args.inputs[kX].dims[0] < kFewRows ? args.inputs[kX].dims[0] : kFewRows;
  return static_cast<size_t>(rows * tree_chunks(count_of(args, kRoots)) *
                             args.params_as<TreeEnsembleParams>().targets) *
         sizeof(double);
}

size_t packed_forest_scratch(const KernelArgs& args) {
  const int64_t rows = args.inputs[kX].dims[0] < rows_of_task(args) ? args.inputs[kX].dims[0] : rows_of_task(args);
  return static_cast<size_t>(rows * args.params_as<TreeEnsembleParams>().targets) * sizeof(double);
}

int packed_forest_tactics(const KernelArgs& args, TacticParams* list, int capacity) {
  constexpr int32_t kRows[] = {0, 64, 256, 512};
  int count = 0;
  for (const int32_t rows : kRows) {
    if (count == capacity || (count > 0 && args.inputs[kX].dims[0] < rows)) break;
    list[count++] = TacticParams{{rows}};
  }
  return count;
}

}  // namespace planwright
