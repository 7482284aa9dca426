#include "apps/buildengine/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<tactics::Explanation> kTwoLayers = {
    {"conv1",
     "Conv",
     0,
     "timed",
     {{"conv_f32_6x2_avx2 {8}", 1234.56f, 0.004f, "", true},
      {"winograd_f32", 2000, 0, "clearly slower, dropped after 2 runs", false},
      {"reference_conv", 0, 0, "the last resort, never timed", false}},
     {{"not depthwise", "depthwise_f32_avx2, depthwise_f32_avx512"}}},
    {"pool1", "Pool", 0, "nothing to choose from", {{"reference_pool", 0, 0, "", true}}, {}},
};

TEST(ExplanationText, HasALineForEachTacticAndForEachReason) {
  EXPECT_EQ(explanation_text(kTwoLayers, ""),
            "\n=== Tactics (* chosen) ===\n"
            "conv1 (Conv): timed\n"
            "  *   1234.6 us   +-0.4 %  conv_f32_6x2_avx2 {8}\n"
            "      2000.0 us            winograd_f32           clearly slower, dropped after 2 runs\n"
            "              -            reference_conv         the last resort, never timed\n"
            "    refused: depthwise_f32_avx2, depthwise_f32_avx512: not depthwise\n"
            "pool1 (Pool): nothing to choose from\n"
            "  *           -            reference_pool\n");
}

TEST(ExplanationText, IsOfTheLayersWhoseNamesContainTheText) {
  EXPECT_THAT(explanation_text(kTwoLayers, "pool"), HasSubstr("pool1"));
  EXPECT_THAT(explanation_text(kTwoLayers, "pool"), Not(HasSubstr("conv1")));
}

TEST(ExplanationText, TellsProfilesApart) {
  std::vector<tactics::Explanation> profiles{kTwoLayers[1], kTwoLayers[1]};
  profiles[1].profile = 1;
  EXPECT_THAT(explanation_text(profiles, ""), HasSubstr("profile 0: pool1 (Pool)"));
  EXPECT_THAT(explanation_text(profiles, ""), HasSubstr("profile 1: pool1 (Pool)"));
}

std::string refusal(const std::string& text, const std::vector<std::string>& layers) {
  return usage_error([&] { check_explained(text, layers); });
}

TEST(CheckExplained, RefusesWhatNoLayersNameContains) {
  EXPECT_EQ(refusal("", {"conv1"}), "");
  EXPECT_EQ(refusal("onv", {"conv1"}), "");
  EXPECT_EQ(refusal("cnov1", {"pool1", "conv1"}), "--explain: no layer's name contains 'cnov1'; did you mean 'conv1'?");
  EXPECT_EQ(refusal("x", {"pool1", "conv1"}),
            "--explain: no layer's name contains 'x'; there are pool1, conv1; --explain without a name shows all");
  EXPECT_EQ(refusal("x", {"a", "b", "c", "d", "e", "f"}),
            "--explain: no layer's name contains 'x'; there are a, b, c, d, e and others; --explain without a name "
            "shows all");
  EXPECT_EQ(refusal("x", {}), "--explain: no layer's name contains 'x'; the engine has no layers with tactics");
}

}  // namespace
}  // namespace planwright::apps
