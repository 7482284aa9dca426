#include "tactics/trial_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "schemas/types/error.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

using testing::HasSubstr;

Status accept(const KernelArgs&) { return kOkStatus; }

Status copy(const KernelArgs& args) {
  std::memcpy(args.outputs[0].data, args.inputs[0].data,
              static_cast<size_t>(element_count(args.inputs[0])) * sizeof(float));
  return kOkStatus;
}
Status copy_slowly(const KernelArgs& args) {
  usleep(2000);
  return copy(args);
}
Status copy_all_but_the_last(const KernelArgs& args) {
  std::memcpy(args.outputs[0].data, args.inputs[0].data,
              static_cast<size_t>(element_count(args.inputs[0]) - 1) * sizeof(float));
  return kOkStatus;
}
Status crash(const KernelArgs&) {
  raise(SIGSEGV);
  return kOkStatus;
}
Status write_past_the_end(const KernelArgs& args) {
  std::memset(args.outputs[0].data, 0, static_cast<size_t>(element_count(args.outputs[0])) * sizeof(float) + 64);
  return kOkStatus;
}
Status hang(const KernelArgs&) {
  for (;;) pause();
}
Status leave(const KernelArgs&) { _exit(0); }
Status fail(const KernelArgs&) { return error(StatusCode::kPrecondition, "not today"); }
// Whoever runs it first waits from the second run on for another's, which may be slow to come on a busy machine.
int waits_for_company = 0;  // of 100 us
Status copy_in_company_later(const KernelArgs& args) {
  static const std::thread::id first = std::this_thread::get_id();
  static std::atomic<int> runs{0}, runs_of_others{0};
  copy(args);
  if (std::this_thread::get_id() != first) {
    ++runs_of_others;
    return kOkStatus;
  }
  if (runs++ == 0) return kOkStatus;
  const int before = runs_of_others;
  for (int i = 0; i < waits_for_company && runs_of_others == before; ++i) usleep(100);
  return runs_of_others != before ? kOkStatus : error(StatusCode::kPrecondition, "alone");
}
Status crash_the_third_time(const KernelArgs& args) {
  static int runs = 0;
  return ++runs == 3 ? crash(args) : copy(args);
}

KernelDescriptor kernel(const char* name, Status (*run)(const KernelArgs&)) {
  return {name, 1, OpKind::kCopy, Isa::kBaseline, 0, accept, nullptr, nullptr, nullptr, nullptr, run, nullptr};
}

class TrialProcess : public testing::Test {
 protected:
  TrialResult try_kernels(const std::vector<KernelDescriptor>& kernels, const TrialWatch& watch) {
    std::vector<Candidate> candidates;
    for (const KernelDescriptor& descriptor : kernels) candidates.push_back({&descriptor, {}});
    return try_candidates(copy_spec({4, 64}), candidates, {.contexts = contexts_, .race = {3, 20e3}}, watch);
  }
  TrialResult try_kernels(const std::vector<KernelDescriptor>& kernels) { return try_kernels(kernels, TrialWatch()); }

  int contexts_ = 1;
};

TEST_F(TrialProcess, TimesThoseThatAgree) {
  const TrialResult result = try_kernels({kernel("slow", copy_slowly), kernel("fast", copy)});
  EXPECT_EQ(winner_of(result.measurements), 1);
  EXPECT_EQ(result.measurements[1].outcome, Outcome::kTimed);
  EXPECT_GE(result.measurements[1].runs, 3);
  EXPECT_GT(result.measurements[1].time_us, 0);
  EXPECT_EQ(result.measurements[0].outcome, Outcome::kDropped);
  EXPECT_GT(result.measurements[0].time_us, 1500);
  EXPECT_EQ(result.reasons[0], "");
}

// The first run, which is compared and not timed, is alone.
TEST_F(TrialProcess, OtherContextsRunMeanwhile) {
  contexts_ = 2;
  waits_for_company = 20'000;
  const TrialResult result = try_kernels({kernel("fast", copy), kernel("sociable", copy_in_company_later)});
  EXPECT_TRUE(is_usable(result.measurements[0].outcome)) << result.reasons[0];
  EXPECT_TRUE(is_usable(result.measurements[1].outcome)) << result.reasons[1];
  contexts_ = 1;
  waits_for_company = 10;
  EXPECT_EQ(try_kernels({kernel("fast", copy), kernel("sociable", copy_in_company_later)}).measurements[1].outcome,
            Outcome::kFailed);
}

// FAULTS B25: whatever one candidate does, it is excluded with a reason and the others are timed.
TEST_F(TrialProcess, ExcludesWhatMisbehaves) {
  struct Case {
    Status (*run)(const KernelArgs&);
    Outcome outcome;
    const char* reason;
  };
  const Case cases[] = {
      {crash, Outcome::kCrashed, "Segmentation fault"},
      {crash_the_third_time, Outcome::kCrashed, "Segmentation fault"},
      {write_past_the_end, Outcome::kCrashed, ""},
      {leave, Outcome::kCrashed, "exit status 0"},
      {copy_all_but_the_last, Outcome::kWrong, "1 of 256 elements differ"},
      {fail, Outcome::kFailed, "not today"},
  };
  for (const Case& test : cases) {
    const TrialResult result = try_kernels({kernel("bad", test.run), kernel("good", copy)});
    EXPECT_EQ(result.measurements[0].outcome, test.outcome) << test.reason;
    EXPECT_THAT(result.reasons[0], HasSubstr(test.reason));
    EXPECT_EQ(result.measurements[1].outcome, Outcome::kTimed) << test.reason;
  }
}

TEST_F(TrialProcess, ExcludesWhatHangs) {
  TrialWatch watch;
  watch.hang_seconds = 0.5;
  const TrialResult result = try_kernels({kernel("bad", hang), kernel("good", copy), kernel("bad_too", hang)}, watch);
  EXPECT_EQ(result.measurements[0].outcome, Outcome::kHung);
  EXPECT_EQ(result.measurements[1].outcome, Outcome::kTimed);
  EXPECT_EQ(result.measurements[2].outcome, Outcome::kHung);
}

TEST_F(TrialProcess, ADeadlineThatIsOverLeavesOneCandidateTimed) {
  const KernelDescriptor kernels[] = {kernel("bad", crash), kernel("first", copy), kernel("second", copy)};
  const std::vector<Candidate> candidates{{&kernels[0], {}}, {&kernels[1], {}}, {&kernels[2], {}}};
  TrialRules rules{.race = {3, 20e3}};
  EXPECT_FALSE(try_candidates(copy_spec({4, 64}), candidates, rules, TrialWatch()).cut_short);
  rules.race.deadline_us = 0;
  const TrialResult result = try_candidates(copy_spec({4, 64}), candidates, rules, TrialWatch());
  EXPECT_TRUE(result.cut_short);
  EXPECT_EQ(result.measurements[0].outcome, Outcome::kCrashed);
  EXPECT_EQ(result.measurements[1].outcome, Outcome::kTimed);
  EXPECT_EQ(result.measurements[1].runs, 1);
  EXPECT_EQ(result.measurements[2].outcome, Outcome::kUntried);
}

TEST_F(TrialProcess, AllMayBeExcluded) {
  const TrialResult result = try_kernels({kernel("bad", crash), kernel("worse", crash)});
  EXPECT_EQ(winner_of(result.measurements), -1);
}

// FAULTS B24: within a second, though a kernel hangs.
TEST_F(TrialProcess, StopsAtOnceWhenCancelled) {
  TrialWatch watch;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  watch.cancelled = [&] { return elapsed() > 0.1; };
  try {
    try_kernels({kernel("bad", hang)}, watch);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kCancelled);
  }
  EXPECT_LT(elapsed(), 1);
}

TEST_F(TrialProcess, LeavesNoChildBehind) {
  try_kernels({kernel("bad", crash), kernel("good", copy)});
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace planwright::tactics
