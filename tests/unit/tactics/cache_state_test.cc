#include "tactics/cache_state.h"

#include <gtest/gtest.h>

#include "tactics/work.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

// In whole quarters: a step's own weights come on top of them.
TEST(SweptBytes, AreSoManyQuartersOfL2AsTheEngineGoesThrough) {
  const size_t all = swept_bytes(1e12);
  const double l2 = static_cast<double>(all);
  EXPECT_GT(all, 0u);
  EXPECT_EQ(swept_bytes(0), 0u);
  EXPECT_EQ(swept_bytes(0.25 * l2 - 1), 0u);
  EXPECT_EQ(swept_bytes(0.25 * l2), all / 4);
  EXPECT_EQ(swept_bytes(0.9 * l2), 3 * (all / 4));
  EXPECT_EQ(swept_bytes(l2), all);
}

TEST(WorkingSetOf, IsAllConstantsOnceAndTheMostThatOneStepReadsAndWrites) {
  StepSpec small = conv_spec(8, 16, 8), large = conv_spec(8, 16, 32);
  const double weights = 16 * 8 * 9 * 4, computed = (8 + 16) * 32 * 32 * 4;
  EXPECT_EQ(working_set_of({}), 0);
  EXPECT_EQ(working_set_of({small, large}), 2 * weights + computed);
  small.inputs[1] = large.inputs[1];
  EXPECT_EQ(working_set_of({small, large}), weights + computed);
}

}  // namespace
}  // namespace planwright::tactics
