// What the importers of ai.onnx.ml and com.microsoft refuse, and that they say what to do instead.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

OnnxModel ml_model(const std::string& graph) {
  return OnnxModel::from_proto(
      parse_text("<ir_version: 8, opset_import: [\"\" : 13, \"ai.onnx.ml\" : 3, \"com.microsoft\" : 1]> g " + graph));
}

Failure import_failure(const std::string& graph) {
  const OnnxModel model = ml_model(graph);
  return failure_of([&] { import_model(model, {profile_of(model, 1, 8)}); });
}

TEST(ImportZipMap, SaysHowToExportTheScoresAsATensor) {
  const Failure failure = import_failure(
      "(float[n, 3] x) => (float[n, 3] z) { z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1, 2]> (x) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("zipmap=False")) << failure;
}

TEST(ImportZipMap, IsNoMatterWhereNothingReadsIt) {
  const Failure failure = import_failure(R"((float[n, 3] x) => (float[n, 3] y) {
    z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1, 2]> (x)
    y = Relu(x)
  })");
  EXPECT_EQ(failure.code, StatusCode::kOk) << failure;
}

TEST(ImportLabels, StringsAreRefused) {
  const Failure failure = import_failure(R"((float[n, 2] x) => (float[n] y, float[n, 2] z) {
    y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, 3.0, 4.0], intercepts = [0.0, 1.0],
                                        classlabels_strings = ["a", "b"]> (x)
  })");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("train on integer labels")) << failure;
}

TEST(ImportLabels, StringsAreNoMatterWhereNothingReadsThem) {
  const Failure failure = import_failure(R"((float[n, 2] x) => (float[n, 2] z) {
    y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, 3.0, 4.0], intercepts = [0.0, 1.0],
                                        classlabels_strings = ["a", "b"]> (x)
  })");
  EXPECT_EQ(failure.code, StatusCode::kOk) << failure;
}

Failure tree_failure(const std::string& yes, const std::string& no, const std::string& feature = "0") {
  return import_failure(fmt::format(R"((float[n, 2] x) => (float[n, 1] y) {{
    y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
      nodes_featureids = [{}, 0, 0], nodes_modes = ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], nodes_values = [0.5, 0.5, 0.0],
      nodes_truenodeids = [{}, 2, 0], nodes_falsenodeids = [{}, 2, 0], target_treeids = [0], target_nodeids = [2],
      target_ids = [0], target_weights = [1.0]> (x)
  }})",
                                    feature, yes, no));
}

TEST(ImportTrees, LinksMustNotLeadInACircle) {
  EXPECT_EQ(tree_failure("1", "2").code, StatusCode::kOk);
  EXPECT_EQ(tree_failure("1", "1").code, StatusCode::kOk);       // two ways to one node
  EXPECT_EQ(tree_failure("1", "0").code, StatusCode::kInvalid);  // a circle
  EXPECT_EQ(tree_failure("1", "7").code, StatusCode::kInvalid);
  EXPECT_EQ(tree_failure("1", "2", "2").code, StatusCode::kInvalid);  // a feature that is not there
}

// Forty nodes in a row, each with both links to the next, are 2^40 leaves.
// A chain of equalities is followed to its end.
TEST(ImportTrees, ACircleThatNoRootReachesIsInvalid) {
  const Failure failure = import_failure(R"((float[n, 2] x) => (float[n, 1] y) {
    y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0, 0, 0], nodes_nodeids = [0, 1, 2, 3],
      nodes_featureids = [0, 0, 0, 0], nodes_modes = ["LEAF", "BRANCH_EQ", "BRANCH_EQ", "BRANCH_EQ"],
      nodes_values = [0.0, 1.0, 2.0, 3.0], nodes_truenodeids = [0, 0, 0, 0], nodes_falsenodeids = [0, 2, 3, 2],
      target_treeids = [0], target_nodeids = [0], target_ids = [0], target_weights = [1.0]> (x)
  })");
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("circle")) << failure;
}

TEST(ImportLinear, CoefficientsOfMoreFeaturesThanCanBeMultipliedAreInvalid) {
  const Failure failure = import_failure(R"((float[1, 1099511627776] x) => (float[n, m] y) {
    y = ai.onnx.ml.LinearRegressor <targets = 16777215, coefficients = [1.0], intercepts = [0.0]> (x)
  })");
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("coefficients")) << failure;
}

TEST(ImportTrees, SharedNodesAreCopiedOnlySoOften) {
  std::string ids, modes, next, zeros, splits;
  for (int i = 0; i <= 40; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    ids += fmt::format("{}{}", comma, i);
    modes += fmt::format("{}\"{}\"", comma, i == 40 ? "LEAF" : "BRANCH_LEQ");
    next += fmt::format("{}{}", comma, i == 40 ? 0 : i + 1);
    zeros += fmt::format("{}0", comma);
    splits += fmt::format("{}0.5", comma);
  }
  const Failure failure = import_failure(fmt::format(
      R"((float[n, 2] x) => (float[n, 1] y) {{
    y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [{0}], nodes_nodeids = [{1}],
      nodes_featureids = [{0}], nodes_modes = [{2}], nodes_values = [{4}], nodes_truenodeids = [{3}],
      nodes_falsenodeids = [{3}], target_treeids = [0], target_nodeids = [40], target_ids = [0],
      target_weights = [1.0]> (x)
  }})",
      zeros, ids, modes, next, splits));
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("share nodes")) << failure;
}

// It said that the domain was not known.
TEST(ImportMicrosoft, SaysOfAnOperatorThatItIsNotAmongThoseKnown) {
  const Failure failure =
      import_failure("(float[2, 3] x) => (float[2, 3] y) { y = com.microsoft.NoSuchOperator(x) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("not among the operators of the domain 'com.microsoft'")) << failure;
}

TEST(ImportMicrosoft, ShapesThatCannotBeRightAreInvalid) {
  EXPECT_EQ(
      import_failure("(float[2, 3, 8] x) => (float[2, 3, 8] y) { y = com.microsoft.RotaryEmbedding(x, x, x, x) }").code,
      StatusCode::kInvalid);
  EXPECT_EQ(
      import_failure("(float[2, 3] x) => (float[2, 3] y) { y = com.microsoft.Attention<num_heads = 2>(x, x) }").code,
      StatusCode::kInvalid);
  EXPECT_EQ(import_failure("(float[2, 3, 6] x) => (float[2, 3, 6] y) "
                           "{ y = com.microsoft.MultiHeadAttention<num_heads = 4>(x, x, x) }")
                .code,
            StatusCode::kInvalid);
  EXPECT_EQ(import_failure("(float[2, 3] x) => (float[2, 3] y) { y = com.microsoft.QLinearSigmoid(x, x, x, x) }").code,
            StatusCode::kInvalid);
  EXPECT_EQ(import_failure("(float[2, 3] x, uint8[2, 3] b) => (float[2, 5] y) "
                           "{ y = com.microsoft.MatMulNBits<K = 3, N = 5, block_size = 16>(x, b, x) }")
                .code,
            StatusCode::kInvalid);
}

TEST(ImportMicrosoft, MixedTypesAreInvalid) {
  const auto fails = [](const std::string& inputs, const std::string& node) {
    return import_failure("(" + inputs + ") => (float[2, 3, 8] y) { y = com.microsoft." + node + " }").code ==
           StatusCode::kInvalid;
  };
  EXPECT_TRUE(
      fails("int32[2, 3] i, float[9, 8] w, double[9, 8] p, float[8] g", "EmbedLayerNormalization(i, , w, p, , g, g)"));
  EXPECT_TRUE(fails("float[2, 3, 8] x, double[2, 3, 8] s, float[8] g", "SkipLayerNormalization(x, s, g)"));
  EXPECT_TRUE(fails("float[2, 3, 8] x, double[8] b", "BiasGelu(x, b)"));
  EXPECT_TRUE(fails("float[2, 3, 8] q, double[2, 3, 8] v", "MultiHeadAttention<num_heads = 2>(q, q, v)"));
  EXPECT_TRUE(
      fails("float[2, 3, 8] q, double[2, 2, 4, 4] p", "MultiHeadAttention<num_heads = 2>(q, q, q, , , , p, p)"));
  EXPECT_TRUE(fails("float[2, 3] a, float[3, 8] b, float s", "MatMulIntegerToFloat(a, b, s, s)"));
  EXPECT_TRUE(fails("uint8[2, 3] a, uint8[3, 8] b, int32 s", "MatMulIntegerToFloat(a, b, s, s)"));
  EXPECT_TRUE(fails("uint8[2, 3] a, float[3, 8] b, float s", "QGemm(a, s, , b, s, )"));
}

}  // namespace
}  // namespace planwright::builder
