#include "tactics/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <filesystem>

#include "schemas/types/error.h"
#include "tactics/kernels/cpu.h"
#include "tactics/pack.h"
#include "tactics/weight_bound.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SelectTactics : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("select_" + std::to_string(getpid()));
    fs::create_directory(folder_);
    options_.isa = detect_isa();
    options_.avg_timing = 1;
    options_.optimization_level = 1;
    options_.timing_cache_path = folder_ / "timing.cache";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<Choice> select(const std::vector<StepSpec>& specs) {
    return select_tactics(specs, std::vector<std::vector<const StepSpec*>>(specs.size()), options_, &stats_);
  }

  fs::path folder_;
  SearchOptions options_;
  SearchStats stats_;
};

TEST_F(SelectTactics, AtLevelZeroTakesTheFirstCandidateUntimed) {
  options_.optimization_level = 0;
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8)};
  const Choice choice = select(specs)[0];
  EXPECT_EQ(choice.candidate.kernel, candidates(specs[0], {}, options_, nullptr)[0].kernel);
  EXPECT_EQ(choice.time_us, 0);
  EXPECT_EQ(stats_.timed, 0);
  EXPECT_FALSE(fs::exists(options_.timing_cache_path));
}

TEST_F(SelectTactics, ASecondBuildWithTheSameCacheTimesNothingAndChoosesTheSame) {
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8), conv_spec(16, 16, 8)};
  const std::vector<Choice> cold = select(specs);
  EXPECT_GT(stats_.timed, 0);
  EXPECT_EQ(stats_.cache_hits, 0);
  const std::vector<Choice> warm = select(specs);
  EXPECT_EQ(stats_.timed, 0);
  EXPECT_EQ(stats_.cache_hits, 2);
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(warm[i].candidate.kernel, cold[i].candidate.kernel);
    EXPECT_EQ(warm[i].time_us, cold[i].time_us);
    EXPECT_GT(warm[i].time_us, 0);
    EXPECT_TRUE(warm[i].from_cache);
  }
}

// Winograd's weights are four times the filters: 9 MiB for each of these, of 2.25. What is fastest differs by machine:
// one layer alone, in a race among the same neighbours in the caches, says what it is here.
TEST_F(SelectTactics, WeightsStayWithinTheirBound) {
  const StepSpec layer = conv_spec(256, 256, 14), sweep = copy_spec({8 << 20});
  const Candidate fastest = select({layer, sweep})[0].candidate;
  const uint64_t limit = weight_limit(4 * constant_bytes(layer, 0));
  ASSERT_LE(stored_bytes(layer, fastest), weight_limit(constant_bytes(layer, 0)));
  const bool is_within = 4 * stored_bytes(layer, fastest) <= limit;

  const std::vector<Choice> choices = select({layer, layer, layer, layer, sweep});
  EXPECT_EQ(stats_.cache_hits, 2);
  uint64_t stored = 0;
  for (size_t i = 0; i < 4; ++i) {
    stored += stored_bytes(layer, choices[i].candidate);
    if (is_within) EXPECT_EQ(choices[i].candidate.kernel, fastest.kernel);
  }
  EXPECT_LE(stored, limit);
}

// A level-5 build used to overwrite what the default build had timed, whose next build then chose otherwise.
TEST_F(SelectTactics, BuildsUnderOtherRulesLeaveWhatWasTimedAlone) {
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8)};
  const std::vector<Choice> first = select(specs);
  const SearchOptions usual = options_;
  const auto build_otherwise = [&](const std::function<void()>& change) {
    change();
    select(specs);
    EXPECT_EQ(stats_.cache_hits, 0);
    options_ = usual;
    const std::vector<Choice> again = select(specs);
    EXPECT_EQ(stats_.timed, 0);
    EXPECT_EQ(again[0].candidate.kernel, first[0].candidate.kernel);
    EXPECT_EQ(again[0].time_us, first[0].time_us);
  };
  build_otherwise([&] { options_.optimization_level = 5; });
  build_otherwise([&] { options_.avg_timing = 3; });
  build_otherwise([&] { options_.excluded_sources = {"first_layer", "conv"}; });
}

// A step finds other caches in an engine that leaves nothing in them: a race of its own.
TEST_F(SelectTactics, TimesOfASmallEngineAreNotThoseOfALargeOne) {
  const StepSpec step = conv_spec(8, 16, 8);
  select({step});
  select({step, copy_spec({1 << 20})});
  EXPECT_EQ(stats_.cache_hits, 0);
  select({step});
  EXPECT_EQ(stats_.cache_hits, 1);
}

TEST_F(SelectTactics, EqualWorkIsTimedOnce) {
  const std::vector<Choice> choices = select({conv_spec(8, 16, 8), conv_spec(8, 16, 8)});
  EXPECT_EQ(stats_.timed, choices[0].timed);
  EXPECT_EQ(choices[1].timed, 0);
  EXPECT_EQ(choices[1].candidate.kernel, choices[0].candidate.kernel);
}

TEST_F(SelectTactics, ABudgetThatIsSpentLeavesFirstCandidatesAndNothingInTheCache) {
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8), conv_spec(16, 16, 8), conv_spec(8, 16, 8)};
  options_.budget_seconds = 1e-9;
  const std::vector<Choice> choices = select(specs);
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(choices[i].candidate.kernel, candidates(specs[i], {}, options_, nullptr)[0].kernel);
    EXPECT_EQ(choices[i].time_us, 0);
  }
  EXPECT_EQ(stats_.timed, 0);
  EXPECT_EQ(stats_.layers_timed, 0);
  EXPECT_EQ(stats_.layers_guessed, 3);
  EXPECT_FALSE(fs::exists(options_.timing_cache_path));
}

TEST_F(SelectTactics, ABudgetThatIsLargeEnoughMakesNoDifference) {
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8), conv_spec(16, 16, 8)};
  options_.budget_seconds = 1000;
  const std::vector<Choice> limited = select(specs);
  EXPECT_EQ(stats_.layers_timed, 2);
  EXPECT_EQ(stats_.layers_cut_short, 0);
  EXPECT_EQ(stats_.layers_guessed, 0);
  options_.budget_seconds = HUGE_VAL;
  const std::vector<Choice> unlimited = select(specs);
  EXPECT_EQ(stats_.cache_hits, 2);  // the same race
  for (size_t i = 0; i < specs.size(); ++i) EXPECT_EQ(unlimited[i].candidate.kernel, limited[i].candidate.kernel);
}

TEST_F(SelectTactics, WhatTheCacheHasIsUsedWhenTheBudgetIsSpent) {
  const std::vector<Choice> timed = select({conv_spec(8, 16, 8)});
  options_.budget_seconds = 1e-9;
  const std::vector<Choice> choices = select({conv_spec(16, 16, 8), conv_spec(8, 16, 8)});
  EXPECT_EQ(stats_.cache_hits, 1);
  EXPECT_EQ(stats_.layers_guessed, 1);
  EXPECT_TRUE(choices[1].from_cache);
  EXPECT_EQ(choices[1].candidate.kernel, timed[0].candidate.kernel);
}

// A build without a budget would take its rough times for good.
TEST_F(SelectTactics, ATrialThatWasCutShortIsNotRemembered) {
  options_.optimization_level = 5;
  options_.budget_seconds = 0.06;
  const std::vector<StepSpec> specs{conv_spec(64, 64, 32)};
  select(specs);
  EXPECT_EQ(stats_.layers_timed, 1);
  // Some 300 candidates in 60 ms: but a machine may be that fast one day.
  const bool was_cut = stats_.layers_cut_short == 1;
  EXPECT_NE(fs::exists(options_.timing_cache_path), was_cut);
}

TEST_F(SelectTactics, HeavyWorkIsTimedFirst) {
  std::vector<StepSpec> specs{conv_spec(8, 16, 8), conv_spec(64, 64, 8), conv_spec(16, 16, 8)};
  for (StepSpec& spec : specs) spec.name = std::to_string(element_count(spec.inputs[0].view));
  std::vector<std::string> order;
  options_.progress = [&](size_t, size_t, const std::string& layer) { order.push_back(layer); };
  select(specs);
  EXPECT_THAT(order, testing::ElementsAre("4096", "1024", "512", ""));
}

TEST_F(SelectTactics, TimesAtMostSoManyTacticsBestGuessFirst) {
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8)};
  options_.max_tactics = 2;
  options_.explain = true;
  const Choice choice = select(specs)[0];
  EXPECT_EQ(stats_.timed, 2);
  const std::vector<Candidate> list = candidates(specs[0], {}, options_, nullptr);
  EXPECT_THAT((std::vector{list[0].kernel, list[1].kernel}), testing::Contains(choice.candidate.kernel));
  ASSERT_EQ(stats_.explanations.size(), 1u);
  int left_out = 0;
  for (const ExplainedTactic& tactic : stats_.explanations[0].tactics) {
    left_out += tactic.remark == "not among the first 2 (--maxTactics)";
  }
  EXPECT_EQ(left_out, static_cast<int>(list.size()) - 3);  // all but these two and the reference
  options_.max_tactics = INT_MAX;
  select(specs);
  EXPECT_EQ(stats_.cache_hits, 0);  // another race
}

TEST_F(SelectTactics, ExplainsEveryLayerInOrderWhenAsked) {
  std::vector<StepSpec> specs{copy_spec({4, 64}), conv_spec(8, 16, 8), conv_spec(8, 16, 8)};
  specs[2].name = "conv_too";
  select(specs);
  EXPECT_TRUE(stats_.explanations.empty());
  options_.explain = true;
  const std::vector<Choice> choices = select(specs);
  ASSERT_EQ(stats_.explanations.size(), 3u);
  EXPECT_EQ(stats_.explanations[0].layer, "copy_me");
  EXPECT_EQ(stats_.explanations[1].basis, "times from the timing cache");
  EXPECT_EQ(stats_.explanations[2].basis, "times from the timing cache; the same work as layer conv_me");
  for (size_t i = 0; i < specs.size(); ++i) {
    int chosen = 0;
    for (const ExplainedTactic& tactic : stats_.explanations[i].tactics) {
      if (!tactic.is_chosen) continue;
      ++chosen;
      EXPECT_THAT(tactic.name, testing::StartsWith(choices[i].candidate.kernel->name));
    }
    EXPECT_EQ(chosen, 1);
  }
}

// FAULTS B24.
TEST_F(SelectTactics, CancellingKeepsWhatWasTimed) {
  const std::vector<StepSpec> specs{conv_spec(8, 16, 8), conv_spec(16, 16, 8)};
  size_t started = 0;
  options_.progress = [&](size_t done, size_t, const std::string&) { started = done; };
  options_.cancelled = [&] { return started == 1; };
  try {
    select(specs);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kCancelled);
  }
  options_.cancelled = nullptr;
  select(specs);
  EXPECT_EQ(stats_.cache_hits, 1);
}

TEST_F(SelectTactics, SaysOfEveryKernelWhyNoneFits) {
  options_.excluded_sources = {"conv", "winograd", "first_layer", "depthwise", "reference"};
  try {
    select({conv_spec(8, 16, 8)});
    FAIL() << "something was chosen";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kResource);
    EXPECT_THAT(error.what(), HasSubstr("layer conv_me (Conv)"));
    EXPECT_THAT(error.what(), HasSubstr("excluded by --tacticSources"));
  }
}

// Twenty kernels used to say the same of a shape no memory can hold.
TEST_F(SelectTactics, SaysOnceWhatEveryKernelRefuses) {
  try {
    select({conv_spec(8, 16, int64_t{1} << 31)});
    FAIL() << "something was chosen";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("no tactic may run it: "));
  }
}

}  // namespace
}  // namespace planwright::tactics
