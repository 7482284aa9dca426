#include "builder/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

constexpr uint64_t kAlignment = 64;

// Offline packing of intervals is NP-hard; what works is a greedy fit in a good order, and the good order differs from
// model to model, so several are tried and the best one is improved by a short search. Work is bounded in buffer
// visits: 2^27 of them take about a quarter of a second.
constexpr uint64_t kSearchVisits = uint64_t{1} << 27;
constexpr uint64_t kMaxSearchRounds = 4000;

struct Block {
  uint64_t size;
  int32_t first, last;
  int64_t steps() const { return int64_t{last} - first + 1; }
};

bool alive_together(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

enum class Fit { kFirst, kBest };

using Order = std::vector<uint32_t>;

// Places blocks one after another, each into the lowest (or tightest) gap between those it shares a step with.
class Packing {
 public:
  Packing(std::span<const Block> blocks, const Order& order, Fit fit) : blocks_(blocks), offsets_(blocks.size()) {
    placed_.reserve(blocks.size());
    for (const uint32_t block : order) place(block, fit);
  }

  uint64_t height() const { return height_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }

 private:
  void place(uint32_t block, Fit fit) {
    const uint64_t size = blocks_[block].size;
    uint64_t end = 0;  // of the neighbours seen so far
    uint64_t best_offset = 0, best_gap = std::numeric_limits<uint64_t>::max();
    bool found = false;
    for (const uint32_t other : placed_) {
      if (!alive_together(blocks_[block], blocks_[other])) continue;
      const uint64_t offset = offsets_[other];
      if (offset > end && offset - end >= size && offset - end < best_gap) {
        best_offset = end;
        best_gap = offset - end;
        found = true;
        if (fit == Fit::kFirst) break;
      }
      end = std::max(end, offset + blocks_[other].size);
    }
    const uint64_t offset = found ? best_offset : end;
    offsets_[block] = offset;
    height_ = std::max(height_, offset + size);
    const auto position = std::upper_bound(placed_.begin(), placed_.end(), offset,
                                           [this](uint64_t value, uint32_t other) { return value < offsets_[other]; });
    placed_.insert(position, block);
  }

  std::span<const Block> blocks_;
  std::vector<uint64_t> offsets_;
  std::vector<uint32_t> placed_;  // by offset
  uint64_t height_ = 0;
};

// Steps in descending order of what is alive in them; the blocks of the fullest step first, larger first ("greedy by
// breadth", Pisarchyk and Lee, MLSys 2020).
Order by_breadth(std::span<const Block> blocks, const std::vector<uint64_t>& alive) {
  std::vector<uint64_t> breadth(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    breadth[i] = *std::max_element(alive.begin() + blocks[i].first, alive.begin() + blocks[i].last + 1);
  }
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return breadth[a] != breadth[b] ? breadth[a] > breadth[b] : blocks[a].size > blocks[b].size;
  });
  return order;
}

template <typename Key>
Order sorted_by(std::span<const Block> blocks, Key key) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(blocks[a]) > key(blocks[b]); });
  return order;
}

std::vector<Order> starting_orders(std::span<const Block> blocks, const std::vector<uint64_t>& alive) {
  return {
      sorted_by(blocks, [](const Block& block) { return static_cast<double>(block.size); }),
      sorted_by(blocks, [](const Block& b) { return static_cast<double>(b.size) * static_cast<double>(b.steps()); }),
      sorted_by(blocks, [](const Block& block) { return static_cast<double>(block.steps()); }),
      by_breadth(blocks, alive),
      sorted_by(blocks, [](const Block& block) { return -static_cast<double>(block.first); }),
  };
}

// A fixed sequence, so that the same buffers always give the same plan.
class Sequence {
 public:
  uint32_t below(size_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % bound);
  }

 private:
  uint64_t state_ = 1;
};

struct Best {
  Order order;
  Fit fit = Fit::kFirst;
  uint64_t height = std::numeric_limits<uint64_t>::max();
  std::vector<uint64_t> offsets;
};

void try_order(std::span<const Block> blocks, const Order& order, Fit fit, Best* best) {
  const Packing packing(blocks, order, fit);
  if (packing.height() >= best->height) return;
  *best = {order, fit, packing.height(), packing.offsets()};
}

// Moves a block that ends at the top of the arena, or one under it, to an earlier place in the order. Keeps what is no
// worse, so that the search can cross plateaus.
void improve(std::span<const Block> blocks, uint64_t lower_bound, Best* best) {
  const uint64_t visits = std::max<uint64_t>(1, uint64_t{blocks.size()} * blocks.size());
  const uint64_t rounds = std::min(kMaxSearchRounds, kSearchVisits / visits);
  Sequence sequence;
  Best current = *best;
  for (uint64_t round = 0; round < rounds && best->height > lower_bound; ++round) {
    std::vector<uint32_t> top;  // positions in the order
    for (uint32_t i = 0; i < current.order.size(); ++i) {
      const uint32_t block = current.order[i];
      if (current.offsets[block] + blocks[block].size == current.height) top.push_back(i);
    }
    uint32_t from = top[sequence.below(top.size())];
    if (sequence.below(2) == 1) {  // one that shares a step with it
      const Block& culprit = blocks[current.order[from]];
      std::vector<uint32_t> neighbours;
      for (uint32_t i = 0; i < current.order.size(); ++i) {
        if (alive_together(culprit, blocks[current.order[i]])) neighbours.push_back(i);
      }
      from = neighbours[sequence.below(neighbours.size())];
    }
    if (from == 0) continue;
    const uint32_t to = sequence.below(from);
    Order order = current.order;
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
    const Packing packing(blocks, order, current.fit);
    if (packing.height() > current.height) continue;
    current = {std::move(order), current.fit, packing.height(), packing.offsets()};
    if (current.height < best->height) *best = current;
  }
}

}  // namespace

MemoryPlan plan_memory(const std::vector<BufferLife>& buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<Block> blocks;
  std::vector<size_t> buffer_of;  // a block's buffer
  int32_t steps = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size == 0) continue;
    const uint64_t size = align_up(buffers[i].size, kAlignment);
    if (size < buffers[i].size || !checked_add(total, size, &total)) {
      throw Error(StatusCode::kResource, "the activations at the profile's maximum pass 2^64 bytes; lower --maxShapes");
    }
    blocks.push_back({size, buffers[i].first, buffers[i].last});
    buffer_of.push_back(i);
    steps = std::max(steps, buffers[i].last + 1);
  }
  if (blocks.empty()) return plan;

  std::vector<uint64_t> alive(static_cast<size_t>(steps));
  for (const Block& block : blocks) {
    for (int32_t step = block.first; step <= block.last; ++step) alive[static_cast<size_t>(step)] += block.size;
  }
  plan.lower_bound = *std::max_element(alive.begin(), alive.end());

  Best best;
  for (const Order& order : starting_orders(blocks, alive)) {
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      if (best.height > plan.lower_bound) try_order(blocks, order, fit, &best);
    }
  }
  improve(blocks, plan.lower_bound, &best);

  plan.arena_size = best.height;
  for (size_t i = 0; i < blocks.size(); ++i) plan.offsets[buffer_of[i]] = best.offsets[i];
  return plan;
}

}  // namespace planwright::builder
