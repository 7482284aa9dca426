// How far an engine is off on samples held out, with labels and without.
#include "apps/buildengine/held_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "schemas/types/error.h"
#include "tests/support/built_engine.h"

namespace planwright::apps {
namespace {

using planwright::testing::GraphBuilder;
using ::testing::HasSubstr;

template <typename T>
ir::Tensor tensor(DType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  ir::Tensor made{type, std::move(dims), ir::Bytes(values.size() * sizeof(T))};
  std::memcpy(made.data.data(), values.data(), made.data.size());
  return made;
}

// y = x * factor, of two rows of three scores.
planfmt::PlanModel scaled(double factor) {
  GraphBuilder b;
  b.output(b.scalar(PwOp::kMul, "y", b.input("x", {2, 3}), factor));
  return builder::build(b.graph.copy(), planwright::testing::untimed_options(b.graph)).plan;
}

// Of two rows each; the largest are 2, 0 and 1, 1, the smallest 0, 2 and 2, 0.
std::vector<Tensors> samples(const std::vector<int64_t>& labels) {
  std::vector<Tensors> list(2);
  list[0]["x"] = tensor<float>(DType::kF32, {2, 3}, {-1, 0, 5, 3, 2, -4});
  list[1]["x"] = tensor<float>(DType::kF32, {2, 3}, {1, 4, -2, -7, 5, 4});
  if (labels.empty()) return list;
  list[0]["label"] = tensor<int64_t>(DType::kI64, {2}, {labels[0], labels[1]});
  list[1]["label"] = tensor<int64_t>(DType::kI64, {2}, {labels[2], labels[3]});
  return list;
}

TEST(HeldOut, LabelsCountWhatIsMissedMore) {
  const HeldOut held(samples({2, 0, 1, 0}), scaled(1), "label");
  EXPECT_EQ(held.drop_of(scaled(2)).value, 0);
  // Upside down only the last label is met.
  const Drop drop = held.drop_of(scaled(-1));
  EXPECT_EQ(drop.value, 0.75 - 0.25);
  EXPECT_EQ(held.words_for(drop), "on 2 held-out samples top-1 of output 'y' is 25.00 % (fp32 75.00 %)");
  // And fp32 may be the worse one.
  const HeldOut other(samples({0, 2, 2, 1}), scaled(1), "label");
  EXPECT_EQ(other.drop_of(scaled(-1)).value, 0.25 - 0.75);
}

TEST(HeldOut, WithoutLabelsOutputsAreCompared) {
  const HeldOut held(samples({}), scaled(1));
  const Drop drop = held.drop_of(scaled(1.1));
  EXPECT_NEAR(drop.value, 0.005, 1e-6);
  EXPECT_EQ(held.words_for(drop), "on 2 held-out samples output 'y' is off by 0.005 at most (L2 0.1)");
}

TEST(HeldOut, LabelsNeedARowOfScoresEach) {
  std::vector<Tensors> wrong = samples({2, 0, 1, 0});
  wrong[1]["label"] = tensor<int64_t>(DType::kI64, {1}, {1});
  try {
    const HeldOut held(std::move(wrong), scaled(1), "label");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a sample has 1 label and output 'y' is 2x3"));
  }
}

}  // namespace
}  // namespace planwright::apps
