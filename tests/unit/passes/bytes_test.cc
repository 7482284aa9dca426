// multiply_bytes, multiply_quantized, and programs behind products of bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaProgram;
using ir::Tensor;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::bytes_of;
using planwright::testing::GraphBuilder;
using ::testing::HasSubstr;

Tensor random_bytes(DType type, const std::vector<int64_t>& dims, unsigned seed) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::mt19937 random(seed);
  ir::Bytes data(static_cast<size_t>(count));
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  return {type, dims, data};
}

class BytesTest : public ::testing::Test, public GraphBuilder {
 protected:
  ValueId made(const std::string& name, DType type, const std::vector<ValueId>& operands, const Body& body) {
    const ir::Shape dims = graph.value(operands[0]).dims;
    SsaProgram program;
    std::vector<PwValue> loads;
    for (size_t i = 0; i < operands.size(); ++i) {
      loads.push_back(program.load(static_cast<int>(i), class_of(graph.value(operands[i]).dtype)));
    }
    program.store(body(program, loads));
    ir::Node& node = GraphBuilder::node(OpKind::kPointwise, name, operands, NoParams{}, &dims, type);
    node.program = *program.to_program();
    return node.outputs[0];
  }
  static PwValue as_int(SsaProgram& p, PwValue x) {
    return p.at(x).type == PwClass::kInt ? x : p.convert(x, PwClass::kInt);
  }
  // As the importer writes them.
  ValueId centred(const std::string& name, ValueId x, ValueId zero) {
    return made(name, DType::kI32, {x, zero},
                [](SsaProgram& p, const auto& in) { return p.binary(PwOp::kSub, as_int(p, in[0]), as_int(p, in[1])); });
  }
  ValueId dequantised(const std::string& name, ValueId x, ValueId scale, ValueId zero) {
    return made(name, DType::kF32, {x, scale, zero}, [](SsaProgram& p, const auto& in) {
      const PwValue level = p.binary(PwOp::kSub, as_int(p, in[0]), as_int(p, in[2]));
      return p.binary(PwOp::kMul, p.convert(level, PwClass::kFloat), in[1]);
    });
  }
  ValueId quantised(const std::string& name, ValueId x, double scale, double zero) {
    return made(name, DType::kU8, {x}, [&](SsaProgram& p, const auto& in) {
      PwValue y = p.unary(PwOp::kRoundEven, p.binary(PwOp::kDiv, in[0], p.constant(scale)));
      y = p.binary(PwOp::kMax, p.binary(PwOp::kAdd, y, p.constant(zero)), p.constant(0));
      return p.convert(p.binary(PwOp::kMin, y, p.constant(255)), PwClass::kUint);
    });
  }
  ValueId constant_bytes(const std::string& name, DType type, const std::vector<int64_t>& dims, unsigned seed) {
    const Tensor tensor = random_bytes(type, dims, seed);
    return graph.add_constant(name, type, dims, tensor.data).id;
  }
  ValueId number(const std::string& name, DType type, int value) {
    return graph.add_constant(name, type, {}, {static_cast<std::byte>(value)}).id;
  }
  ValueId integers(const std::string& name, const std::vector<int64_t>& dims, int32_t most) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 37 % 256) - 128;
    values[0] = most;
    return graph.add_constant(name, DType::kI32, dims, bytes_of(values)).id;
  }
  ValueId product(const std::string& name, ValueId a, ValueId b) {
    ir::Node& node = GraphBuilder::node(OpKind::kMatMul, name, {a, b}, NoParams{});
    graph.value(node.outputs[0]).dtype = graph.value(a).dtype == DType::kF32 ? DType::kF32 : DType::kI32;
    return node.outputs[0];
  }
  ValueId convolved(const std::string& name, ValueId x, ValueId w) {
    const ValueId y = conv(name, x, w, 1);
    graph.value(y).dtype = graph.value(x).dtype == DType::kF32 ? DType::kF32 : DType::kI32;
    return y;
  }
  // Of a product of bytes, 3x5.
  ValueId sums() {
    const ValueId x = input("x", {3, 8}, DType::kU8);
    return product("sums", centred("centred", x, number("zero", DType::kU8, 131)), integers("w", {8, 5}, 127));
  }
  void add_to_sums(int32_t number) {
    const ValueId bias =
        graph.add_constant("bias", DType::kI32, {5}, bytes_of(std::vector<int32_t>{1, 2, number, 4, 5})).id;
    output(made("y", DType::kF32, {sums(), bias}, [](SsaProgram& p, const auto& in) {
      return p.convert(p.binary(PwOp::kAdd, in[0], in[1]), PwClass::kFloat);
    }));
    ASSERT_TRUE(multiply_bytes(graph));
  }
  // Whether outputs of bytes are within one level.
  void expect_close(const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
    ASSERT_EQ(before[0].data.size(), after[0].data.size());
    for (size_t i = 0; i < before[0].data.size(); ++i) {
      EXPECT_LE(std::abs(static_cast<int>(before[0].data[i]) - static_cast<int>(after[0].data[i])), 1) << i;
    }
  }
};

TEST_F(BytesTest, AProductWithAZeroPointKnownAtRunTime) {
  const ValueId x = input("x", {3, 8}, DType::kU8), zero = input("zero", {}, DType::kU8);
  output(product("y", centred("centred", x, zero), integers("w", {8, 5}, 127)));
  EXPECT_THAT(after_pass(multiply_bytes, graph, {random_bytes(DType::kU8, {3, 8}, 1), random_bytes(DType::kU8, {}, 2)}),
              HasSubstr("%y: int32[3, 5] = MatMul(%x, %w/bytes, %zero)"));
}

TEST_F(BytesTest, AConvolutionPadsWithTheZeroPoint) {
  const ValueId x = input("x", {2, 3, 5, 6}, DType::kI8);
  output(convolved("y", centred("centred", x, number("zero", DType::kI8, -7)), integers("w", {4, 3, 3, 3}, 127)));
  // The number may also be in the program.
  simplify_programs(graph);
  EXPECT_THAT(after_pass(multiply_bytes, graph, {random_bytes(DType::kI8, {2, 3, 5, 6}, 1)}),
              HasSubstr("= Conv(%x, %w/bytes, %x/zero)"));
}

TEST_F(BytesTest, WeightsMustFitIntoInt8) {
  const ValueId x = input("x", {3, 8}, DType::kU8), zero = input("zero", {}, DType::kU8);
  output(product("y", centred("centred", x, zero), integers("w", {8, 5}, 128)));
  EXPECT_EQ(after_pass(multiply_bytes, graph, {random_bytes(DType::kU8, {3, 8}, 1), random_bytes(DType::kU8, {}, 2)}),
            "unchanged");
}

TEST_F(BytesTest, AZeroPointOfEachRowStays) {
  const ValueId x = input("x", {3, 8}, DType::kU8), zero = input("zero", {3, 1}, DType::kU8);
  output(product("y", centred("centred", x, zero), integers("w", {8, 5}, 127)));
  EXPECT_EQ(
      after_pass(multiply_bytes, graph, {random_bytes(DType::kU8, {3, 8}, 1), random_bytes(DType::kU8, {3, 1}, 2)}),
      "unchanged");
}

// As QLinearConv ends: an int32 bias, a factor of three scales, levels of uint8.
TEST_F(BytesTest, RequantisationIsFused) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  const ValueId sums = product("sums", x, constant_bytes("w", DType::kI8, {8, 5}, 3));
  const ValueId bias = integers("bias", {5}, 12345);
  const ValueId biased = made("biased", DType::kI32, {sums, bias},
                              [](SsaProgram& p, const auto& in) { return p.binary(PwOp::kAdd, in[0], in[1]); });
  const ValueId scales = weights("scales", {5});
  const ValueId real = made("real", DType::kF32, {biased, scales}, [](SsaProgram& p, const auto& in) {
    const PwValue scale = p.binary(PwOp::kAdd, p.binary(PwOp::kMul, in[1], in[1]), p.constant(1));
    const PwValue factor = p.binary(PwOp::kDiv, p.binary(PwOp::kMul, p.constant(0.01), scale), p.constant(3));
    return p.binary(PwOp::kMul, p.convert(in[0], PwClass::kFloat), factor);
  });
  output(quantised("y", real, 1, 7));
  fuse_pointwise(graph);
  EXPECT_THAT(after_pass(fuse_epilogues, graph, {random_bytes(DType::kU8, {3, 8}, 1)}),
              HasSubstr("%y: uint8[3, 5] = MatMul(%x, %w; %sums/numbers, %sums/numbers#6) "
                        "[convert.u(min(max(add(round_even(mul(add(acc, in0), in1)), 7), 0), 255))]"));
}

TEST_F(BytesTest, QuantisedAroundAConvolution) {
  const ValueId x = input("x", {1, 3, 5, 6}, DType::kU8);
  const ValueId real = dequantised("real", x, constant("x_scale", {}, {0.02f}), number("x_zero", DType::kU8, 131));
  const ValueId w = dequantised("w_real", constant_bytes("w", DType::kI8, {4, 3, 3, 3}, 5),
                                constant("w_scale", {4, 1, 1, 1}, {0.01f, 0.02f, 0.03f, 0.04f}),
                                graph.add_constant("w_zero", DType::kI8, {4, 1, 1, 1}, ir::Bytes(4)).id);
  const ValueId biased = binary(PwOp::kAdd, "biased", convolved("conv", real, w), weights("bias", {4, 1, 1}));
  output(quantised("y", relu("relu", biased), 0.1, 3));
  const std::vector<Tensor> inputs = {random_bytes(DType::kU8, {1, 3, 5, 6}, 1)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  EXPECT_TRUE(multiply_quantized(graph));
  EXPECT_EQ(ir::verify(graph), "");
  remove_dead_code(graph);
  fuse_pointwise(graph);
  EXPECT_TRUE(fuse_epilogues(graph));
  simplify_programs(graph);
  remove_dead_code(graph);
  EXPECT_EQ(ir::verify(graph), "");
  // Scales and the bias are in units of the output; bounds came with them.
  EXPECT_THAT(ir::print(graph),
              HasSubstr("%y: uint8[1, 4, 5, 6] = Conv(%x, %w_real/bytes, %x_zero; %conv/numbers, %conv/numbers#2)"));
  EXPECT_THAT(ir::print(graph),
              HasSubstr("[convert.u(min(max(add(round_even(max(add(mul(acc, in0), in1), 0)), 3), 0), 255))]"));
  expect_close(before, ir::interpret(graph, inputs));
}

// The importer dequantises small constants itself.
TEST_F(BytesTest, WeightsThatWereDequantisedBefore) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  std::vector<float> elements;
  for (int i = 0; i < 40; ++i) {
    const float scale = 0.01f * static_cast<float>(1 + i % 5);
    elements.push_back(static_cast<float>(i < 5 ? 127 : i * 53 % 255 - 127) * scale);
  }
  const ValueId real = dequantised("real", x, constant("scale", {}, {0.02f}), number("zero", DType::kU8, 131));
  output(product("y", real, constant("w", {8, 5}, elements)));
  EXPECT_THAT(after_pass(multiply_quantized, graph, {random_bytes(DType::kU8, {3, 8}, 1)}),
              HasSubstr("%y/sums: int32[3, 5] = MatMul(%x, %w/bytes, %zero)"));
}

// Weights of which nothing says that they were quantised.
TEST_F(BytesTest, WeightsInFp32Stay) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  const ValueId real = dequantised("real", x, constant("scale", {}, {0.02f}), number("zero", DType::kU8, 131));
  output(product("y", real, weights("w", {8, 5})));
  EXPECT_FALSE(multiply_quantized(graph));
}

// A shortcut that was quantised before is added in the program, after the sums were rounded to levels of their own.
TEST_F(BytesTest, AShortcutOfBytesIsFused) {
  const ValueId x = input("x", {3, 8}, DType::kU8), shortcut = input("shortcut", {3, 5}, DType::kU8);
  const ValueId zero = number("zero", DType::kU8, 100), scale = constant("scale", {}, {0.05f});
  const ValueId w = dequantised("w_real", constant_bytes("w", DType::kI8, {8, 5}, 5), constant("w_scale", {}, {0.01f}),
                                number("w_zero", DType::kI8, 0));
  const ValueId y = product("product", dequantised("real", x, scale, zero), w);
  const ValueId again = dequantised("again", quantised("levels", y, 0.05, 100), scale, zero);
  const ValueId sum = binary(PwOp::kAdd, "sum", again, dequantised("other", shortcut, scale, zero));
  output(quantised("y", sum, 0.1, 90));
  const std::vector<Tensor> inputs = {random_bytes(DType::kU8, {3, 8}, 1), random_bytes(DType::kU8, {3, 5}, 2)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  run_passes(graph);
  const std::string text = ir::print(graph);
  EXPECT_THAT(text, HasSubstr("%y: uint8[3, 5] = MatMul(%x, %w_real/bytes, %zero; "));
  EXPECT_EQ(graph.order().size(), 1u) << text;
  expect_close(before, ir::interpret(graph, inputs));
}

// Of two products that are added, both are bytes in memory.
TEST_F(BytesTest, ASumOfTwoProducts) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  const ValueId zero = number("zero", DType::kU8, 100), scale = constant("scale", {}, {0.05f});
  const auto branch = [&](const std::string& name, unsigned seed) {
    const ValueId w = dequantised(name + "_w", constant_bytes(name + "_q", DType::kI8, {8, 5}, seed),
                                  constant(name + "_scale", {}, {0.01f}), number(name + "_zero", DType::kI8, 0));
    const ValueId y = product(name, dequantised(name + "_x", x, scale, zero), w);
    return dequantised(name + "_again", quantised(name + "_levels", y, 0.05, 100), scale, zero);
  };
  output(quantised("y", relu("relu", binary(PwOp::kAdd, "sum", branch("a", 1), branch("b", 2))), 0.1, 0));
  const std::vector<Tensor> inputs = {random_bytes(DType::kU8, {3, 8}, 1)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  run_passes(graph);
  const std::string text = ir::print(graph);
  EXPECT_EQ(graph.order().size(), 2u) << text;
  EXPECT_THAT(text, HasSubstr("%b_levels: uint8[3, 5] = MatMul(%x, "));
  EXPECT_THAT(text, HasSubstr("%y: uint8[3, 5] = MatMul(%x, "));
  expect_close(before, ir::interpret(graph, inputs));
}

TEST_F(BytesTest, MaximaAreThoseOfBytes) {
  const ValueId x = input("x", {1, 4, 6, 6}, DType::kU8);
  const ValueId scale = constant("scale", {}, {0.02f}), zero = number("zero", DType::kU8, 131);
  PoolParams params;
  params.kernel[0] = params.kernel[1] = params.stride[0] = params.stride[1] = 2;
  const ir::Shape dims{1, 4, 3, 3};
  ir::Node& pool = node(OpKind::kPool, "pool", {dequantised("real", x, scale, zero)}, params, &dims);
  pool.scalars.assign(4, 0);
  const ValueId flat = reshape("flat", pool.outputs[0], {1, 36});
  output(quantised("y", flat, 0.02f, 131));
  const std::vector<Tensor> inputs = {random_bytes(DType::kU8, {1, 4, 6, 6}, 1)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  output(flat);
  EXPECT_TRUE(keep_bytes(graph));
  EXPECT_EQ(ir::verify(graph), "");
  EXPECT_THAT(ir::print(graph), HasSubstr("%pool/bytes: uint8[1, 4, 3, 3] = Pool(%x)"));
  EXPECT_THAT(ir::print(graph), HasSubstr("%flat/bytes: uint8[1, 36] = Reshape(%pool/bytes)"));
  EXPECT_EQ(ir::interpret(graph, inputs)[0].data, before[0].data);
}

TEST_F(BytesTest, TheSameLevelsAgainAreNothing) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  const ValueId scale = constant("scale", {}, {0.02f}), zero = number("zero", DType::kU8, 131);
  const ValueId again = quantised("again", dequantised("real", x, scale, zero), 0.02f, 131);
  const ValueId others = quantised("others", dequantised("real2", x, scale, zero), 0.03f, 131);
  output(unary(PwOp::kNeg, "y", dequantised("z", again, scale, zero)));
  output(reshape("flat", others, {24}));
  fuse_pointwise(graph);
  EXPECT_EQ(after_pass(keep_bytes, graph, {random_bytes(DType::kU8, {3, 8}, 1)}).find("%again"), std::string::npos);
  EXPECT_THAT(ir::print(graph), HasSubstr("%others"));
}

TEST_F(BytesTest, PartsOfAConcatenationAreQuantisedEach) {
  const ValueId x = input("x", {2, 3, 4}), y = input("y", {2, 5, 4});
  const ValueId whole = add(OpKind::kConcat, "whole", {x, y}, ConcatParams{1});
  output(quantised("z", whole, 0.02f, 131));
  EXPECT_THAT(
      after_pass(keep_bytes, graph,
                 {planwright::testing::random_tensor({2, 3, 4}, 1), planwright::testing::random_tensor({2, 5, 4}, 2)}),
      HasSubstr("%z: uint8[2, 8, 4] = Concat(%x/levels, %y/levels)"));
}

// Of -7 a cast to uint8 makes 249, of -7.0 a store makes 0.
TEST_F(BytesTest, SumsOfWhichTheLowBitsAreKeptAreNotFused) {
  output(
      made("y", DType::kU8, {sums()}, [](SsaProgram& p, const auto& in) { return p.convert(in[0], PwClass::kUint); }));
  ASSERT_TRUE(multiply_bytes(graph));
  EXPECT_FALSE(fuse_epilogues(graph));
}

TEST_F(BytesTest, SumsThatAreClippedToBytesAre) {
  output(made("y", DType::kU8, {sums()}, [](SsaProgram& p, const auto& in) {
    const PwValue high = p.binary(PwOp::kMax, in[0], as_int(p, p.constant(0)));
    return p.convert(p.binary(PwOp::kMin, high, as_int(p, p.constant(255))), PwClass::kUint);
  }));
  ASSERT_TRUE(multiply_bytes(graph));
  EXPECT_TRUE(fuse_epilogues(graph));
}

// In fp32 neither sum nor number has all its digits then, and they may cancel each other.
TEST_F(BytesTest, NoNumberOf25BitsIsAddedToSums) {
  for (const int32_t number : {1 << 24, -(1 << 24) - 1}) {
    graph = {};
    add_to_sums(number);
    EXPECT_FALSE(fuse_epilogues(graph)) << number;
  }
  graph = {};
  add_to_sums((1 << 24) - 1);
  EXPECT_TRUE(fuse_epilogues(graph));
}

TEST_F(BytesTest, VolumesStayInFp32) {
  const ValueId x = input("x", {1, 4, 5, 6, 7}, DType::kU8);
  const ValueId real = dequantised("real", x, constant("x_scale", {}, {0.02f}), number("x_zero", DType::kU8, 131));
  const ValueId w = dequantised("w_real", constant_bytes("w", DType::kI8, {8, 4, 3, 3, 3}, 5),
                                constant("w_scale", {}, {0.01f}), number("w_zero", DType::kI8, 0));
  ConvParams params;
  params.spatial = 3;
  const ir::Shape dims{1, 8, 3, 4, 5};
  ir::Node& node = GraphBuilder::node(OpKind::kConv, "y", {real, w}, params, &dims);
  node.scalars = {0, 0, 0};
  output(node.outputs[0]);
  EXPECT_FALSE(multiply_quantized(graph));
}

// A function of levels between levels computes in fp32 throughout, and levels that a product was made of are scaled
// once.
TEST_F(BytesTest, LevelsInsideAProgramAreFloats) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  const ValueId scale = constant("scale", {}, {0.02f}), zero = number("zero", DType::kU8, 131);
  const ValueId between = quantised("between", unary(PwOp::kAbs, "abs", dequantised("real", x, scale, zero)), 0.01, 7);
  const ValueId numbers =
      dequantised("numbers", between, constant("scale2", {}, {0.01f}), number("zero2", DType::kU8, 7));
  output(quantised("y", unary(PwOp::kNeg, "neg", numbers), 0.03, 200));
  const std::vector<Tensor> inputs = {random_bytes(DType::kU8, {3, 8}, 1)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  for (int round = 0; round < 3; ++round) {
    fuse_pointwise(graph);
    simplify_programs(graph);
  }
  EXPECT_EQ(ir::verify(graph), "");
  EXPECT_EQ(graph.order().size(), 1u);
  const std::string text = ir::print(graph);
  EXPECT_EQ(text.find("convert.i"), std::string::npos) << text;
  EXPECT_EQ(text.find("narrow"), std::string::npos) << text;
  expect_close(before, ir::interpret(graph, inputs));
}

// Each reader makes its own floats of bytes, so that the bytes are what lies in memory.
TEST_F(BytesTest, ReadersOfDequantisedBytesReadBytes) {
  const ValueId x = input("x", {3, 8}, DType::kU8);
  const ValueId real = dequantised("real", x, constant("scale", {}, {0.02f}), number("zero", DType::kU8, 131));
  output(unary(PwOp::kAbs, "y", real));
  output(unary(PwOp::kExp, "z", real));
  simplify_programs(graph);
  const std::string text = after_pass(fuse_pointwise, graph, {random_bytes(DType::kU8, {3, 8}, 1)});
  EXPECT_THAT(text, HasSubstr("%y: fp32[3, 8] = Pointwise(%x)"));
  EXPECT_THAT(text, HasSubstr("%z: fp32[3, 8] = Pointwise(%x)"));
  EXPECT_EQ(text.find("%real"), std::string::npos);
}

// Each group of few channels: kernels of fp32 are faster, but for groups of one of uint8.
TEST_F(BytesTest, GroupsOfFewChannels) {
  const auto multiplies = [&](DType type, int64_t channels, int group) {
    graph = {};
    const ValueId x = input("x", {1, channels, 5, 6}, type);
    const ValueId real = dequantised("real", x, constant("x_scale", {}, {0.02f}), number("x_zero", type, 13));
    const ValueId w = dequantised("w_real", constant_bytes("w", DType::kI8, {channels, channels / group, 3, 3}, 5),
                                  constant("w_scale", {}, {0.01f}), number("w_zero", DType::kI8, 0));
    output(conv("y", real, w, 1, group));
    return multiply_quantized(graph);
  };
  EXPECT_TRUE(multiplies(DType::kU8, 4, 4));
  EXPECT_FALSE(multiplies(DType::kI8, 4, 4));
  EXPECT_FALSE(multiplies(DType::kU8, 8, 4));
  EXPECT_TRUE(multiplies(DType::kI8, 16, 2));
}

// A product by one number, of sums that were made numbers by a scale of each column, leaves no operation: scales and
// bias have it inside.
TEST_F(BytesTest, ANumberGoesInsideNumbers) {
  const ValueId scales = constant("scales", {5}, {0.5f, 0.25f, 2, 1, 4});
  const ValueId bias = constant("bias", {5}, {1, -2, 3, -4, 5});
  output(made("y", DType::kF32, {sums(), scales, bias}, [](SsaProgram& p, const auto& in) {
    const PwValue real = p.binary(PwOp::kMul, p.convert(in[0], PwClass::kFloat), in[1]);
    return p.binary(PwOp::kMul, p.binary(PwOp::kAdd, real, in[2]), p.constant(0.25));
  }));
  ASSERT_TRUE(multiply_bytes(graph));
  const std::vector<Tensor> inputs = {random_bytes(DType::kU8, {3, 8}, 1)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  ASSERT_TRUE(fuse_epilogues(graph));
  EXPECT_EQ(ir::verify(graph), "");
  EXPECT_THAT(ir::print(graph), HasSubstr("[add(mul(acc, in0), in1)]"));
  // All are powers of two times small integers, so that nothing is rounded either way.
  EXPECT_EQ(ir::interpret(graph, inputs)[0].data, before[0].data);
}

TEST_F(BytesTest, NumbersAreQuantisedBeforeTheyAreTransposed) {
  const ValueId x = input("x", {2, 3, 4});
  output(quantised("z", transpose("moved", relu("r", x), {2, 0, 1}), 0.02f, 131));
  const std::vector<Tensor> inputs = {planwright::testing::random_tensor({2, 3, 4}, 1)};
  const std::vector<Tensor> before = ir::interpret(graph, inputs);
  EXPECT_THAT(after_pass(keep_bytes, graph, inputs), HasSubstr("%z: uint8[4, 2, 3] = Transpose(%r/levels)"));
  EXPECT_EQ(ir::interpret(graph, inputs)[0].data, before[0].data);
}

class ResizedBytesTest : public BytesTest {
 protected:
  ValueId resized(const std::string& name, ValueId x, ResizeMode mode) {
    ResizeParams params;
    params.mode = mode;
    params.scale[0] = params.scale[1] = 1;
    params.scale[2] = params.scale[3] = 2;
    const ir::Shape dims{1, 3, 8, 10};
    return add(OpKind::kResize, name, {x}, params, dims);
  }
  const std::vector<Tensor> inputs_ = {planwright::testing::random_tensor({1, 3, 4, 5}, 1)};
};

TEST_F(ResizedBytesTest, NearestMovesLevels) {
  output(quantised("z", resized("large", relu("r", input("x", {1, 3, 4, 5})), ResizeMode::kNearest), 0.02f, 131));
  const std::vector<Tensor> before = ir::interpret(graph, inputs_);
  EXPECT_THAT(after_pass(keep_bytes, graph, inputs_), HasSubstr("%z: uint8[1, 3, 8, 10] = Resize(%r/levels)"));
  EXPECT_EQ(ir::interpret(graph, inputs_)[0].data, before[0].data);
}

// Between levels there are numbers that are none.
TEST_F(ResizedBytesTest, OthersMakeNumbers) {
  output(quantised("z", resized("large", relu("r", input("x", {1, 3, 4, 5})), ResizeMode::kLinear), 0.02f, 131));
  EXPECT_EQ(after_pass(keep_bytes, graph, inputs_), "unchanged");
}

TEST_F(ResizedBytesTest, NotWhereOthersReadWhatIsMoved) {
  const ValueId large = resized("large", relu("r", input("x", {1, 3, 4, 5})), ResizeMode::kNearest);
  output(quantised("z", large, 0.02f, 131));
  output(unary(PwOp::kNeg, "y", large));
  EXPECT_EQ(after_pass(keep_bytes, graph, inputs_), "unchanged");
}

}  // namespace
}  // namespace planwright::builder
