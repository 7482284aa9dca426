#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::SsaProgram;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::bytes_of;
using planwright::testing::GraphBuilder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OneHotTest : public ::testing::Test, public GraphBuilder {
 protected:
  // equal(index, numbers) as fp32.
  ValueId one_hot(const std::vector<int64_t>& numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    const ir::Shape dims{n_, count};
    ir::Node& made =
        node(OpKind::kPointwise, "rows", {index_, constant_int("numbers", {count}, numbers)}, NoParams{}, &dims);
    SsaProgram program;
    const ir::PwValue equal =
        program.binary(PwOp::kEqual, program.load(0, PwClass::kInt), program.load(1, PwClass::kInt));
    program.store(program.convert(equal, PwClass::kFloat));
    made.program = *program.to_program();
    return made.outputs[0];
  }
  std::string matched(ValueId id) {
    output(id);
    return after_pass(match_one_hot, graph, {{DType::kI64, {5, 1}, bytes_of<int64_t>({2, 0, -1, 3, 1})}});
  }

  ir::Dim n_ = symbol("rows", 1, 8);
  ValueId index_ = input("index", {n_, 1}, DType::kI64);
};

TEST_F(OneHotTest, TheProductIsAGatherAndAnIndexThatIsNoneGivesZeros) {
  const ValueId rows = one_hot({0, 1, 2});
  EXPECT_THAT(matched(matmul("y", rows, weights("table", {3, 4}))),
              AllOf(HasSubstr("%index/checked: int64[rows] = Pointwise(%index/flat) "
                              "[select.i(and.i(less_equal.i(0.i, in0.i), less.i(in0.i, 3.i)), in0.i, 3.i)]"),
                    HasSubstr("%y: fp32[rows, 4] = Gather(%table#2, %index/checked) {axis=0}")));
}

TEST_F(OneHotTest, OtherNumbersAreNoOneHot) {
  const ValueId rows = one_hot({0, 2, 1});
  EXPECT_EQ(matched(matmul("y", rows, weights("table", {3, 4}))), "unchanged");
}

TEST_F(OneHotTest, WhatIsDoneToRowsIsDoneToTheTable) {
  const ir::Dim n = symbol("rows", 1, 800);
  graph.value(index_).dims = {n};
  const ValueId gathered = add(OpKind::kGather, "gathered", {weights("table", {4, 3}), index_}, GatherParams{0});
  const ValueId y = binary(PwOp::kMul, "y", gathered, weights("scale", {1, 3}));
  output(y);
  EXPECT_THAT(after_pass(match_one_hot, graph, {{DType::kI64, {3}, bytes_of<int64_t>({2, 0, 1})}}),
              AllOf(HasSubstr("%table#2: fp32[4, 3] = Pointwise(%table, %scale#2) [mul(in0, in1)]"),
                    HasSubstr("%y: fp32[rows, 3] = Gather(%table#2, %index) {axis=0}")));
}

TEST_F(OneHotTest, ATableLargerThanWhatIsReadStays) {
  const ir::Dim n = symbol("rows", 1, 3);
  graph.value(index_).dims = {n};
  const ValueId gathered = add(OpKind::kGather, "gathered", {weights("table", {4, 3}), index_}, GatherParams{0});
  output(relu("y", gathered));
  EXPECT_EQ(after_pass(match_one_hot, graph, {{DType::kI64, {3}, bytes_of<int64_t>({2, 0, 1})}}), "unchanged");
}

}  // namespace
}  // namespace planwright::builder
