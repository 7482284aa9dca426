// match_normalisations and match_attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::HasSubstr;
using ::testing::Not;

class MatchTest : public ::testing::Test, public GraphBuilder {
 protected:
  std::string matched(Pass pass, ValueId id) {
    output(id);
    std::vector<ir::Tensor> inputs;
    for (ValueId binding : graph.inputs) {
      std::vector<int64_t> dims;
      for (ir::Dim dim : graph.value(binding).dims) dims.push_back(dim.is_constant() ? dim.constant() : 2);
      inputs.push_back(random_tensor(dims, static_cast<unsigned>(binding)));
    }
    return after_pass(pass, graph, inputs);
  }

  ir::Dim n_ = symbol("n", 1, 4);
};

class NormalisationTest : public MatchTest {
 protected:
  ValueId centred() { return binary(PwOp::kSub, "centred", x_, reduce("mean", ReduceKind::kMean, x_, 0b100)); }
  ValueId variance(ValueId square) {
    return scalar(PwOp::kAdd, "variance", reduce("mean_square", ReduceKind::kMean, square, 0b100), 1e-5);
  }

  ValueId x_ = input("x", {n_, 3, 8});
};

TEST_F(NormalisationTest, LayerNormWithScaleAndBias) {
  const ValueId d = centred();
  const ValueId deviation = unary(PwOp::kSqrt, "deviation", variance(scalar(PwOp::kPow, "square", d, 2)));
  const ValueId y = binary(PwOp::kDiv, "y", d, deviation);
  const ValueId scaled = binary(PwOp::kMul, "scaled", y, weights("scale", {8}));
  EXPECT_EQ(matched(match_normalisations, binary(PwOp::kAdd, "shifted", scaled, weights("bias", {8}))),
            "  %shifted: fp32[n, 3, 8] = LayerNorm(%x, %scale, %bias) {axis=2 epsilon=1e-05}  "
            "\"mean\"+\"centred\"+\"square\"+\"mean_square\"+\"variance\"+\"deviation\"+\"y\"+\"scaled\"+\"shifted\"\n"
            "  output %shifted as \"shifted\"\n");
}

TEST_F(NormalisationTest, LayerNormByTheReciprocal) {
  const ValueId d = centred();
  const ValueId root = unary(PwOp::kSqrt, "root", variance(binary(PwOp::kMul, "square", d, d)));
  EXPECT_THAT(matched(match_normalisations, binary(PwOp::kMul, "y", unary(PwOp::kReciprocal, "inverse", root), d)),
              HasSubstr("%y: fp32[n, 3, 8] = LayerNorm(%x) {axis=2 epsilon=1e-05}"));
}

TEST_F(NormalisationTest, RmsNorm) {
  const ValueId root = scalar(PwOp::kPow, "inverse", variance(binary(PwOp::kMul, "square", x_, x_)), -0.5);
  const ValueId y = binary(PwOp::kMul, "y", x_, root);
  EXPECT_THAT(matched(match_normalisations, binary(PwOp::kMul, "z", weights("scale", {8}), y)),
              HasSubstr("%z: fp32[n, 3, 8] = LayerNorm(%x, %scale) {axis=2 epsilon=1e-05 rms}"));
}

TEST_F(NormalisationTest, NotWhatIsReadInTheMiddle) {
  const ValueId d = centred();
  output(d);
  const ValueId root = unary(PwOp::kSqrt, "root", variance(binary(PwOp::kMul, "square", d, d)));
  EXPECT_EQ(matched(match_normalisations, binary(PwOp::kDiv, "y", d, root)),
            "  %mean: fp32[n, 3, 1] = Reduce(%x) {mean axes=2}  \"mean\"\n"
            "  %centred: fp32[n, 3, 8] = Pointwise(%x, %mean) [sub(in0, in1)]  \"centred\"\n"
            "  %y: fp32[n, 3, 8] = LayerNorm(%centred) {axis=2 epsilon=1e-05 rms}  "
            "\"square\"+\"mean_square\"+\"variance\"+\"root\"+\"y\"\n"
            "  output %centred as \"centred\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(NormalisationTest, NotWhatAnotherDeviationDivides) {
  const ValueId d = centred();
  const ValueId root = unary(PwOp::kSqrt, "root", variance(binary(PwOp::kMul, "square", d, d)));
  EXPECT_EQ(matched(match_normalisations, binary(PwOp::kDiv, "y", x_, root)), "unchanged");
}

TEST_F(NormalisationTest, Softmax) {
  const ValueId shifted = binary(PwOp::kSub, "shifted", x_, reduce("max", ReduceKind::kMax, x_, 0b010));
  const ValueId e = unary(PwOp::kExp, "exp", shifted);
  EXPECT_EQ(matched(match_normalisations, binary(PwOp::kDiv, "y", e, reduce("sum", ReduceKind::kSum, e, 0b010))),
            "  %y: fp32[n, 3, 8] = Softmax(%x) {axis=1}  \"max\"+\"shifted\"+\"exp\"+\"sum\"+\"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(NormalisationTest, SoftmaxNeedsOneAxisThroughout) {
  const ValueId shifted = binary(PwOp::kSub, "shifted", x_, reduce("max", ReduceKind::kMax, x_, 0b100));
  const ValueId e = unary(PwOp::kExp, "exp", shifted);
  EXPECT_EQ(matched(match_normalisations, binary(PwOp::kDiv, "y", e, reduce("sum", ReduceKind::kSum, e, 0b010))),
            "unchanged");
}

class AttentionTest : public MatchTest {
 protected:
  ValueId softmax(ValueId scores) {
    return add(OpKind::kSoftmax, "p", {scores}, SoftmaxParams{graph.value(scores).rank() - 1, 0});
  }

  ValueId q_ = input("q", {n_, 2, 5, 4}), k_ = input("k", {n_, 2, 4, 7}), v_ = input("v", {n_, 2, 7, 3});
};

TEST_F(AttentionTest, WithScaleAndMask) {
  const ValueId mask = input("mask", {n_, 1, 1, 7});
  const ValueId scores = scalar(PwOp::kDiv, "scaled", matmul("scores", q_, k_), 2);
  const ValueId p = softmax(binary(PwOp::kAdd, "masked", scores, mask));
  EXPECT_EQ(matched(match_attention, matmul("y", p, v_)),
            "  %k/transposed: fp32[n, 2, 7, 4] = Transpose(%k) {perm=0,1,3,2}  \"y\"\n"
            "  %y: fp32[n, 2, 5, 3] = Attention(%q, %k/transposed, %v, %mask) {scale=0.5}  "
            "\"p\"+\"masked\"+\"scaled\"+\"scores\"+\"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(AttentionTest, ScaleOnBothOperands) {
  const ValueId q = scalar(PwOp::kMul, "q/scaled", q_, 0.5), k = scalar(PwOp::kMul, "k/scaled", k_, 0.25);
  EXPECT_THAT(matched(match_attention, matmul("y", softmax(matmul("scores", q, k)), v_)),
              HasSubstr("%y: fp32[n, 2, 5, 3] = Attention(%q, %k/transposed, %v) {scale=0.125}"));
}

// The scores are their own mask, the probabilities their own values: what the layer would replace is read by it.
TEST_F(AttentionTest, OfWhatItReplacesIsNone) {
  const ValueId scores = matmul("scores", q_, k_);
  EXPECT_THAT(matched(match_attention, matmul("y", softmax(binary(PwOp::kAdd, "masked", scores, scores)), v_)),
              Not(HasSubstr("Attention")));
}

TEST_F(AttentionTest, OfProbabilitiesAsValuesIsNone) {
  const ValueId square = input("square", {n_, 2, 7, 4}), keys = input("keys", {n_, 2, 4, 7});
  const ValueId p = softmax(matmul("scores", square, keys));
  EXPECT_THAT(matched(match_attention, matmul("y", p, p)), Not(HasSubstr("Attention")));
}

// As PyTorch's exporter guards rows that a mask hides altogether.
TEST_F(AttentionTest, WhoseNanProbabilitiesAreMadeZero) {
  const ValueId p = softmax(matmul("scores", q_, k_));
  const ValueId is_nan = pointwise("is_nan", {p}, [](ir::SsaProgram& program, const auto& in) {
    return program.convert(program.unary(PwOp::kIsNan, in[0]), PwClass::kUint);
  });
  graph.value(is_nan).dtype = DType::kBool;
  const ValueId w = pointwise("w", {is_nan, p}, [](ir::SsaProgram& program, const auto& in) {
    const ir::PwValue condition = program.convert(in[0], PwClass::kFloat);
    return program.ternary(PwOp::kSelect, condition, program.constant(0), in[1]);
  });
  EXPECT_THAT(matched(match_attention, matmul("y", w, v_)),
              HasSubstr("%y: fp32[n, 2, 5, 3] = Attention(%q, %k/transposed, %v) {scale=1 zero_nan}"));
}

// A zero of more rows than the probabilities have makes more rows of them.
TEST_F(AttentionTest, NotWhereTheZeroBroadcastsTheProbabilities) {
  const ValueId q = input("q1", {1, 2, 1, 4}), k = input("k1", {1, 2, 4, 7});
  const ValueId p = softmax(matmul("scores", q, k));
  const ValueId is_nan = pointwise("is_nan", {p}, [](ir::SsaProgram& program, const auto& in) {
    return program.convert(program.unary(PwOp::kIsNan, in[0]), PwClass::kUint);
  });
  graph.value(is_nan).dtype = DType::kBool;
  const ValueId zero = constant("zero", {1, 1, 5, 1}, std::vector<float>(5, 0.0f));
  const ValueId w = pointwise("w", {is_nan, zero, p}, [](ir::SsaProgram& program, const auto& in) {
    return program.ternary(PwOp::kSelect, program.convert(in[0], PwClass::kFloat), in[1], in[2]);
  });
  EXPECT_EQ(matched(match_attention, matmul("y", w, input("v1", {1, 2, 7, 3}))), "unchanged");
}

TEST_F(AttentionTest, OfThreeAxes) {
  const ValueId q = input("q3", {n_, 5, 4}), k = input("k3", {n_, 4, 7}), v = input("v3", {n_, 7, 3});
  EXPECT_EQ(matched(match_attention, matmul("y", softmax(matmul("scores", q, k)), v)),
            "  %q3/batch: fp32[1, n, 5, 4] = Reshape(%q3)  \"y\"\n"
            "  %k3/batch: fp32[1, n, 4, 7] = Reshape(%k3)  \"y\"\n"
            "  %k3/batch/transposed: fp32[1, n, 7, 4] = Transpose(%k3/batch) {perm=0,1,3,2}  \"y\"\n"
            "  %v3/batch: fp32[1, n, 7, 3] = Reshape(%v3)  \"y\"\n"
            "  %y/batch: fp32[1, n, 5, 3] = Attention(%q3/batch, %k3/batch/transposed, %v3/batch) {scale=1}  "
            "\"p\"+\"scores\"+\"y\"\n"
            "  %y: fp32[n, 5, 3] = Reshape(%y/batch)  \"p\"+\"scores\"+\"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(AttentionTest, NotWhenTheProbabilitiesAreRead) {
  const ValueId p = softmax(matmul("scores", q_, k_));
  output(p);
  EXPECT_EQ(matched(match_attention, matmul("y", p, v_)), "unchanged");
}

TEST_F(AttentionTest, NotAlongAnotherAxis) {
  const ValueId p = add(OpKind::kSoftmax, "p", {matmul("scores", q_, k_)}, SoftmaxParams{2, 0});
  EXPECT_EQ(matched(match_attention, matmul("y", p, v_)), "unchanged");
}

TEST_F(AttentionTest, NotWithAMaskThatIsNoMask) {
  const ValueId p = softmax(binary(PwOp::kMul, "gated", matmul("scores", q_, k_), input("gate", {5, 7})));
  EXPECT_EQ(matched(match_attention, matmul("y", p, v_)), "unchanged");
}

TEST_F(AttentionTest, NotWhereValuesAreBroadcast) {
  const ValueId p = softmax(matmul("scores", q_, k_));
  EXPECT_EQ(matched(match_attention, matmul("y", p, weights("w", {7, 3}))), "unchanged");
}

}  // namespace
}  // namespace planwright::builder
