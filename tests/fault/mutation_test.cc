// L4: random damage under right checksums. Whatever opens must also run without leaving its memory, which the sanitizer
// builds watch.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/control_plan.h"
#include "tests/support/exercise.h"
#include "tests/support/loaded.h"
#include "tests/support/reseal.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

// Values that bounds checks get wrong.
uint64_t interesting(std::mt19937& random, uint64_t old) {
  switch (random() % 8) {
    case 0: return 0;
    case 1: return ~uint64_t{0};
    case 2: return old + 1;
    case 3: return old - 1;
    case 4: return uint64_t{1} << random() % 64;
    case 5: return (uint64_t{1} << random() % 64) - 1;
    case 6: return random() % 16;
    default: return old ^ uint64_t { 1 } << random() % 64;
  }
}

void mutate(std::mt19937& random, char* plan, size_t plan_bytes) {
  const size_t width = size_t{1} << random() % 4;
  const size_t at = random() % (plan_bytes / width) * width;
  uint64_t value = 0;
  memcpy(&value, plan + at, width);
  value = interesting(random, value);
  memcpy(plan + at, &value, width);
}

void exercise_mutants(const planfmt::PlanModel& plan, int count) {
  const std::vector<char> sound = tests::engine_bytes(plan);
  const planfmt::FileHeader header = tests::header_of(sound);
  std::mt19937 random(20240607);
  int opened = 0, ran = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<char> bytes = sound;
    for (uint64_t mutations = 1 + random() % 3; mutations > 0; --mutations) {
      mutate(random, bytes.data() + header.plan_offset, header.plan_bytes);
    }
    tests::reseal(&bytes);
    tests::Aligned copy(bytes);
    const tests::Exercised result = tests::exercise(copy.data(), copy.size());
    opened += result.opened;
    ran += result.runs > 0;
  }
  // Names, times and tactics may change without harm; most other changes must be seen.
  EXPECT_GT(opened, count / 100);
  EXPECT_LT(opened, count / 2);
  EXPECT_GT(ran, 0);
}

TEST(Mutation, OfASmallPlan) { exercise_mutants(tests::matmul_relu_plan().plan, 20'000); }

TEST(Mutation, OfAPlanWithEveryKindOfStep) { exercise_mutants(tests::many_steps_plan().plan, 20'000); }

TEST(Mutation, OfAPlanWithBodies) { exercise_mutants(tests::control_plan(true).plan, 20'000); }

}  // namespace
}  // namespace planwright
