#include <gtest/gtest.h>

#include "tests/conformance/run_case.h"

namespace planwright::conformance {
namespace {

TEST(MentionsAny, LooksForWholeWords) {
  EXPECT_TRUE(mentions_any("node 'k' of TopK", {"k"}));
  EXPECT_TRUE(mentions_any("axis 7 is out of range", {"rank", "axis"}));
  EXPECT_FALSE(mentions_any("broken", {"k"}));
  EXPECT_FALSE(mentions_any("TopKernel", {"TopK"}));
  EXPECT_TRUE(mentions_any("anything", {}));
}

}  // namespace
}  // namespace planwright::conformance
