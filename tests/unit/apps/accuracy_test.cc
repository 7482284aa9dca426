// Builds in bf16 that are compared with fp32.
#include "apps/buildengine/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tactics/kernels/cpu.h"
#include "tests/support/built_engine.h"

namespace planwright::apps {
namespace {

using planwright::testing::GraphBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KeepAccuracyTest : public ::testing::Test {
 protected:
  // Four products, whose result is put through exp(gain * x).
  static GraphBuilder network(double gain, int64_t rows, int64_t columns, bool has_nan) {
    GraphBuilder b;
    ir::ValueId x = b.input("x", {rows, 64});
    for (const std::string name : {"a", "b", "c", "d"}) {
      const ir::ValueId product = b.matmul(name, x, b.weights("w" + name, {64, name == "d" ? columns : 64}));
      x = b.scalar(PwOp::kMul, name + "_scaled", product, 0.2);
    }
    b.output(b.unary(PwOp::kExp, "y", b.scalar(PwOp::kMul, "gained", x, gain)));
    if (has_nan) b.output(b.unary(PwOp::kSqrt, "nan", x));
    return b;
  }

  builder::BuildResult keep(double gain, double max_drop, int64_t rows = 32, int64_t columns = 64,
                            bool has_nan = false) {
    AccuracyRequest request;
    request.import = [=] { return std::move(network(gain, rows, columns, has_nan).graph); };
    const ir::Graph graph = request.import();
    request.options = planwright::testing::untimed_options(graph);
    request.options.search.bf16 = true;
    request.max_drop = max_drop;
    request.say = [&](const std::string& text) { said_ += text; };
    request.warn = [&](const std::string& text) { warned_ += text; };
    builder::BuildResult built = builder::build(request.import(), request.options);
    EXPECT_EQ(multiplies_in_bf16(built.plan), has_bf16_);
    EXPECT_EQ(built.contractions, 4);
    return keep_accuracy(request, std::move(built));
  }

  // Where the CPU does not multiply in bf16 all builds are in fp32, and there is nothing to keep.
  void expect_warning(const std::string& text) const {
    EXPECT_EQ(said_.empty(), has_bf16_);
    EXPECT_THAT(warned_, has_bf16_ ? ::testing::Matcher<std::string>(HasSubstr(text)) : IsEmpty());
  }

  const bool has_bf16_ = detect_isa() >= Isa::kAvx512Vnni;
  std::string said_, warned_;
};

TEST_F(KeepAccuracyTest, WhatIsCloseIsKept) {
  const builder::BuildResult kept = keep(0.1, 1e-3);
  EXPECT_EQ(multiplies_in_bf16(kept.plan), has_bf16_);
  EXPECT_THAT(said_, HasSubstr("y is off by "));
  EXPECT_THAT(warned_, IsEmpty());
  EXPECT_THAT(kept.plan.note, HasSubstr("bf16: on random inputs y is off by "));
}

// The last product alone is close enough, or more than it is.
TEST_F(KeepAccuracyTest, FirstProductsStayInFp32) {
  EXPECT_EQ(multiplies_in_bf16(keep(8, 1e-4).plan), has_bf16_);
  expect_warning("contractions stay in fp32");
  expect_warning("the first ");
}

// What is no number in fp32 says nothing of bf16.
TEST_F(KeepAccuracyTest, OutputsWithNaNAreNotCompared) {
  EXPECT_EQ(multiplies_in_bf16(keep(0.1, 1e-3, 32, 64, true).plan), has_bf16_);
  EXPECT_THAT(said_, HasSubstr("y is off by "));
  EXPECT_THAT(warned_, IsEmpty());
}

// A single element points where any other does.
TEST_F(KeepAccuracyTest, ASingleElementIsComparedByItsError) {
  keep(64, 1e-6, 1, 1);
  expect_warning("contractions stay in fp32");
}

TEST_F(KeepAccuracyTest, AllOfThemIfNeedBe) {
  EXPECT_FALSE(multiplies_in_bf16(keep(8, 0).plan));
  expect_warning("all of 4 contractions stay in fp32, which leaves ");
}

}  // namespace
}  // namespace planwright::apps
