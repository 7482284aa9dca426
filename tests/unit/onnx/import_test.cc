// The importer as a whole: symbols, guards, functions, what is refused and how (FAULTS B14, B17).
#include "builder/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string output_dims(const ir::Graph& graph) { return ir::to_string(graph.value(graph.outputs.at(0)).dims); }

// ---- Symbols

TEST(ImportSymbols, DimsOfOneNameShareASymbol) {
  ir::Graph graph = import_text(13, "(float[n, 4] a, float[n, 4] b) => (float[n, 4] y) { y = Add(a, b) }");
  EXPECT_EQ(graph.exprs().symbols().size(), 1u);
  EXPECT_TRUE(graph.guards.empty());
}

TEST(ImportSymbols, DimsOfOtherNamesAreGuardedWhereTheyMeet) {
  ir::Graph graph = import_text(13, "(float[n, 4] a, float[m, 4] b) => (float[n, 4] y) { y = Add(a, b) }");
  EXPECT_EQ(graph.exprs().symbols().size(), 2u);
  ASSERT_EQ(graph.guards.size(), 1u);
  EXPECT_EQ(graph.guards[0].layer, "y");
  const ir::Tensor one = floats({1, 4}, {1, 2, 3, 4}), two = floats({2, 4}, std::vector<float>(8));
  EXPECT_EQ(failure_of([&] { ir::interpret(graph, {one, two}); }).code, StatusCode::kInvalid);
}

TEST(ImportSymbols, NamesThatNameNothingShareNothing) {
  onnx::ModelProto proto = proto_of(13, "(float[p, q] x) => (float[a, b] y) { y = Relu(x) }");
  onnx::TypeProto& type = *proto.mutable_graph()->mutable_input(0)->mutable_type();
  for (onnx::TensorShapeProto::Dimension& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    dim.set_dim_param("?");
  }
  const OnnxModel model = OnnxModel::from_proto(proto);
  ir::Graph graph = import_model(model, {profile_of(model, 1, 8)});
  EXPECT_EQ(graph.exprs().symbols().size(), 2u);
}

TEST(ImportSymbols, RangesAreTheUnionOverProfiles) {
  const OnnxModel model = model_of(13, "(float[n, m] x) => (float[n, m] y) { y = Relu(x) }");
  Profile small = profile_of(model, 1, 4), large = profile_of(model, 8, 16);
  for (auto* dims : {&small.inputs[0].min, &small.inputs[0].opt, &small.inputs[0].max, &large.inputs[0].min,
                     &large.inputs[0].opt, &large.inputs[0].max}) {
    (*dims)[1] = 5;
  }
  ir::Graph graph = import_model(model, {small, large});
  ASSERT_EQ(graph.exprs().symbols().size(), 1u);  // m is 5 in both
  EXPECT_EQ(graph.exprs().symbols()[0].min, 1);
  EXPECT_EQ(graph.exprs().symbols()[0].max, 16);
  EXPECT_EQ(output_dims(graph), "[n, 5]");
}

TEST(ImportSymbols, ProfilesThatContradictTheModelAreInvalid) {
  const OnnxModel model = model_of(13, "(float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }");
  Profile profile = profile_of(model, 1, 4);
  profile.inputs[0].max[1] = 5;
  EXPECT_EQ(failure_of([&] { import_model(model, {profile}); }).code, StatusCode::kInvalid);
  profile = profile_of(model, 4, 1);
  EXPECT_EQ(failure_of([&] { import_model(model, {profile}); }).code, StatusCode::kInvalid);
  EXPECT_EQ(failure_of([&] { import_model(model, {Profile{}}); }).code, StatusCode::kInvalid);
}

TEST(ImportSymbols, InputsThatCannotShareADimAreInvalid) {
  const OnnxModel model = model_of(13, "(float[n] a, float[n] b) => (float[n] y) { y = Add(a, b) }");
  Profile profile = profile_of(model, 1, 4);
  profile.inputs[1].min = profile.inputs[1].opt = profile.inputs[1].max = {9};
  const Failure failure = failure_of([&] { import_model(model, {profile}); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("'n'") && failure.mentions("'b'")) << failure;
}

// ---- Names

TEST(ImportNames, ValuesAndLayersKeepTheModelsNames) {
  const ir::Graph graph =
      import_text(13, "(float[2, 3] x, float[3, 4] w, float[4] b) => (float[2, 4] y) { [fc] y = Gemm(x, w, b) }");
  for (const ir::NodeId id : graph.order()) {
    EXPECT_EQ(graph.node(id).name, "fc");
    EXPECT_THAT(graph.node(id).onnx, ElementsAre("fc"));
  }
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  EXPECT_THAT(graph.output_names, ElementsAre("y"));
}

TEST(ImportNames, OutputsMayBeInputsOrConstants) {
  const ir::Graph graph = import_text(
      13, "(float[2] x) => (float[2] y, float[1] c) { y = Identity(x) c = Constant<value = float[1] {7.0}>() }");
  EXPECT_EQ(graph.outputs[0], graph.inputs[0]);
  EXPECT_TRUE(graph.value(graph.outputs[1]).is_constant());
  EXPECT_TRUE(graph.order().empty());
}

// ---- What is not supported

// Two bindings of one name make an engine that cannot be opened.
TEST(ImportNames, AnOutputThatIsAnInputGetsABindingOfItsOwn) {
  const OnnxModel model = model_of(13, "(float[2] x) => (float[2] y, float[2] x) { y = Relu(x) }");
  EXPECT_THAT(model.warnings(), ElementsAre(HasSubstr("output 'x' is also an input: the engine calls the output "
                                                      "'x:out'")));
  EXPECT_THAT(import_model(model, {}).output_names, ElementsAre("y", "x:out"));
  onnx::ModelProto taken = proto_of(13, "(float[2] x) => (float[2] x, float[2] y) { y = Relu(x) }");
  for (std::string* name : {taken.mutable_graph()->mutable_output(1)->mutable_name(),
                            taken.mutable_graph()->mutable_node(0)->mutable_output(0)}) {
    *name = "x:out";
  }
  EXPECT_THAT(import_model(OnnxModel::from_proto(taken), {}).output_names, ElementsAre("x:out:out", "x:out"));
}

TEST(ImportShapeInputs, AreIntegersWhoseValuesDecideShapes) {
  const OnnxModel model =
      model_of(13,
               "(float[n] x, int64[2] s, int32[2] t, int64[2] data, int64[k] open, int64[65] many, float[2] f) "
               "=> (float[a, b] y, float[c, d] z, int64[2] w, float[e] v, int64[g, h] r) { "
               "y = Expand(x, s) t64 = Cast<to = 7>(t) z = Expand(x, t64) w = Add(data, data) v = Reshape(x, open) "
               "dims = Shape(data) r = Expand(many, dims) }");
  EXPECT_THAT(shape_inputs(model), ElementsAre("s", "t"));
}

TEST(ImportShapeInputs, AreFoundInBranchesAndInWhatChoosesThem) {
  const OnnxModel model = model_of(
      13,
      "(float[2] x, int64 rate, int64[2] s) => (float[a, b] y) <int64 wanted = {16}> { c = Equal(rate, wanted) "
      "y = If(c) <then_branch = g1 () => (float[d, e] t) { t = Expand(x, s) }, "
      "else_branch = g2 () => (float[2] u) { u = Relu(x) }> }");
  EXPECT_THAT(shape_inputs(model), ElementsAre("rate", "s"));
}

TEST(ImportRefusals, EveryUnsupportedNodeIsListedAtOnce) {
  const OnnxModel model = model_of(
      13,
      "(float[2, 2] x) => (float[2, 2] y, float[2, 2] z) { [first] d = Relu(x) [strange] a = my.domain.Magic(x) "
      "b = Relu(a) [third] y = my.domain.Trick(b) [odd] z = Strange(x) [ok] unused = Stranger(x) e = Add(y, d) }");
  const std::vector<Unsupported> list = find_unsupported(model, {});
  std::vector<std::string> names, ops;
  for (const Unsupported& entry : list) {
    names.push_back(entry.node);
    ops.push_back(entry.op);
    EXPECT_NE(entry.reason, "");
  }
  EXPECT_THAT(names, ElementsAre("strange", "third", "odd"));  // what nothing needs is not asked for
  EXPECT_THAT(ops, ElementsAre("my.domain::Magic", "my.domain::Trick", "Strange"));
  EXPECT_EQ(list[2].opset, 13);

  const Failure failure = failure_of([&] { import_model(model, {}); });
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  for (const std::string& name : names) EXPECT_TRUE(failure.mentions(name)) << failure;
}

// What stands behind what is refused was not looked at.
TEST(ImportRefusals, NodesInBodiesBehindARefusalAreListed) {
  const auto refused = [](const std::string& graph) {
    std::vector<std::string> names;
    for (const Unsupported& entry : find_unsupported(model_of(13, graph), {})) names.push_back(entry.node);
    return names;
  };
  const std::string body =
      "<body = b (int64 i, bool k, seq(float[2]) q) => (bool ko, seq(float[2]) r) { ko = Identity(k) "
      "[inner] w = Strange(x) r = SequenceInsert(q, w) }>";
  EXPECT_THAT(refused("(float[2] x, int64 n) => (float[m] y) { [first] a = Odd(x) s = SequenceConstruct(a, x) "
                      "[loop] t = Loop(n, , s) " +
                      body + " z = ConcatFromSequence<axis = 0>(t) [last] y = Odd(z) }"),
              ElementsAre("first", "loop/inner", "last"));
  EXPECT_THAT(refused("(float[2] x, int64 n) => (float[m] y) { s = SequenceConstruct(x, x) [loop] t = Loop(n, , s) " +
                      body + " z = ConcatFromSequence<axis = 0>(t) [last] y = Odd(z) }"),
              ElementsAre("loop/inner", "loop", "last"));
  EXPECT_THAT(refused("(seq(float[2]) s, float[2] x) => (float[m] y) { z = ConcatFromSequence<axis = 0>(s) "
                      "[last] y = Odd(z) }"),
              ElementsAre("s", "last"));
}

// They went into messages as they are, and could forge lines or steer a terminal.
TEST(ImportRefusals, ControlCharactersInNamesAreEscaped) {
  onnx::ModelProto proto =
      proto_of(13, "(float[2] x) => (float[2] y, float[2] z) { [odd] y = Strange(x) z = Softmax<axis = 0>(x) }");
  proto.mutable_graph()->mutable_node(0)->set_name("odd\nname\x1b[31m");
  proto.mutable_graph()->mutable_node(0)->set_op_type("Re\nlu");
  const Failure unknown = failure_of([&] { import_model(OnnxModel::from_proto(proto), {}); });
  EXPECT_TRUE(unknown.mentions("odd\\nname\\x1b[31m (Re\\nlu")) << unknown;
  proto.mutable_graph()->mutable_node(0)->set_op_type("Relu");
  proto.mutable_graph()->mutable_node(1)->set_name("axis\r\x7f");
  proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_i(7);
  const Failure wrong = failure_of([&] { import_model(OnnxModel::from_proto(proto), {}); });
  EXPECT_TRUE(wrong.mentions("axis\\x0d\\x7f (Softmax")) << wrong;
  proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_i(0);
  const ir::Graph graph = import_model(OnnxModel::from_proto(proto), {});
  EXPECT_EQ(graph.node(graph.order()[0]).name, "odd\\nname\\x1b[31m");
}

// An operator that is newer than the model's opset has no form there (it crashed shape arithmetic).
TEST(ImportRefusals, OperatorsNewerThanTheOpsetAreUnsupported) {
  const Failure failure = failure_of(
      [] { import_model(model_of(5, "() => (int64[n] y) <int64 a = {0}, int64 b = {3}> { y = Range(a, b) }"), {}); });
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("no such operator in opset 5")) << failure;
}

TEST(ImportRefusals, OperandsOfATypeThatIsNotTakenAreInvalid) {
  const Failure failure =
      failure_of([] { import_model(model_of(18, "(float[2] x) => (float[2] y) { [bits] y = BitwiseOr(x, x) }"), {}); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("bits (BitwiseOr, opset 18): its input 'A' is fp32")) << failure;
}

// Exporters write such models: Conv takes bf16 from opset 22 on.
TEST(ImportRefusals, ATypeThatALaterOpsetTakesIsTaken) {
  const char* text = "(bfloat16[1, 1, 4] x, bfloat16[1, 1, 3] w) => (bfloat16[1, 1, 2] y) { y = Conv(x, w) }";
  EXPECT_TRUE(find_unsupported(model_of(18, text), {}).empty());
}

TEST(ImportRefusals, SupportedModelsHaveNone) {
  EXPECT_TRUE(find_unsupported(model_of(13, "(float[n] x) => (float[n] y) { y = Relu(x) }"), {}).empty());
}

// The formula gives one window where rounding down gives none.
TEST(ImportPools, ACeilingWindowMayReachPastItsInput) {
  const char* pool =
      "(float[1, 1, h] x) => (float[a, b, c] y) { y = MaxPool<kernel_shape = [3], strides = [2], ceil_mode = ";
  const ir::Graph graph = import_text(22, pool + std::string("1>(x) }"), 2, 2);
  EXPECT_EQ(elements_of<float>(ir::interpret(graph, {floats({1, 1, 2}, {4, 5})})[0]), (std::vector<float>{5}));
  EXPECT_EQ(import_failure(22, pool + std::string("0>(x) }"), 2, 2).code, StatusCode::kInvalid);
  EXPECT_EQ(import_failure(22, pool + std::string("1>(x) }"), 1, 1).code, StatusCode::kInvalid);  // none at all
}

// They were raised as reals, which end at 2^53, and did not wrap.
TEST(ImportPow, OfIntegersIsExactAndWraps) {
  const ir::Tensor x = tensor_of<int64_t>(DType::kI64, {3}, {3, 3037000500, -2});
  const ir::Tensor e = tensor_of<int64_t>(DType::kI64, {3}, {39, 2, 3});
  const ir::Tensor y = run_text(15, "(int64[3] x, int64[3] e) => (int64[3] y) { y = Pow(x, e) }", {x, e});
  EXPECT_EQ(elements_of<int64_t>(y), (std::vector<int64_t>{4052555153018976267, -9223372036709301616, -8}));
}

TEST(ImportErf, OfIntegersIsCutToWholeNumbers) {
  const ir::Tensor x = tensor_of<int64_t>(DType::kI64, {5}, {-7, -1, 0, 2, 7});
  EXPECT_EQ(elements_of<int64_t>(run_text(9, "(int64[5] x) => (int64[5] y) { y = Erf(x) }", {x})),
            (std::vector<int64_t>{-1, 0, 0, 0, 1}));
}

TEST(ImportResize, OfOpset10TakesTheLaterPixelWhereItShrinks) {
  const ir::Tensor y =
      run_text(10, "(float[4] x) => (float[n] y) <float[1] s = {0.6}> { y = Resize<mode = \"nearest\">(x, s) }",
               {floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{1, 3}));
}

// What rounds nothing may do both.
TEST(ImportResize, OfOpset10RefusesToShrinkAndEnlargeOnlyWhereItRounds) {
  const std::string graph = "(float[4, 4] x) => (float[n, m] y) <float[2] s = {0.5, 2.0}> { y = Resize<mode = ";
  EXPECT_EQ(import_failure(10, graph + "\"linear\">(x, s) }"), Failure());
  EXPECT_EQ(import_failure(10, graph + "\"nearest\">(x, s) }").code, StatusCode::kUnsupported);
}

TEST(ImportResize, AntialiasedIntegersAreRounded) {
  const ir::Tensor x = tensor_of<uint8_t>(DType::kU8, {4}, {0, 2, 8, 8});
  const ir::Tensor y = run_text(18,
                                "(uint8[4] x) => (uint8[2] y) <float[1] s = {0.5}, float[0] none = {}> "
                                "{ y = Resize<mode = \"linear\", antialias = 1>(x, none, s) }",
                                {x});
  EXPECT_EQ(elements_of<uint8_t>(y), (std::vector<uint8_t>{2, 7}));  // 1.75 and 7.25
}

TEST(ImportRefusals, NewerOpsetsNameTheNewestKnown) {
  const Failure failure = import_failure(999, "(float[2] x) => (float[2] y) { y = Det(x) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("999")) << failure;
}

TEST(ImportRefusals, UnsupportedTypesOfInputsAreListed) {
  const Failure failure = import_failure(21, "(string[2] x) => (string[2] y) { y = Identity(x) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("x (input") && failure.mentions("string")) << failure;
}

// ---- Schemas

TEST(ImportSchemas, AttributesOfLaterOpsetsAreInvalid) {
  const Failure failure = import_failure(
      8, "(float[1, 1, 8] x) => (float[1, 1, 6] y) { [p] y = MaxPool<kernel_shape = [2], dilations = [2]>(x) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("p (MaxPool") && failure.mentions("dilations")) << failure;
}

TEST(ImportSchemas, AttributesOfTheWrongTypeAreInvalid) {
  EXPECT_EQ(import_failure(13, "(float[2] x) => (float[2] y) { y = Softmax<axis = 1.5>(x) }").code,
            StatusCode::kInvalid);
}

TEST(ImportSchemas, MissingRequiredAttributesAndInputsAreInvalid) {
  EXPECT_EQ(import_failure(13, "(float[2] x) => (float[2] y) { y = Cast(x) }").code, StatusCode::kInvalid);
  EXPECT_EQ(import_failure(13, "(float[2] x) => (float[2] y) { y = Add(x) }").code, StatusCode::kInvalid);
  EXPECT_EQ(import_failure(13, "(float[2] x) => (float[2] y) { y = Relu(x, x) }").code, StatusCode::kInvalid);
}

TEST(ImportSchemas, MixedTypesAreInvalid) {
  EXPECT_EQ(import_failure(13, "(float[2] x, int32[2] z) => (float[2] y) { y = Add(x, z) }").code,
            StatusCode::kInvalid);
}

// ---- Declarations (B17)

TEST(ImportDeclarations, ContradictedOutputsShowBoth) {
  Failure failure = import_failure(13, "(float[2, 3] x) => (float[2, 4] y) { y = Relu(x) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("[2, 4]") && failure.mentions("[2, 3]") && failure.mentions("'y'")) << failure;
  failure = import_failure(13, "(float[2, 3] x) => (int64[2, 3] y) { y = Relu(x) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("int64") && failure.mentions("fp32")) << failure;
  EXPECT_EQ(import_failure(13, "(float[2, 3] x) => (float[6] y) { y = Relu(x) }").code, StatusCode::kInvalid);
}

TEST(ImportDeclarations, ContradictedIntermediatesOfStaticModelsShowBoth) {
  onnx::ModelProto proto = proto_of(13, "(float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Abs(a) }");
  onnx::ValueInfoProto& info = *proto.mutable_graph()->add_value_info();
  info = proto.graph().output(0);
  info.set_name("a");
  info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(7);
  const OnnxModel model = OnnxModel::from_proto(proto);
  const Failure failure = failure_of([&] { import_model(model, {}); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("'a'") && failure.mentions("[2, 7]") && failure.mentions("[2, 3]")) << failure;
}

// CatBoost's exporter declares [N] for [N, 1], LightGBM's [1] for [N].
TEST(ImportDeclarations, WrongOutputDimsOfDynamicModelsAreWarnedOf) {
  for (const char* declared : {"float[n]", "float[1, 1]"}) {
    const ir::Graph graph =
        import_text(13, std::string("(float[n, 1] x) => (") + declared + " y) { y = Relu(x) }", 2, 8);
    EXPECT_EQ(output_dims(graph), "[n, 1]");
    ASSERT_EQ(graph.warnings.size(), 1u);
    EXPECT_THAT(graph.warnings[0], HasSubstr("output 'y' is declared as"));
  }
  EXPECT_EQ(import_failure(13, "(float[n, 1] x) => (double[n, 1] y) { y = Relu(x) }").code, StatusCode::kInvalid);
  EXPECT_EQ(import_failure(13, "(float[2, 1] x) => (float[2] y) { y = Relu(x) }").code, StatusCode::kInvalid);
}

TEST(ImportDeclarations, StaleIntermediatesOfDynamicModelsAreFine) {
  onnx::ModelProto proto = proto_of(13, "(float[n, 3] x) => (float[n, 3] y) { a = Relu(x) y = Abs(a) }");
  onnx::ValueInfoProto& info = *proto.mutable_graph()->add_value_info();
  info = proto.graph().output(0);
  info.set_name("a");
  info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  const OnnxModel model = OnnxModel::from_proto(proto);
  EXPECT_EQ(output_dims(import_model(model, {profile_of(model, 2, 8)})), "[n, 3]");
}

// ---- Functions and branches

TEST(ImportFunctions, TheModelsOwnAreImportedInPlace) {
  const onnx::ModelProto proto = parse_text(R"(
    <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2] x) => (float[2] y) { [call] y = local.shift<by = 3.0>(x) }
    <domain: "local", opset_import: ["" : 13]>
    shift<by>(a) => (b) { c = Constant<value_float: float = @by>() b = Add(a, c) })");
  const ir::Graph graph = import_model(OnnxModel::from_proto(proto), {});
  EXPECT_EQ(elements_of<float>(ir::interpret(graph, {floats({2}, {1, 2})})[0]), (std::vector<float>{4, 5}));
  ASSERT_EQ(graph.order().size(), 1u);
  EXPECT_EQ(graph.node(graph.order()[0]).name, "call/b");
  EXPECT_THAT(graph.node(graph.order()[0]).onnx, ElementsAre("call"));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
}

TEST(ImportFunctions, OneThatCallsItselfIsInvalid) {
  const onnx::ModelProto proto = parse_text(R"(
    <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.again(x) }
    <domain: "local", opset_import: ["" : 13, "local" : 1]>
    again(a) => (b) { c = Relu(a) b = local.again(c) })");
  const Failure failure = failure_of([&] { import_model(OnnxModel::from_proto(proto), {}); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("again")) << failure;
}

// Each calls the one before it twice: it took minutes and gigabytes. Also where the operand's maker is refused, so that
// they are looked through for what else is.
TEST(ImportFunctions, ThoseThatMultiplyAreRefused) {
  for (const char* call : {"[call] y = local.f30(x)", "z = nowhere.Strange(x) [call] y = local.f30(z)"}) {
    std::string text = R"(<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2] x) => (float[2] y) { )" +
                       std::string(call) + R"( }
    <domain: "local", opset_import: ["" : 13, "local" : 1]> f0(a) => (b) { b = Relu(a) })";
    for (int i = 1; i <= 30; ++i) {
      text += "<domain: \"local\", opset_import: [\"\" : 13, \"local\" : 1]> f" + std::to_string(i) +
              "(a) => (b) { c = local.f" + std::to_string(i - 1) + "(a) b = local.f" + std::to_string(i - 1) + "(c) }";
    }
    const OnnxModel model = OnnxModel::from_proto(parse_text(text));
    const Failure failure = failure_of([&] { import_model(model, {}); });
    EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
    EXPECT_TRUE(failure.mentions("nodes once its functions")) << failure;
  }
}

TEST(ImportFunctions, SchemasDefineWhatHasNoImporter) {
  // MeanVarianceNormalization has a body of plain operators.
  const ir::Tensor y =
      run_text(13, "(float[1, 1, 1, 2] x) => (float[1, 1, 1, 2] y) { y = MeanVarianceNormalization(x) }",
               {floats({1, 1, 1, 2}, {1, 3})});
  EXPECT_NEAR(elements_of<float>(y)[0], -1, 1e-4);
  EXPECT_NEAR(elements_of<float>(y)[1], 1, 1e-4);
}

TEST(ImportFunctions, AKnownConditionTakesItsBranch) {
  // The branch reads x from around it, and an initializer of the main graph.
  const ir::Tensor y = run_text(
      13,
      "(float[2] x) => (float[2] y) <float[2] w = {10.0, 20.0}> { r = Shape(x) two = Constant<value_ints = [2]>() "
      "q = Equal(r, two) z = Squeeze(q) y = If(z) <then_branch = t () => (float[2] a) { a = Add(x, w) }, "
      "else_branch = e () => (float[2] b) { b = Neg(x) }> }",
      {floats({2}, {1, 2})});
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{11, 22}));
}

TEST(ImportGraph, DumpIsReadable) {
  const std::string dump = ir::print(import_text(
      13, "(float[n, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[n, 4, 6, 6] y) { c = Conv(x, w) y = Relu(c) }"));
  EXPECT_THAT(dump, HasSubstr("Conv(%x, %w"));
  EXPECT_THAT(dump, HasSubstr("fp32[n, 4, 6, 6]"));
}

}  // namespace
}  // namespace planwright::builder
