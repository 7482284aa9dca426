#include "builder/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

bool share_a_step(const BufferLife& a, const BufferLife& b) { return a.first <= b.last && b.first <= a.last; }

void expect_sound(const std::vector<BufferLife>& buffers, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  EXPECT_GE(plan.arena_size, plan.lower_bound);
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + buffers[i].size, plan.arena_size);
    for (size_t j = 0; j < i; ++j) {
      if (!share_a_step(buffers[i], buffers[j]) || buffers[i].size == 0 || buffers[j].size == 0) continue;
      EXPECT_TRUE(plan.offsets[i] + buffers[i].size <= plan.offsets[j] ||
                  plan.offsets[j] + buffers[j].size <= plan.offsets[i])
          << "buffers " << i << " and " << j << " are alive together and overlap";
    }
  }
}

std::vector<BufferLife> random_buffers(uint32_t seed, int count, int steps, int longest) {
  std::mt19937 random(seed);
  std::vector<BufferLife> buffers;
  for (int i = 0; i < count; ++i) {
    const int first = static_cast<int>(random() % static_cast<uint32_t>(steps));
    const int length = static_cast<int>(random() % static_cast<uint32_t>(longest));
    buffers.push_back({random() % 100000, first, std::min(first + length, steps - 1)});
  }
  return buffers;
}

TEST(MemoryPlan, NothingNeedsNoArena) {
  EXPECT_EQ(plan_memory({}).arena_size, 0u);
  const MemoryPlan plan = plan_memory({{0, 0, 5}});
  EXPECT_EQ(plan.arena_size, 0u);
  EXPECT_EQ(plan.lower_bound, 0u);
  EXPECT_EQ(plan.offsets.size(), 1u);
}

TEST(MemoryPlan, BuffersThatNeverMeetShareBytes) {
  const MemoryPlan plan = plan_memory({{100, 0, 1}, {128, 2, 3}, {10, 4, 4}});
  EXPECT_EQ(plan.arena_size, 128u);
  EXPECT_EQ(plan.offsets, (std::vector<uint64_t>{0, 0, 0}));
}

TEST(MemoryPlan, AChainNeedsTwoNeighbours) {
  std::vector<BufferLife> buffers;
  for (int step = 0; step < 50; ++step) buffers.push_back({uint64_t{64} * (1 + step % 7), step, step + 1});
  const MemoryPlan plan = plan_memory(buffers);
  expect_sound(buffers, plan);
  EXPECT_EQ(plan.lower_bound, 64u * 13);
  EXPECT_LE(plan.arena_size, plan.lower_bound * 103 / 100);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<BufferLife> buffers = random_buffers(seed, 5 + static_cast<int>(seed) * 8, 40, 12);
    expect_sound(buffers, plan_memory(buffers));
  }
}

TEST(MemoryPlan, StaysNearTheLowerBoundOnLifetimesLikeAModels) {
  // Short lives with a few long ones, as activations and residuals have.
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::vector<BufferLife> buffers = random_buffers(seed, 120, 120, 3);
    const std::vector<BufferLife> residuals = random_buffers(seed + 100, 12, 120, 25);
    buffers.insert(buffers.end(), residuals.begin(), residuals.end());
    const MemoryPlan plan = plan_memory(buffers);
    expect_sound(buffers, plan);
    EXPECT_LE(static_cast<double>(plan.arena_size), 1.03 * static_cast<double>(plan.lower_bound)) << "seed " << seed;
  }
}

TEST(MemoryPlan, IsTheSameEveryTime) {
  const std::vector<BufferLife> buffers = random_buffers(7, 150, 60, 20);
  EXPECT_EQ(plan_memory(buffers).offsets, plan_memory(buffers).offsets);
}

TEST(MemoryPlan, SizesThatOverflowAreRefused) {
  EXPECT_THROW(plan_memory({{UINT64_MAX - 10, 0, 0}}), Error);
  EXPECT_THROW(plan_memory({{UINT64_MAX / 2, 0, 0}, {UINT64_MAX / 2, 1, 1}, {1024, 2, 2}}), Error);
}

}  // namespace
}  // namespace planwright::builder
