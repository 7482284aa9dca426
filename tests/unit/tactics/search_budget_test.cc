#include "tactics/search_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tactics/trial.h"
#include "tactics/work.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

using testing::ElementsAre;

// Deals out made-up time: `now` moves only when a test moves it.
class Deal {
 public:
  Deal(double budget_us, std::vector<TrialEstimate> estimates)
      : budget_(budget_us, std::move(estimates), [this] { return now; }) {}
  // How long trial `index` may take from now on; -1: it is left out.
  double allotted(size_t index) const { return budget_.deadline_of(index).value_or(now - 1) - now; }
  double second(size_t index) const { return budget_.second_deadline_of(index).value_or(now - 1) - now; }

  double now = 1000;

 private:
  SearchBudget budget_;
};

TEST(RaceBudget, IsLongerOnlyForAStepThatIsMuchOfTheNetwork) {
  EXPECT_EQ(race_budget_us(0, 1), 0);
  EXPECT_GT(race_budget_us(3, 0.01), 0);
  EXPECT_EQ(race_budget_us(3, 0.01), race_budget_us(3, 0.05));
  EXPECT_GT(race_budget_us(3, 0.5), 2 * race_budget_us(3, 0.05));
  EXPECT_DOUBLE_EQ(race_budget_us(3, 1), 2 * race_budget_us(3, 0.5));
  EXPECT_GT(race_budget_us(5, 0), race_budget_us(4, 0));
}

TEST(SearchBudget, WithoutALimitNobodyIsHurried) {
  Deal deal(HUGE_VAL, {{1, 10, 100}, {1, 10, 100}});
  deal.now = 1e15;
  EXPECT_EQ(deal.allotted(1), HUGE_VAL);
}

TEST(SearchBudget, ASharesSizeFollowsTheWork) {
  const Deal deal(1000, {{6, 1, 1e6}, {3, 1, 1e6}, {1, 1, 1e6}});
  EXPECT_DOUBLE_EQ(deal.allotted(0), 600);
}

TEST(SearchBudget, WhatATrialLeavesOverIsDealtOutAgain) {
  Deal deal(1000, {{6, 1, 1e6}, {3, 1, 1e6}, {1, 1, 1e6}});
  deal.now += 200;
  EXPECT_DOUBLE_EQ(deal.allotted(1), 600);
  deal.now += 700;
  EXPECT_DOUBLE_EQ(deal.allotted(2), 100);
}

TEST(SearchBudget, AHeavyTrialGetsAtLeastWhatMakesItWorthwhile) {
  const Deal deal(1000, {{5, 900, 1e6}, {5, 10, 1e6}});
  EXPECT_DOUBLE_EQ(deal.allotted(0), 900);
}

TEST(SearchBudget, WhereTooLittleIsLeftATrialIsLeftOutAndALighterOneIsNot) {
  Deal deal(1000, {{6, 1, 1e6}, {3, 200, 1e6}, {1, 50, 1e6}});
  deal.now += 900;
  EXPECT_EQ(deal.allotted(1), -1);
  EXPECT_DOUBLE_EQ(deal.allotted(2), 100);
  deal.now += 100;
  EXPECT_EQ(deal.allotted(2), -1);
}

// One that needs four times what is usual used to be cut short though the others would never take their shares.
TEST(SearchBudget, WhatIsMoreThanAllOthersNeedIsForWhoeverNeedsIt) {
  const Deal deal(1000, {{1, 10, 100}, {1, 10, 100}, {1, 10, 100}});
  EXPECT_DOUBLE_EQ(deal.allotted(0), 800);
}

TEST(SearchBudget, ATrialThatIsWorthNothingGetsWhatIsLeft) {
  const Deal deal(1000, {{1, 10, 1e6}, {0, 10, 1e6}});
  EXPECT_DOUBLE_EQ(deal.allotted(0), 1000);
  EXPECT_DOUBLE_EQ(deal.allotted(1), 1000);
}

// A budget that was longer than the search used to end with time left over and trials cut short.
TEST(SearchBudget, WhatIsLeftOverAtTheEndIsForWhomItIsEnough) {
  Deal deal(1000, {{6, 1, 300}, {3, 1, 100}});
  deal.now += 800;
  EXPECT_EQ(deal.second(0), -1);
  EXPECT_DOUBLE_EQ(deal.second(1), 200);
  deal.now += 150;
  EXPECT_EQ(deal.second(1), -1);
}

// Trials that each take what they need, or what they get: no budget is passed, and none that suffices is felt.
TEST(SearchBudget, IsKeptByTrialsThatKeepToTheirShares) {
  std::vector<TrialEstimate> estimates;
  std::vector<double> needs;
  for (int i = 0; i < 60; ++i) {
    estimates.push_back({std::pow(0.9, i), 20, 250});
    needs.push_back(i % 7 == 3 ? 900 : 60);  // few take much longer than most
  }
  double needed = 0;
  for (const double need : needs) needed += need;
  for (const double budget : {100.0, 1000.0, 10'000.0, 60 * 250.0 + 900}) {
    Deal deal(budget, estimates);
    int whole = 0, cut = 0, left_out = 0;
    const double start = deal.now;
    for (size_t i = 0; i < needs.size(); ++i) {
      const double allotted = deal.allotted(i);
      if (allotted < 0) {
        ++left_out;
        continue;
      }
      ++(allotted < needs[i] ? cut : whole);
      deal.now += std::min(allotted, needs[i]);
    }
    EXPECT_LE(deal.now - start, budget + 1e-6);
    if (budget > needed) {
      EXPECT_EQ(whole, 60) << budget;
    } else {
      EXPECT_GT(cut + left_out, 0) << budget;
      EXPECT_GT(deal.now - start, 0.7 * budget);  // and it is used
    }
  }
}

TEST(HeaviestFirst, OrdersByWeightAndKeepsTheOrderOfEquals) {
  EXPECT_THAT(heaviest_first({{1, 0, 0}, {10, 0, 0}, {20, 0, 0}, {10, 0, 0}}), ElementsAre(2, 1, 3, 0));
}

TEST(EstimateTrial, WeighsWhatAllLayersOfTheWorkTake) {
  const StepSpec conv = conv_spec(64, 64, 56);
  const double one = estimate_trial(conv, 1, 5, 250e3).weight;
  EXPECT_DOUBLE_EQ(estimate_trial(conv, 3, 5, 250e3).weight, 3 * one);
  EXPECT_LT(estimate_trial(conv_spec(64, 64, 28), 1, 5, 250e3).weight, one);
  EXPECT_EQ(estimate_trial(conv, 3, 1, 250e3).weight, 0);  // nothing to choose from
}

// By operations alone, what waits for memory came last: a ConvTranspose to one channel, left to the guess, cost a
// network a tenth of its speed.
TEST(EstimateTrial, CountsTheTimeThatMemoryTakes) {
  const StepSpec copy = copy_spec({64, 56, 56}), conv = conv_spec(8, 8, 56);
  EXPECT_LT(work_of(copy), work_of(conv) / 5);
  EXPECT_GT(estimate_trial(copy, 1, 5, 250e3).weight, estimate_trial(conv, 1, 5, 250e3).weight);
}

TEST(EstimateTrial, CountsTheComparisonWithTheReferenceWhereThereIsOne) {
  const StepSpec checked = conv_spec(64, 64, 24), unchecked = conv_spec(64, 64, 28);
  ASSERT_LE(work_of(checked), kAlwaysCheckedWork);
  ASSERT_GT(work_of(unchecked), kAlwaysCheckedWork);
  EXPECT_GT(estimate_trial(checked, 1, 5, 250e3).least_us, 80e3);
  EXPECT_LT(estimate_trial(unchecked, 1, 5, 250e3).least_us, 50e3);
}

TEST(EstimateTrial, MoreCandidatesTakeLonger) {
  const StepSpec conv = conv_spec(64, 64, 56);
  EXPECT_GT(estimate_trial(conv, 1, 50, 250e3).full_us, estimate_trial(conv, 1, 5, 250e3).full_us);
  EXPECT_EQ(estimate_trial(conv, 1, 50, 250e3).least_us, estimate_trial(conv, 1, 5, 250e3).least_us);
  EXPECT_LT(estimate_trial(conv, 1, 1, 250e3).least_us, estimate_trial(conv, 1, 5, 250e3).least_us);
}

}  // namespace
}  // namespace planwright::tactics
