#include "tactics/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::tactics {
namespace {

using testing::ElementsAre;
using testing::Ge;

// Contestants that take the given times plus a repeating disturbance, on a clock that they alone drive.
class MadeUp {
 public:
  explicit MadeUp(std::vector<double> times, std::vector<double> noise = {0})
      : times_(std::move(times)), noise_(std::move(noise)), runs_(times_.size()) {}

  std::vector<Measurement> race(const RaceRules& rules) {
    return tactics::race(
        static_cast<int>(times_.size()), rules,
        [this](int i) {
          const size_t contestant = static_cast<size_t>(i);
          const double noise = noise_[(step_++ * 7) % noise_.size()];
          const double took = times_[contestant] * (1 + noise);
          now_ += took;
          ++runs_[contestant];
          return took;
        },
        [this] { return now_; });
  }
  const std::vector<int>& runs() const { return runs_; }

 private:
  std::vector<double> times_, noise_;
  std::vector<int> runs_;
  size_t step_ = 0;
  double now_ = 0;
};

std::vector<Outcome> outcomes_of(const std::vector<Measurement>& results) {
  std::vector<Outcome> outcomes;
  for (const Measurement& result : results) outcomes.push_back(result.outcome);
  return outcomes;
}

TEST(Race, DropsTheClearlySlowerEarlyAndRunsTheRestAsOftenAsAsked) {
  MadeUp field({100, 1100, 104, 140});
  const std::vector<Measurement> results = field.race({8, 1e9});
  EXPECT_THAT(outcomes_of(results),
              ElementsAre(Outcome::kTimed, Outcome::kDropped, Outcome::kTimed, Outcome::kDropped));
  EXPECT_EQ(field.runs()[1], 1);
  EXPECT_LE(field.runs()[3], 4);
  EXPECT_GE(field.runs()[0], 8);
  EXPECT_EQ(winner_of(results), 0);
  EXPECT_FLOAT_EQ(results[0].time_us, 100);
  EXPECT_EQ(results[0].runs, field.runs()[0]);
}

TEST(Race, TakesTheFasterWhateverItsPlace) {
  const std::vector<double> noise{0, 0.01, -0.01, 0.02, -0.015};
  for (int fast = 0; fast < 4; ++fast) {
    std::vector<double> times(4, 120.0);
    times[static_cast<size_t>(fast)] = 100;
    EXPECT_EQ(winner_of(MadeUp(times, noise).race({8, 1e9})), fast);
  }
}

TEST(Race, OfEqualsTheLowestIndexWins) {
  const std::vector<double> noise{0, 0.03, -0.02, 0.01, -0.03, 0.02};
  EXPECT_EQ(winner_of(MadeUp({100.3, 100, 99.8, 100.1}, noise).race({8, 1e9})), 0);
}

TEST(Race, OneInterruptedRunDoesNotDecide) {
  int runs_of_first = 0;
  double now = 0;
  const std::vector<Measurement> results = race(
      2, {8, 1e9},
      [&](int i) {
        const double took = i == 0 && runs_of_first++ == 0 ? 250 : i == 0 ? 100 : 110;
        now += took;
        return took;
      },
      [&] { return now; });
  EXPECT_EQ(winner_of(results), 0);
}

TEST(Race, EndsWhenTimeIsUpWithThreeRunsOfTheBest) {
  MadeUp field({1e6, 1.02e6, 1.2e6, 11e6});
  const std::vector<Measurement> results = field.race({8, 1e5});
  EXPECT_THAT(field.runs(), ElementsAre(3, 3, Ge(1), 1));
  EXPECT_EQ(winner_of(results), 0);
}

TEST(Race, ALoneContestantIsTimedToo) {
  MadeUp field({50});
  EXPECT_THAT(outcomes_of(field.race({5, 1e9})), ElementsAre(Outcome::kTimed));
  EXPECT_THAT(field.runs(), ElementsAre(5));
}

TEST(Race, ADeadlineEndsItAsItStands) {
  MadeUp field({100, 80, 60});
  RaceRules rules{8, 1e9};
  rules.deadline_us = 150;  // in the second contestant's first run
  const std::vector<Measurement> cut = field.race(rules);
  EXPECT_THAT(outcomes_of(cut), ElementsAre(Outcome::kTimed, Outcome::kTimed, Outcome::kUntried));
  EXPECT_THAT(field.runs(), ElementsAre(1, 1, 0));
  EXPECT_EQ(winner_of(cut), 1);
}

TEST(Race, ADeadlineThatIsOverLeavesOneRun) {
  MadeUp field({100, 80});
  RaceRules rules{8, 1e9};
  rules.deadline_us = -1;
  EXPECT_EQ(winner_of(field.race(rules)), 0);
  EXPECT_THAT(field.runs(), ElementsAre(1, 0));
}

// Of single runs, 2.5 % say nothing.
TEST(Race, WhereADeadlineLeavesFewRunsTheBetterGuessStaysUnlessClearlySlower) {
  const auto winner = [](const std::vector<double>& times) {
    RaceRules rules{8, 1e9};
    rules.deadline_us = times[0] + times[1];
    return winner_of(MadeUp(times).race(rules));
  };
  EXPECT_EQ(winner({102.5, 100}), 0);
  EXPECT_EQ(winner({110, 100}), 1);
}

TEST(Race, ADeadlineThatDoesNotComeChangesNothing) {
  const std::vector<double> times{100, 1100, 104, 140}, noise{0, 0.01, -0.01, 0.02, -0.015};
  MadeUp free(times, noise), fenced(times, noise);
  RaceRules rules{8, 1e9};
  const std::vector<Measurement> without = free.race(rules);
  rules.deadline_us = 1e8;
  const std::vector<Measurement> with = fenced.race(rules);
  EXPECT_EQ(free.runs(), fenced.runs());
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(without[i].outcome, with[i].outcome);
    EXPECT_EQ(without[i].time_us, with[i].time_us);
  }
}

TEST(Race, AMachineThatIsSlowForAWhileDoesNotHideWhoIsFaster) {
  const std::vector<double> noise{0, 0.002, 0.3, -0.002, 0.25, 0.001, 0.28, 0, 0.3};
  EXPECT_EQ(winner_of(MadeUp({104, 100}, noise).race({8, 1e9})), 1);
}

TEST(Summarize, TheQuartileShrugsOffDisturbancesAndItsSpreadShrinksWithRuns) {
  std::vector<double> samples{100, 102, 98, 101, 99, 1000};
  const Measurement few = summarize(samples);
  EXPECT_FLOAT_EQ(few.time_us, 99.25);
  EXPECT_EQ(few.runs, 6);
  std::vector<double> more;
  for (int i = 0; i < 16; ++i) more.insert(more.end(), {100, 102, 98, 101, 99, 1000});
  const Measurement many = summarize(more);
  EXPECT_GT(few.spread, 0);
  EXPECT_LT(many.spread, few.spread / 2);
  std::vector<double> one{7};
  EXPECT_EQ(summarize(one).time_us, 7);
}

TEST(WinnerOf, IgnoresWhatMayNotBeChosen) {
  const Measurement fast_but_wrong{Outcome::kWrong, 1, 0, 8}, dropped{Outcome::kDropped, 2, 0, 1};
  const Measurement timed{Outcome::kTimed, 10, 0, 8}, untried{};
  EXPECT_EQ(winner_of({fast_but_wrong, dropped, timed}), 2);
  EXPECT_EQ(winner_of({fast_but_wrong, untried, untried}), 1);
  EXPECT_EQ(winner_of({fast_but_wrong, {Outcome::kCrashed}, {Outcome::kHung}, {Outcome::kFailed}}), -1);
  EXPECT_EQ(winner_of({}), -1);
}

TEST(WinnerOf, ASpreadHoweverWideIsWorthThreePercent) {
  const Measurement noisy{Outcome::kTimed, 104, 0.5f, 8}, best{Outcome::kTimed, 100, 0.5f, 8};
  EXPECT_EQ(winner_of({noisy, best}), 1);
  EXPECT_EQ(winner_of({{Outcome::kTimed, 102.5f, 0.5f, 8}, best}), 0);
  EXPECT_EQ(winner_of({{Outcome::kTimed, 102, 0.001f, 8}, {Outcome::kTimed, 100, 0.001f, 8}}), 1);
  EXPECT_EQ(winner_of({{Outcome::kTimed, 100.9f, 0.001f, 8}, {Outcome::kTimed, 100, 0.001f, 8}}), 0);
}

}  // namespace
}  // namespace planwright::tactics
