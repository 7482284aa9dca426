// TreeEnsemble by hand, and what it does with nodes that name what is not there.
#include <gtest/gtest.h>

#include <limits>

#include "tactics/kernels/registry.h"
#include "tests/support/kernel_harness.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_elements;
using testing::KernelCase;
using testing::TestTensor;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kLeaf = static_cast<double>(TreeMode::kLeaf);

double mode(TreeMode value) { return static_cast<double>(value); }
TestTensor f32(const std::vector<double>& elements) {
  return TestTensor::of(DType::kF32, {static_cast<int64_t>(elements.size())}, elements);
}
TestTensor i64(const std::vector<double>& elements) {
  return TestTensor::of(DType::kI64, {static_cast<int64_t>(elements.size())}, elements);
}

// Rows of one feature in a forest whose nodes are rows of seven numbers.
struct Forest {
  std::vector<double> roots = {0}, nodes, splits = {0}, members = {}, votes = {0, 0}, weights = {1, 2};
  TreeEnsembleParams params = {};

  KernelCase of(const std::vector<double>& x) const {
    const auto rows = static_cast<int64_t>(x.size()), count = static_cast<int64_t>(nodes.size()) / kTreeNodeColumns;
    return KernelCase::of(OpKind::kTreeEnsemble,
                          {TestTensor::of(DType::kF32, {rows, 1}, x), i64(roots),
                           TestTensor::of(DType::kI64, {count, kTreeNodeColumns}, nodes), f32(splits), f32(members),
                           i64(votes), f32(weights)},
                          {TestTensor(DType::kF32, {rows, params.targets})})
        .with(params);
  }
};

// Where the node says yes the vote is 1, else 2.
Forest stump(TreeMode branch, bool missing_is_yes = false) {
  Forest forest;
  forest.nodes = {mode(branch), 0, 1, 2, 0, 0, missing_is_yes ? 1.0 : 0.0,  //
                  kLeaf,        0, 0, 0, 0, 1, 0,                           //
                  kLeaf,        0, 0, 0, 1, 2, 0};
  return forest;
}

Status run(const KernelCase& c) { return run_kernel(reference_kernel(c.op), c); }

void expect_output(const KernelCase& c, const std::vector<double>& expected) {
  ASSERT_TRUE(run(c).ok()) << last_error();
  expect_elements(c.outputs[0], expected);
}

TEST(ReferenceTreeEnsemble, BranchesInEveryMode) {
  const std::vector<double> x = {-1, 0, 1, kNan};
  expect_output(stump(TreeMode::kLessEqual).of(x), {1, 1, 2, 2});
  expect_output(stump(TreeMode::kLess).of(x), {1, 2, 2, 2});
  expect_output(stump(TreeMode::kGreaterEqual).of(x), {2, 1, 1, 2});
  expect_output(stump(TreeMode::kGreater).of(x), {2, 2, 1, 2});
  expect_output(stump(TreeMode::kEqual).of(x), {2, 1, 2, 2});
  expect_output(stump(TreeMode::kNotEqual).of(x), {1, 2, 1, 1});
  expect_output(stump(TreeMode::kLess, true).of(x), {1, 2, 2, 1});
  Forest member = stump(TreeMode::kMember);
  member.members = {5, 1, -1};
  member.nodes[4] = 1;  // members [1, 3)
  member.nodes[5] = 3;
  expect_output(member.of({-1, 0, 1, 5, kNan}), {1, 2, 1, 2, 2});
}

TEST(ReferenceTreeEnsemble, JoinsTreesAsAsked) {
  Forest forest = stump(TreeMode::kLess);
  forest.roots = {0, 1, 2};  // leaves are trees too
  const auto with = [&](TreeAggregate aggregate) {
    forest.params.aggregate = aggregate;
    return forest.of({-1, 1});
  };
  expect_output(with(TreeAggregate::kSum), {4, 5});
  expect_output(with(TreeAggregate::kMin), {1, 1});
  expect_output(with(TreeAggregate::kMax), {2, 2});
  forest.weights = {3, 6};
  expect_output(with(TreeAggregate::kAverage), {4, 5});
  forest.params.targets = 2;  // what nobody votes for is 0
  expect_output(with(TreeAggregate::kMin), {3, 0, 3, 0});
}

TEST(ReferenceTreeEnsemble, NeverFollowsALinkThatLeadsNowhere) {
  const auto breaks = [](size_t number, double value) {
    Forest forest = stump(TreeMode::kLess);
    forest.nodes[number] = value;
    return run(forest.of({-1, 1})).code() == StatusCode::kPrecondition;
  };
  EXPECT_TRUE(breaks(0, 8));  // an unknown mode
  EXPECT_TRUE(breaks(0, -1));
  EXPECT_TRUE(breaks(1, 1));  // a feature
  EXPECT_TRUE(breaks(1, -1));
  EXPECT_TRUE(breaks(2, 3));  // a node
  EXPECT_TRUE(breaks(2, 0));  // a circle
  EXPECT_TRUE(breaks(3, -1));
  EXPECT_TRUE(breaks(4, 1));   // a split
  EXPECT_TRUE(breaks(12, 3));  // votes
  EXPECT_TRUE(breaks(11, -1));
  Forest forest = stump(TreeMode::kLess);
  forest.votes = {0, 1};
  EXPECT_EQ(run(forest.of({1})).code(), StatusCode::kPrecondition);
  forest = stump(TreeMode::kLess);
  forest.roots = {3};
  EXPECT_EQ(run(forest.of({1})).code(), StatusCode::kPrecondition);
}

TEST(ReferenceTreeEnsemble, RefusesArraysThatDoNotFit) {
  const auto refuses = [](const KernelCase& c) { return !validate_case(reference_kernel(c.op), c).ok(); };
  Forest forest = stump(TreeMode::kLess);
  forest.weights = {1};
  EXPECT_TRUE(refuses(forest.of({1})));
  forest = stump(TreeMode::kLess);
  forest.params.targets = 0;
  EXPECT_TRUE(refuses(forest.of({1})));
  KernelCase c = stump(TreeMode::kLess).of({1});
  c.inputs[1] = f32({0});
  EXPECT_TRUE(refuses(c));
}

}  // namespace
}  // namespace planwright
