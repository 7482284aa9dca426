#include "tactics/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tactics/contest.h"
#include "tactics/kernels/registry.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

using testing::ElementsAre;
using testing::Pair;

KernelDescriptor kernel(const char* name) {
  return {name, 1, OpKind::kCopy, Isa::kBaseline, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
}

const KernelDescriptor kFirst = kernel("first"), kSecond = kernel("second"), kThird = kernel("third");

class Explain : public testing::Test {
 protected:
  Explain() {
    contest_.spec = &spec_;
    contest_.candidates = {
        {&kFirst, {}}, {&kSecond, {{8, 0, 2}}}, {&kThird, {}}, {&reference_kernel(OpKind::kCopy), {}}};
    contest_.tried = {contest_.candidates.begin(), contest_.candidates.end() - 1};
  }

  // "NAME TIME: REMARK" of each tactic, the chosen one with a * before it.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const ExplainedTactic& tactic : explain(contest_, "copy_me", contest_.chosen).tactics) {
      lines.push_back((tactic.is_chosen ? "*" : "") + tactic.name + " " +
                      std::to_string(static_cast<int>(tactic.time_us)) + ": " + tactic.remark);
    }
    return lines;
  }

  StepSpec spec_ = copy_spec({4, 4});
  Contest contest_;
};

TEST_F(Explain, SaysWhatBecameOfEachTactic) {
  contest_.basis = Basis::kTimed;
  contest_.measurements = {{Outcome::kCrashed}, {Outcome::kTimed, 10, 0.01f, 8}, {Outcome::kDropped, 30, 0, 2}};
  contest_.reasons = {"Segmentation fault", "", ""};
  contest_.chosen = 1;
  EXPECT_THAT(lines(),
              ElementsAre("*second {8, 0, 2} 10: ", "third 30: clearly slower, dropped after 2 runs",
                          "first 0: crashed (Segmentation fault)", "reference_copy 0: the last resort, never timed"));
  EXPECT_EQ(explain(contest_, "copy_me", contest_.chosen).basis, "timed");
  EXPECT_EQ(explain(contest_, "copy_me", contest_.chosen).op, "Copy");
}

TEST_F(Explain, SaysWhyAFasterOneWasNotTaken) {
  contest_.basis = Basis::kCache;
  contest_.measurements = {{Outcome::kTimed, 100, 0.01f, 8}, {Outcome::kTimed, 99.5, 0.01f, 8}, {Outcome::kWrong}};
  EXPECT_THAT(lines(),
              ElementsAre("second {8, 0, 2} 99: ", "*first 100: as fast within the noise, and the better guess",
                          "third 0: differs from the reference (known from the timing cache)",
                          "reference_copy 0: the last resort, never timed"));
  EXPECT_EQ(explain(contest_, "copy_me", contest_.chosen).basis, "times from the timing cache");
}

TEST_F(Explain, SaysWhereTheFastestHasTooLargeWeights) {
  contest_.basis = Basis::kTimed;
  contest_.measurements = {{Outcome::kTimed, 10, 0.01f, 8}, {Outcome::kTimed, 20, 0.01f, 8}, {Outcome::kWrong}};
  const std::vector<ExplainedTactic> tactics = explain(contest_, "copy_me", 1).tactics;
  EXPECT_FALSE(tactics[0].is_chosen);
  EXPECT_TRUE(tactics[1].is_chosen);
  EXPECT_EQ(tactics[1].remark, "of smaller weights, which would take too much memory in all");
}

TEST_F(Explain, SaysWhatTheBudgetLeftOut) {
  contest_.basis = Basis::kCutShort;
  contest_.measurements = {{Outcome::kTimed, 100, 0.05f, 1}, {}, {}};
  EXPECT_THAT(lines(),
              ElementsAre("*first 100: ", "second {8, 0, 2} 0: not timed: the layer's share of --budget was spent",
                          "third 0: not timed: the layer's share of --budget was spent", testing::_));
  contest_.basis = Basis::kNoBudget;
  contest_.measurements.reset();
  EXPECT_THAT(lines(), ElementsAre("*first 0: ", "second {8, 0, 2} 0: ", "third 0: ", testing::_));
  EXPECT_EQ(explain(contest_, "copy_me", contest_.chosen).basis,
            "not timed, --budget was spent: the first one is taken");
}

TEST_F(Explain, SaysWhatMaxTacticsLeftOut) {
  contest_.basis = Basis::kTimed;
  contest_.tried.resize(1);
  contest_.measurements = {{Outcome::kTimed, 10, 0.01f, 8}};
  EXPECT_THAT(lines(), ElementsAre("*first 10: ", "second {8, 0, 2} 0: not among the first 1 (--maxTactics)",
                                   "third 0: not among the first 1 (--maxTactics)",
                                   "reference_copy 0: the last resort, never timed"));
}

TEST_F(Explain, NamesTheLayerWhoseWorkIsTheSame) {
  EXPECT_EQ(explain(contest_, "copy_too", contest_.chosen).basis,
            "not timed at level 0: the first one is taken; the same work as layer copy_me");
  EXPECT_EQ(explain(contest_, "copy_too", contest_.chosen).layer, "copy_too");
}

TEST_F(Explain, GroupsRefusalsByTheirReason) {
  contest_.refusals = {{&kFirst, "too wide"}, {&kSecond, "too tall"}, {&kSecond, "too wide"}, {&kSecond, "too wide"}};
  EXPECT_THAT(explain(contest_, "copy_me", contest_.chosen).refused_by,
              ElementsAre(Pair("too wide", "first, second"), Pair("too tall", "second")));
}

}  // namespace
}  // namespace planwright::tactics
