// If, Loop and Scan: what of them is left after import, and what it computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ir::Tensor ints(const std::vector<int64_t>& dims, const std::vector<int64_t>& elements) {
  return tensor_of(DType::kI64, dims, elements);
}
ir::Tensor flag(bool value) { return tensor_of<uint8_t>(DType::kBool, {}, {static_cast<uint8_t>(value)}); }

bool has(const ir::Graph& graph, OpKind kind) {
  return std::any_of(graph.order().begin(), graph.order().end(),
                     [&](ir::NodeId id) { return graph.node(id).kind == kind; });
}

std::vector<std::vector<float>> outputs_of(const ir::Graph& graph, const std::vector<ir::Tensor>& inputs) {
  EXPECT_EQ(ir::verify(graph), "");
  std::vector<std::vector<float>> all;
  for (const ir::Tensor& output : ir::interpret(graph, inputs)) all.push_back(elements_of<float>(output));
  return all;
}

TEST(ImportIf, BranchesTakeWhatTheyReadFromAround) {
  const ir::Graph graph =
      import_text(13,
                  "(bool c, float[2] x) => (float[2] y, float[2] z) <float[2] w = {10, 20}> { t = Neg(x) "
                  "y, z = If(c) <then_branch = a () => (float[2] p, float[2] q) { p = Add(t, w) q = Identity(x) }, "
                  "else_branch = b () => (float[2] r, float[2] s) { s = Mul(x, x) r = Identity(w) }> }");
  EXPECT_TRUE(has(graph, OpKind::kIf));
  EXPECT_THAT(outputs_of(graph, {flag(true), floats({2}, {1, 2})}), ElementsAre(ElementsAre(9, 18), ElementsAre(1, 2)));
  EXPECT_THAT(outputs_of(graph, {flag(false), floats({2}, {1, 2})}),
              ElementsAre(ElementsAre(10, 20), ElementsAre(1, 4)));
}

TEST(ImportIf, BranchesMayDifferInTheLengthOfTheFirstAxis) {
  const ir::Graph graph = import_text(
      13,
      "(bool c, float[2] x) => (float[n] y, float[m] z) { y, z = If(c) <then_branch = a () => (float[2] p, float[k] q) "
      "{ "
      "p = Abs(x) i = NonZero(x) t = Cast<to = 1>(i) s = Constant<value_ints = [-1]>() q = Reshape(t, s) }, "
      "else_branch = b () => (float[4] r, float[0] e) { r = Concat<axis = 0>(x, x) "
      "e = Constant<value = float[0] {}>() }> }");
  EXPECT_THAT(outputs_of(graph, {flag(true), floats({2}, {0, -2})}), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(outputs_of(graph, {flag(true), floats({2}, {1, -2})}), ElementsAre(ElementsAre(1, 2), ElementsAre(0, 1)));
  EXPECT_THAT(outputs_of(graph, {flag(false), floats({2}, {1, 2})}), ElementsAre(ElementsAre(1, 2, 1, 2), IsEmpty()));
}

TEST(ImportIf, BranchesThatDifferInMoreAreRefused) {
  const Failure failure = import_failure(
      13,
      "(bool c, float[2, 1] x) => (float[n, m] y) { [choice] y = If(c) <then_branch = a () => (float[2, 1] p) "
      "{ p = Abs(x) }, else_branch = b () => (float[2, 2] q) { q = Concat<axis = 1>(x, x) }> }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
  EXPECT_TRUE(failure.mentions("choice (If") && failure.mentions("fp32[2, 1]") && failure.mentions("fp32[2, 2]"))
      << failure;
}

constexpr const char* kOneBranchFits =
    "(bool c, float[2] x) => (float[2] y) <float[3] w = {1, 2, 3}> { [choice] y = If(c) <then_branch = a () => "
    "(float[2] p) { p = Abs(x) }, else_branch = b () => (float[2] q) { [odd] q = Add(x, w) }> }";

TEST(ImportIf, ABranchThatCannotRunMustNotBeTaken) {
  const ir::Graph graph = import_text(13, kOneBranchFits);
  EXPECT_FALSE(has(graph, OpKind::kIf));
  ASSERT_EQ(graph.warnings.size(), 1u);
  EXPECT_THAT(graph.warnings[0], AllOf(HasSubstr("choice: else_branch cannot run"), HasSubstr("choice/odd")));
  EXPECT_THAT(outputs_of(graph, {flag(true), floats({2}, {-1, 2})}), ElementsAre(ElementsAre(1, 2)));
  try {
    ir::interpret(graph, {flag(false), floats({2}, {-1, 2})});
    ADD_FAILURE() << "it ran";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("choice"), HasSubstr("else_branch cannot run")));
  }
}

TEST(ImportIf, TwoBranchesThatCannotRunAreAnError) {
  std::string text = kOneBranchFits;
  text.replace(text.find("p = Abs(x)"), 10, "p = Mul(x, w)");
  const Failure failure = import_failure(13, text);
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("do not broadcast")) << failure;
}

TEST(ImportIf, WhatABranchCannotDoIsNamed) {
  const Failure failure =
      import_failure(13,
                     "(bool c, float[2] x) => (float[2] y) { [choice] y = If(c) <then_branch = a () => (float[2] p) "
                     "{ [odd] p = NoSuchOperator(x) }, else_branch = b () => (float[2] q) { q = Abs(x) }> }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
  EXPECT_TRUE(failure.mentions("choice/odd")) << failure;
}

constexpr const char* kAccumulate =
    "sum, rows = Loop(trips, yes, x) <body = b (int64 i, bool c, float[2] s) => (bool again, float[2] t, float[2] row) "
    "{ f = Cast<to = 1>(i) t = Add(s, f) row = Mul(t, w) again = Identity(c) }> }";

TEST(ImportLoop, AShortOneIsWrittenOut) {
  const ir::Graph graph = import_text(
      13, std::string("(float[2] x) => (float[2] sum, float[n, 2] rows) <int64 trips = {3}, bool yes = {1}, "
                      "float[2] w = {1, 2}> { ") +
              kAccumulate);
  EXPECT_FALSE(has(graph, OpKind::kLoop));
  EXPECT_THAT(outputs_of(graph, {floats({2}, {1, 2})}), ElementsAre(ElementsAre(4, 5), ElementsAre(1, 4, 2, 6, 4, 10)));
}

TEST(ImportLoop, ALongOneStaysALoop) {
  const ir::Graph graph = import_text(
      13, std::string("(float[2] x) => (float[2] sum, float[n, 2] rows) <int64 trips = {300}, bool yes = {1}, "
                      "float[2] w = {1, 2}> { ") +
              kAccumulate);
  EXPECT_TRUE(has(graph, OpKind::kLoop));
  const auto outputs = outputs_of(graph, {floats({2}, {1, 2})});
  EXPECT_THAT(outputs[0], ElementsAre(1 + 299 * 150, 2 + 299 * 150));
  ASSERT_EQ(outputs[1].size(), 600u);
  EXPECT_EQ(outputs[1][599], 2 * outputs[0][1]);
}

TEST(ImportLoop, ATripCountOfTheCallersAndAConditionEndIt) {
  const ir::Graph graph =
      import_text(13,
                  "(int64 trips, float[1] x) => (float[1] y) <bool yes = {1}, float[1] limit = {100}> { "
                  "y = Loop(trips, yes, x) <body = b (int64 i, bool c, float[1] s) => (bool[1] again, float[1] t) "
                  "{ t = Add(s, s) again = Less(t, limit) }> }");
  EXPECT_THAT(outputs_of(graph, {ints({}, {3}), floats({1}, {1})}), ElementsAre(ElementsAre(8)));
  EXPECT_THAT(outputs_of(graph, {ints({}, {30}), floats({1}, {1})}), ElementsAre(ElementsAre(128)));
  EXPECT_THAT(outputs_of(graph, {ints({}, {0}), floats({1}, {1})}), ElementsAre(ElementsAre(1)));
}

TEST(ImportLoop, WhatAConditionEndsStacksTheIterationsThatRan) {
  const std::string text =
      "(float[1] x) => (float[1] y, float[n, 1] all) <int64 trips = {300}, bool yes = {1}, float[1] limit = {100}> { "
      "y, all = Loop(trips, yes, x) <body = b (int64 i, bool c, float[1] s) => (bool[1] again, float[1] t, float[1] u) "
      "{ t = Add(s, s) u = Neg(t) again = Less(t, limit) }> }";
  const ir::Graph graph = import_text(13, text);
  EXPECT_THAT(outputs_of(graph, {floats({1}, {20})}), ElementsAre(ElementsAre(160), ElementsAre(-40, -80, -160)));
  EXPECT_THAT(outputs_of(graph, {floats({1}, {200})}), ElementsAre(ElementsAre(400), ElementsAre(-400)));
}

TEST(ImportLoop, OneThatNeverEndsIsInvalid) {
  const Failure failure = import_failure(
      13,
      "(float[1] x) => (float[1] y) { y = Loop(, , x) <body = b (int64 i, bool c, float[1] s) => (bool again, float[1] "
      "t) { t = Add(s, s) again = Identity(c) }> }");
  EXPECT_NE(failure.code, StatusCode::kOk) << failure;
}

TEST(ImportLoop, AStateThatGrowsIsRefusedUnlessItIsWrittenOut) {
  const std::string loop =
      "y = Loop(trips, , x) <body = b (int64 i, bool c, float[m] s) => (bool again, float[k] t) "
      "{ t = Concat<axis = 0>(s, x) again = Identity(c) }> }";
  const ir::Graph graph = import_text(13, "(float[1] x) => (float[n] y) <int64 trips = {2}> { " + loop);
  EXPECT_THAT(outputs_of(graph, {floats({1}, {7})}), ElementsAre(ElementsAre(7, 7, 7)));
  const Failure failure = import_failure(13, "(float[1] x, int64 trips) => (float[n] y) { " + loop);
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
  EXPECT_TRUE(failure.mentions("'t' is fp32[1] before an iteration, fp32[2] after it")) << failure;
}

TEST(ImportLoop, SlicesOfManyShapesCannotBeStacked) {
  const Failure failure = import_failure(
      13,
      "(float[400] x) => (float[n] y) <int64 trips = {300}, bool yes = {1}, int64[1] zero = {0}, int64[1] one = {1}> { "
      "y = Loop(trips, yes) <body = b (int64 i, bool c) => (bool again, float[m] part) "
      "{ j = Reshape(i, one) k = Add(j, one) part = Slice(x, zero, k) again = Identity(c) }> }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
  EXPECT_TRUE(failure.mentions("'part' has another shape")) << failure;
}

// Running sums along axis 1, backwards, with the sums stacked along axis 1 in their own order.
TEST(ImportScan, SlicesAndStacksAlongAnyAxisEitherWay) {
  const char* kScan =
      "s, y = Scan(zero, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], "
      "scan_output_axes = [-1], scan_output_directions = [1], body = b (float[2] a, float[2] e) => (float[2] t, "
      "float[2] r) "
      "{ t = Add(a, e) r = Identity(t) }> }";
  for (const char* length : {"3", "m"}) {
    const ir::Graph graph =
        import_text(13, std::string("(float[2, ") + length +
                            "] x) => (float[2] s, float[2, k] y) <float[2] zero = {0, 0}> { " + kScan);
    EXPECT_EQ(has(graph, OpKind::kLoop), *length == 'm');
    EXPECT_THAT(outputs_of(graph, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}),
                ElementsAre(ElementsAre(6, 15), ElementsAre(6, 5, 3, 15, 11, 6)));
  }
}

// Of two stacks the second was another value, or none.
TEST(ImportScan, SeveralStacksAreEachTheirOwn) {
  const char* kScan =
      "s, y, z = Scan(first, x) <num_scan_inputs = 1, scan_output_axes = [-1, 0], body = b (float[2] a, float[2] e) => "
      "(float[2] t, float[2] r, float[2] q) { t = Add(a, e) r = Neg(e) q = Abs(e) }> w = Add(s, first) }";
  for (const char* length : {"2", "m"}) {
    const ir::Graph graph = import_text(13, std::string("(float[") + length +
                                                ", 2] x) => (float[2, k] y, float[k, 2] z, float[2] w) "
                                                "<float[2] first = {10, 20}> { " +
                                                kScan);
    EXPECT_EQ(has(graph, OpKind::kLoop), *length == 'm');
    EXPECT_THAT(outputs_of(graph, {floats({2, 2}, {1, -2, 3, -4})}),
                ElementsAre(ElementsAre(-1, -3, 2, 4), ElementsAre(1, 2, 3, 4), ElementsAre(24, 34)));
  }
}

TEST(ImportLoop, StacksWithoutStateAreEachTheirOwn) {
  const ir::Graph graph =
      import_text(13,
                  "(float[2] x) => (float[2, 2] y, float[2, 2] z) <int64 trips = {2}, bool yes = {1}> { y, z = "
                  "Loop(trips, yes) <body = b (int64 i, "
                  "bool c) => (bool again, float[2] r, float[2] q) { again = Identity(c) r = Neg(x) q = Abs(x) }> }");
  EXPECT_THAT(outputs_of(graph, {floats({2}, {1, -2})}),
              ElementsAre(ElementsAre(-1, 2, -1, 2), ElementsAre(1, 2, 1, 2)));
}

// The lowest int64 overflowed where it was subtracted.
TEST(ImportScan, ACountOfScanInputsThatCannotBeIsInvalid) {
  for (const char* count : {"-9223372036854775808", "0", "2"}) {
    const Failure failure =
        import_failure(13, std::string("(float[2] x) => (float[2] y) { [odd] y = Scan(x) <num_scan_inputs = ") + count +
                               ", body = b (float e) => (float r) { r = Identity(e) }> }");
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("odd")) << failure;
  }
}

// What is read past the operators' own checks: they crashed.
TEST(ImportScan, AnInputThatIsNotGivenIsInvalid) {
  for (const auto& [inputs, mentioned] : {std::pair("x, ", "odd"), std::pair(", x", "input 0")}) {
    const Failure failure =
        import_failure(13, std::string("(float[2] x) => (float[2] y) { [odd] s, y = Scan(") + inputs +
                               ") <num_scan_inputs = 1, body = b (float[2] a, float e) => (float[2] t, float r) "
                               "{ t = Identity(a) r = Identity(e) }> }");
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("odd")) << failure;
    EXPECT_TRUE(failure.mentions(mentioned)) << failure;
  }
}

TEST(ImportSequences, ASequenceWhereATensorIsNeededIsInvalid) {
  const Failure failure =
      import_failure(17,
                     "(float[5] x) => (float[n] y) <int64 two = {2}> { parts = SplitToSequence<axis = 0>(x, two) "
                     "[odd] more = SplitToSequence<axis = 0>(x, parts) y = ConcatFromSequence<axis = 0>(more) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("odd")) << failure;
}

// ---- Sequences and optionals

TEST(ImportSequences, WhatIsSplitIsMappedAndJoined) {
  const ir::Graph graph = import_text(
      17,
      "(float[5] x) => (float[n] y, float[2] last) <int64 two = {2}, int64 back = {-1}, int64 front = {0}> { "
      "parts = SplitToSequence<axis = 0>(x, two) one = SequenceAt(parts, back) twice = Concat<axis = 0>(one, one) "
      "fewer = SequenceErase(parts) more = SequenceInsert(fewer, twice, front) "
      "mapped = SequenceMap(more, two) <body = b (float[2] p, int64 k) => (float[2] q) { q = Neg(p) }> "
      "y = ConcatFromSequence<axis = 0>(mapped) last = SequenceAt(mapped, back) }");
  EXPECT_THAT(outputs_of(graph, {floats({5}, {1, 2, 3, 4, 5})}),
              ElementsAre(ElementsAre(-5, -5, -1, -2, -3, -4), ElementsAre(-3, -4)));
}

TEST(ImportSequences, ALoopThatIsWrittenOutMayCarryOne) {
  const ir::Graph graph = import_text(
      17,
      "(float[2] x) => (float[n, 2] y, int64 length) <int64 trips = {3}> { empty = SequenceEmpty() "
      "all = Loop(trips, , empty) <body = b (int64 i, bool c, seq(float[2]) s) => (bool again, seq(float[2]) t) "
      "{ f = Cast<to = 1>(i) e = Add(x, f) t = SequenceInsert(s, e) again = Identity(c) }> "
      "y = ConcatFromSequence<axis = 0, new_axis = 1>(all) length = SequenceLength(all) }");
  const auto outputs = ir::interpret(graph, {floats({2}, {1, 2})});
  EXPECT_THAT(elements_of<float>(outputs[0]), ElementsAre(1, 2, 2, 3, 3, 4));
  EXPECT_THAT(elements_of<int64_t>(outputs[1]), ElementsAre(3));
}

TEST(ImportSequences, OptionalsAreSeenThrough) {
  const ir::Graph graph =
      import_text(18,
                  "(float[2] x) => (float[2] y, bool there) { o = Optional(x) y = OptionalGetElement(o) "
                  "there = OptionalHasElement(o) }");
  const auto outputs = ir::interpret(graph, {floats({2}, {1, 2})});
  EXPECT_THAT(elements_of<float>(outputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(elements_of<uint8_t>(outputs[1]), ElementsAre(1));
}

TEST(ImportSequences, APositionKnownOnlyAtRunTimeIsRefused) {
  const Failure failure = import_failure(
      17, "(float[4] x, int64 at) => (float[n] y) { parts = SplitToSequence(x) [pick] y = SequenceAt(parts, at) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
  EXPECT_TRUE(failure.mentions("pick") && failure.mentions("position")) << failure;
}

TEST(ImportSequences, ASequenceWhereATensorIsMeantIsRefused) {
  const Failure failure =
      import_failure(17, "(float[4] x) => (float[n] y) { parts = SplitToSequence(x) [odd] y = Relu(parts) }");
  EXPECT_TRUE(failure.mentions("odd") && failure.mentions("takes a sequence")) << failure;
}

TEST(ImportSequences, APlaceOutsideASequenceIsInvalid) {
  const Failure failure = import_failure(
      17, "(float[4] x) => (float[n] y) <int64 at = {4}> { parts = SplitToSequence(x) y = SequenceAt(parts, at) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("position 4 is not in a sequence of 4")) << failure;
}

// It used to be built, into an engine that cannot be opened.
TEST(ImportSequences, TensorsOfTwoTypesAreNoSequence) {
  for (const char* made :
       {"s = SequenceConstruct(x, h)", "e = SequenceEmpty() one = SequenceInsert(e, x) s = SequenceInsert(one, h)",
        "two = SplitToSequence(x) s = SequenceInsert(two, h)"}) {
    const Failure failure = import_failure(17, std::string("(float[2] x, float16[2] h) => (float[n] y) { ") + made +
                                                   " y = ConcatFromSequence<axis = 0>(s) }");
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("a sequence of fp32 and fp16")) << failure;
  }
}

TEST(ImportSequences, SequencesAreNoSequence) {
  const Failure failure = import_failure(
      17,
      "(float[4] x) => (int64 y) { parts = SplitToSequence(x) [odd] all = SequenceMap(parts) "
      "<body = b (float[1] p) => (seq(float[1]) q) { q = SequenceConstruct(p, p) }> y = SequenceLength(all) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("odd") && failure.mentions("a sequence of sequences")) << failure;
}

TEST(ImportSequences, PlacesAndLengthsAreIntegers) {
  for (const char* node : {"parts = SplitToSequence(x) y = SequenceAt(parts, one)",
                           "parts = SplitToSequence(x, one) y = ConcatFromSequence<axis = 0>(parts)"}) {
    const Failure failure =
        import_failure(17, std::string("(float[4] x) => (float[n] y) <float one = {1}> { ") + node + " }");
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("is fp32, not int32 or int64")) << failure;
  }
}

// They used to be read past the end of the shorter shape.
TEST(ImportSequences, TensorsOfSeveralRanksAreNotJoined) {
  for (const char* axis : {"<axis = -1, new_axis = 1>", "<axis = 1>"}) {
    const Failure failure = import_failure(
        17, std::string("(float[2, 3, 4] x, float[2, 3] z) => (float[a, b, c, d] y) { s = SequenceConstruct(x, z) "
                        "[odd] y = ConcatFromSequence") +
                axis + "(s) }");
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("odd") && failure.mentions("joins tensors of 3 and 2 axes")) << failure;
  }
}

TEST(ImportSequences, APartHasNoNegativeLength) {
  const Failure failure =
      import_failure(17,
                     "(float[4] x) => (float[n] y) <int64[2] lengths = {5, -1}> { [odd] parts = SplitToSequence(x, "
                     "lengths) y = ConcatFromSequence<axis = 0>(parts) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("odd") && failure.mentions("a part of -1 elements")) << failure;
}

}  // namespace
}  // namespace planwright::builder
