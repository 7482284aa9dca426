// quantise_layers: layers that calibration gave levels multiply bytes, and all others stay as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "builder/passes/quantisable_layers.h"
#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::Tensor;
using ir::ValueId;
using planwright::testing::elements_of;
using planwright::testing::expect_same;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::HasSubstr;
using ::testing::Not;

// By layers' names.
class GivenLevels : public ir::PrecisionPolicy {
 public:
  explicit GivenLevels(std::map<std::string, ir::Levels> levels) : levels_(std::move(levels)) {}
  std::optional<ir::Levels> levels_for(const ir::QuantisableLayer& layer) const override {
    const auto found = levels_.find(layer.name);
    return found == levels_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string, ir::Levels> levels_;
};

const ir::Levels kSigned = {1.0f / 63, 128, {}};   // -2.03 to 2.02
const ir::Levels kPositive = {2.0f / 255, 0, {}};  // 0 to 2
constexpr double kWeightStep = 1.0 / 127;          // of weights up to 1, at most

class QuantiseLayersTest : public ::testing::Test, public GraphBuilder {
 protected:
  // The graph's text afterwards; "unchanged" where the pass left everything.
  std::string quantised(const std::map<std::string, ir::Levels>& levels, const std::vector<Tensor>& inputs) {
    EXPECT_EQ(ir::verify(graph), "");
    before_ = ir::interpret(graph, inputs);
    const std::string text_before = ir::print(graph);
    const bool changed = quantise_layers(graph, GivenLevels(levels));
    EXPECT_EQ(ir::verify(graph), "");
    const std::string text = ir::print(graph);
    EXPECT_EQ(changed, text != text_before);
    after_ = ir::interpret(graph, inputs);
    if (changed) return text;
    expect_same(before_, after_);
    return "unchanged";
  }
  // Output `index` differs by what rounding may do to sums of so many products of a number up to 2 by a weight up to 1:
  // an error is spread evenly over a step, and those of products are independent of each other. No single one is off by
  // more than all halves of steps together.
  void expect_rounded(size_t index, double products, double step) {
    const std::vector<float> x = elements_of<float>(before_.at(index)), y = elements_of<float>(after_.at(index));
    ASSERT_EQ(x.size(), y.size());
    double squares = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = static_cast<double>(y[i]) - static_cast<double>(x[i]);
      EXPECT_LE(std::abs(error), products * (2 * kWeightStep + step + step * kWeightStep / 2) / 2) << i;
      squares += error * error;
    }
    const double root = std::sqrt(squares / static_cast<double>(x.size()));
    EXPECT_LE(root, std::sqrt(products * (4 * kWeightStep * kWeightStep + step * step) / 12));
    EXPECT_GT(root, 0) << "nothing was rounded";
  }
  static size_t count_of(const std::string& text, const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
  }

  std::vector<Tensor> before_, after_;
};

TEST_F(QuantiseLayersTest, AConvolutionPadsWithTheZeroPoint) {
  const ValueId x = input("x", {1, 3, 5, 6});
  output(relu("y", conv("conv", x, weights("w", {4, 3, 3, 3}), 1)));
  const std::string text = quantised({{"conv", kSigned}}, {random_tensor({1, 3, 5, 6}, 1)});
  EXPECT_THAT(text, HasSubstr("%conv/sums: int32[1, 4, 5, 6] = Conv(%x/levels, %w/bytes, %x/zero)"));
  expect_rounded(0, 27, 1.0 / 63);
}

TEST_F(QuantiseLayersTest, AProduct) {
  output(matmul("y", input("x", {3, 32}), weights("w", {32, 5})));
  const std::string text = quantised({{"y", kSigned}}, {random_tensor({3, 32}, 1)});
  EXPECT_THAT(text, HasSubstr("%y/sums: int32[3, 5] = MatMul(%x/levels, %w/bytes, %x/zero)"));
  expect_rounded(0, 32, 1.0 / 63);
}

TEST_F(QuantiseLayersTest, ADepthwiseConvolution) {
  output(conv("y", input("x", {1, 4, 6, 6}), weights("w", {4, 1, 3, 3}), 1, 4));
  const std::string text = quantised({{"y", kSigned}}, {random_tensor({1, 4, 6, 6}, 1)});
  EXPECT_THAT(text, HasSubstr("= Conv(%x/levels, %w/bytes, %x/zero)"));
  expect_rounded(0, 9, 1.0 / 63);
}

// What lies outside the levels is clipped to the first and last.
TEST_F(QuantiseLayersTest, NumbersBeyondTheLevelsAreClipped) {
  output(matmul("y", input("x", {1, 2}), constant("w", {2, 2}, {1, 0, 0, 1})));
  quantised({{"y", {0.5f, 100, {}}}}, {{DType::kF32, {1, 2}, planwright::testing::bytes_of<float>({-1e9f, 1e9f})}});
  EXPECT_EQ(elements_of<float>(after_[0]), (std::vector<float>{-50, 77.5f}));
}

// Its producer stores bytes alone, and the sum reads them too.
TEST_F(QuantiseLayersTest, AResidualSumReadsTheLevels) {
  const ValueId shortcut = relu("shortcut", input("x", {1, 4, 5, 5}));
  output(binary(PwOp::kAdd, "y", conv("conv", shortcut, weights("w", {4, 4, 3, 3}), 1), shortcut));
  const std::string text = quantised({{"conv", kPositive}}, {random_tensor({1, 4, 5, 5}, 1)});
  EXPECT_THAT(text, HasSubstr("Conv(%shortcut/levels, "));
  EXPECT_THAT(text, HasSubstr("%shortcut/dequantised: fp32[1, 4, 5, 5] = Pointwise(%shortcut/levels, "));
  EXPECT_EQ(count_of(text, "%shortcut)") + count_of(text, "%shortcut,"), 1u) << text;  // to be quantised
  expect_rounded(0, 37, 2.0 / 255);
}

// What is stored in floats anyway is added in floats.
TEST_F(QuantiseLayersTest, AResidualSumOfAnOutputReadsFloats) {
  const ValueId shortcut = relu("shortcut", input("x", {1, 4, 5, 5}));
  output(binary(PwOp::kAdd, "y", conv("conv", shortcut, weights("w", {4, 4, 3, 3}), 1), shortcut));
  output(shortcut);
  const std::string text = quantised({{"conv", kPositive}}, {random_tensor({1, 4, 5, 5}, 1)});
  EXPECT_THAT(text, Not(HasSubstr("/dequantised")));
  expect_rounded(0, 36, 2.0 / 255);
  EXPECT_EQ(after_[1].data, before_[1].data);
}

TEST_F(QuantiseLayersTest, LayersThatReadTheSameTensorQuantiseItOnce) {
  const ValueId x = relu("r", input("x", {3, 16}));
  output(matmul("a", x, weights("wa", {16, 5})));
  output(matmul("b", x, weights("wb", {16, 7})));
  const std::string text = quantised({{"a", kPositive}, {"b", kPositive}}, {random_tensor({3, 16}, 1)});
  EXPECT_EQ(count_of(text, "round_even"), 1u) << text;
  expect_rounded(0, 16, 2.0 / 255);
  expect_rounded(1, 16, 2.0 / 255);
}

TEST_F(QuantiseLayersTest, MovesBetweenMoveLevels) {
  const ValueId x = relu("r", input("x", {2, 4, 6, 6}));
  PoolParams params;
  params.kernel[0] = params.kernel[1] = params.stride[0] = params.stride[1] = 2;
  const ir::Shape dims{2, 4, 3, 3};
  ir::Node& pool = node(OpKind::kPool, "pool", {x}, params, &dims);
  pool.scalars.assign(4, 0);
  const ValueId flat = reshape("flat", pool.outputs[0], {2, 36});
  output(matmul("y", flat, weights("w", {36, 5})));
  output(scalar(PwOp::kMul, "other", flat, 2));  // reads levels, for there are no floats any more
  const std::string text = quantised({{"y", kPositive}}, {random_tensor({2, 4, 6, 6}, 1)});
  EXPECT_THAT(text, HasSubstr("%pool/levels: uint8[2, 4, 3, 3] = Pool(%r/levels)"));
  EXPECT_THAT(text, HasSubstr("%flat/levels: uint8[2, 36] = Reshape(%pool/levels)"));
  EXPECT_THAT(text, HasSubstr("= MatMul(%flat/levels, %w/bytes, %r/zero)"));
  EXPECT_THAT(text, HasSubstr("%flat/dequantised: fp32[2, 36]"));
  expect_rounded(0, 36, 2.0 / 255);
  const std::vector<float> want = elements_of<float>(before_[1]), got = elements_of<float>(after_[1]);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2.0 / 255 + 1e-6) << i;
}

TEST_F(QuantiseLayersTest, LayersWithoutLevelsStay) {
  const ValueId x = input("x", {3, 16});
  output(matmul("a", x, weights("wa", {16, 5})));
  output(matmul("b", x, weights("wb", {16, 7})));
  EXPECT_EQ(quantised({{"c", kSigned}}, {random_tensor({3, 16}, 1)}), "unchanged");
  const std::string text = quantised({{"b", kSigned}}, {random_tensor({3, 16}, 1)});
  EXPECT_THAT(text, HasSubstr("MatMul(%x, %wa)"));
  EXPECT_EQ(after_[0].data, before_[0].data);
  expect_rounded(1, 16, 1.0 / 63);
}

// A filter that is zero, and one whose step would be no normal number, give zeros; the one between is as it would be.
TEST_F(QuantiseLayersTest, FiltersWithoutWeights) {
  const float tiny = 1e-38f;
  output(matmul("y", input("x", {3, 2}), constant("w", {2, 3}, {0, 1, tiny, 0, -0.5f, -tiny})));
  EXPECT_THAT(quantised({{"y", kSigned}}, {random_tensor({3, 2}, 1)}), HasSubstr("%w/bytes"));
  const std::vector<float> want = elements_of<float>(before_[0]), got = elements_of<float>(after_[0]);
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(got[row * 3], 0) << row;
    EXPECT_NEAR(got[row * 3 + 1], want[row * 3 + 1], 0.03) << row;
    EXPECT_EQ(got[row * 3 + 2], 0) << row;
  }
}

TEST_F(QuantiseLayersTest, WeightsThatAreNotFiniteStayInFloats) {
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    GraphBuilder b;
    b.output(b.matmul("y", b.input("x", {3, 2}), b.constant("w", {2, 2}, {1, 2, wrong, 4})));
    const std::string before = ir::print(b.graph);
    EXPECT_FALSE(quantise_layers(b.graph, GivenLevels({{"y", kSigned}})));
    EXPECT_EQ(ir::print(b.graph), before);
  }
}

// One that is folded anyway, and one whose weights are known only at run time.
TEST_F(QuantiseLayersTest, ProductsThatAreNoLayers) {
  output(matmul("folded", constant("c", {1, 2}, {1, 2}), weights("w", {2, 2})));
  const ValueId x = input("x", {3, 4}), v = input("v", {4, 5});
  output(matmul("weightless", x, v));
  EXPECT_TRUE(quantisable_nodes(graph).empty());
  EXPECT_EQ(
      quantised({{"folded", kSigned}, {"weightless", kSigned}}, {random_tensor({3, 4}, 1), random_tensor({4, 5}, 2)}),
      "unchanged");
}

// ---- Factors of channels

// Channels of sizes far apart, whose weights make up for it: with a factor each they are as good as others of one size.
class FactorsTest : public QuantiseLayersTest {
 protected:
  static constexpr size_t kChannels = 4;
  const std::vector<float> factors_ = {1, 0.25f, 4, 64};
  ir::Levels levels() const { return {2.0f / 255, 0, factors_}; }

  // `period`: neighbours that are of the same channel.
  std::vector<float> scaled(const std::vector<float>& values, size_t period, bool up) const {
    std::vector<float> made = values;
    for (size_t i = 0; i < made.size(); ++i) {
      const float factor = factors_[i / period % kChannels];
      made[i] = up ? made[i] * factor : made[i] / factor;
    }
    return made;
  }
  Tensor sample(const std::vector<int64_t>& dims, size_t period) const {
    const Tensor even = random_tensor(dims, 1, 0, 2);
    return {DType::kF32, dims, planwright::testing::bytes_of(scaled(elements_of<float>(even), period, true))};
  }
  ValueId balancing(const std::string& name, const std::vector<int64_t>& dims, size_t period) {
    return constant(name, dims, scaled(elements_of<float>(random_tensor(dims, 2, -1, 1)), period, false));
  }
};

TEST_F(FactorsTest, OfADenseConvolution) {
  const ValueId x = relu("r", input("x", {1, kChannels, 5, 5}));
  output(conv("y", x, balancing("w", {6, kChannels, 3, 3}, 9), 1));
  EXPECT_EQ(quantisable_nodes(graph).at(0).layer.channels, int64_t{kChannels});
  const std::string text = quantised({{"y", levels()}}, {sample({1, kChannels, 5, 5}, 25)});
  EXPECT_THAT(text, HasSubstr("Pointwise(%r, %r/inverse_scales)"));
  expect_rounded(0, 36, 2.0 / 255);
}

TEST_F(FactorsTest, OfAProduct) {
  const ValueId x = relu("r", input("x", {7, kChannels}));
  output(matmul("y", x, balancing("w", {kChannels, 8}, 8)));
  quantised({{"y", levels()}}, {sample({7, kChannels}, 1)});
  expect_rounded(0, kChannels, 2.0 / 255);
}

TEST_F(FactorsTest, OfADepthwiseConvolution) {
  const ValueId x = relu("r", input("x", {1, kChannels, 6, 6}));
  output(conv("y", x, balancing("w", {kChannels, 1, 3, 3}, 9), 1, kChannels));
  quantised({{"y", levels()}}, {sample({1, kChannels, 6, 6}, 36)});
  expect_rounded(0, 9, 2.0 / 255);
}

TEST_F(FactorsTest, OfAnotherCountAreIgnored) {
  const ValueId x = relu("r", input("x", {1, kChannels, 5, 5}));
  output(conv("y", x, balancing("w", {6, kChannels, 3, 3}, 9), 1));
  for (const size_t count : {1, 3, 5}) {
    const ir::Levels wrong = {2.0f / 255, 0, std::vector<float>(count, 1)};
    EXPECT_EQ(quantised({{"y", wrong}}, {sample({1, kChannels, 5, 5}, 25)}), "unchanged") << count;
  }
}

// What else reads the tensor would have to divide by the factors too.
TEST_F(FactorsTest, NotWhereOthersReadTheTensor) {
  const ValueId x = relu("r", input("x", {7, kChannels}));
  output(matmul("y", x, balancing("w", {kChannels, 8}, 8)));
  output(scalar(PwOp::kMul, "other", x, 2));
  EXPECT_EQ(quantisable_nodes(graph).at(0).layer.channel_axis, -1);
  EXPECT_EQ(quantised({{"y", levels()}}, {sample({7, kChannels}, 1)}), "unchanged");
}

TEST_F(FactorsTest, TheLargestWeightsOfChannelsAreOfAllLayers) {
  const ValueId x = relu("r", input("x", {7, 2}));
  output(matmul("a", x, constant("wa", {2, 3}, {1, -2, 3, 0, 5, -6})));
  output(matmul("b", x, constant("wb", {2, 1}, {-9, 4})));
  std::vector<QuantisableNode> nodes = quantisable_nodes(graph);
  measure_channel_weights(graph, nodes);
  ASSERT_EQ(nodes.size(), 2u);
  for (const QuantisableNode& one : nodes) EXPECT_EQ(one.layer.channel_weights, (std::vector<float>{9, 6}));
}

// ---- To calibrate

TEST_F(QuantiseLayersTest, ActivationsAreExposedOnce) {
  const ValueId x = relu("r", input("x", {3, 16}));
  output(matmul("a", x, weights("wa", {16, 5})));
  output(matmul("b", x, weights("wb", {16, 7})));
  ASSERT_TRUE(expose_activations(graph));
  ASSERT_EQ(graph.outputs.size(), 3u);
  EXPECT_EQ(graph.outputs[2], x);
  EXPECT_EQ(graph.output_names[2], activation_output(quantisable_nodes(graph).at(0).layer));
  EXPECT_EQ(ir::verify(graph), "");
}

}  // namespace
}  // namespace planwright::builder
