// Types of eight bits and fewer on their way in: how tensors pack them, and what the operators that convert make of
// them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "builder/onnx/tensor_data.h"
#include "schemas/types/minifloat.h"
#include "tests/support/minifloat_oracle.h"
#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using planwright::testing::kInf;
using planwright::testing::kMinifloats;
using planwright::testing::kNan;
using planwright::testing::Minifloat;

std::vector<double> values_of(const ir::Tensor& tensor) {
  std::vector<double> values;
  for (const std::byte byte : tensor.data) {
    values.push_back(static_cast<double>(value_of_byte(tensor.dtype, std::to_integer<uint8_t>(byte))));
  }
  return values;
}

void expect_values(const std::vector<double>& actual, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool same = std::isnan(expected[i])
                          ? std::isnan(actual[i])
                          : actual[i] == expected[i] && std::signbit(actual[i]) == std::signbit(expected[i]);
    EXPECT_TRUE(same) << what << " at " << i << ": " << actual[i] << ", wanted " << expected[i];
  }
}

std::string type_text(DType type) { return onnx_type_name(onnx_type_of(type)); }

// The graph of one node that converts x, n elements of `from`, to `to`.
std::string conversion(const std::string& node, DType from, DType to) {
  return fmt::format("({}[n] x) => ({}[n] y) {{ y = {}(x) }}", type_text(from), type_text(to), node);
}
std::string cast_node(DType to, const std::string& more = "") {
  return fmt::format("Cast<to = {}{}>", onnx_type_of(to), more);
}

ir::Tensor cast(const ir::Tensor& x, DType to, const std::string& more = "") {
  return run_text(28, conversion(cast_node(to, more), x.dtype, to), {x});
}

template <typename T>
ir::Tensor list(DType dtype, const std::vector<T>& elements) {
  return tensor_of(dtype, {static_cast<int64_t>(elements.size())}, elements);
}

// At most 64 elements fit the profile of run_text.
template <typename T>
std::vector<std::vector<T>> pieces_of(const std::vector<T>& all) {
  std::vector<std::vector<T>> pieces;
  for (size_t at = 0; at < all.size(); at += 64) {
    pieces.emplace_back(all.begin() + static_cast<int64_t>(at),
                        all.begin() + static_cast<int64_t>(std::min(all.size(), at + 64)));
  }
  return pieces;
}

// ---- Tensors

onnx::TensorProto proto_of(DType dtype, int64_t count) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx_type_of(dtype));
  proto.add_dims(count);
  return proto;
}

TEST(PackedTensors, ElementsFollowFromTheLowBits) {
  struct Packed {
    DType dtype;
    std::vector<uint8_t> bytes;
    std::vector<double> values;
  };
  const Packed cases[] = {
      {DType::kU4, {0x21, 0xF3, 0x07}, {1, 2, 3, 15, 7}},
      {DType::kI4, {0x8F, 0x07}, {-1, -8, 7}},
      {DType::kF4E2M1, {0x91, 0xFF}, {0.5, -0.5, -6, -6}},
      {DType::kU2, {0xE4, 0x02}, {0, 1, 2, 3, 2}},
      {DType::kI2, {0xE4}, {0, 1, -2, -1}},
      {DType::kU4, {}, {}},
      // 0x08 | 0x1F << 6 | 0x20 << 12 | 0x3F << 18, then 0x01
      {DType::kF6E2M3, {0xC8, 0x07, 0xFE, 0x01}, {1, 7.5, -0.0, -7.5, 0.125}},
  };
  for (const Packed& one : cases) {
    onnx::TensorProto raw = proto_of(one.dtype, static_cast<int64_t>(one.values.size()));
    raw.set_raw_data(std::string(one.bytes.begin(), one.bytes.end()));
    const ir::Tensor tensor = read_tensor(raw, "raw");
    expect_values(values_of(tensor), one.values, name_of(one.dtype));
    // The bits past the last element are zero here, so packing again gives the same bytes.
    EXPECT_EQ(
        raw_data_of(one.dtype, std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size())),
        raw.raw_data());
    EXPECT_EQ(raw_bytes(raw, "raw"), one.bytes.size());
    EXPECT_EQ(tensor_bytes(raw, "raw"), one.values.size());

    onnx::TensorProto typed = proto_of(one.dtype, static_cast<int64_t>(one.values.size()));
    if (bit_width(one.dtype) == 6) {  // one an entry there
      for (const std::byte code : tensor.data) typed.add_int32_data(0x40 | std::to_integer<int>(code));
    } else {
      for (const uint8_t byte : one.bytes) typed.add_int32_data(byte);
    }
    EXPECT_EQ(read_tensor(typed, "typed").data, tensor.data) << name_of(one.dtype);

    raw.mutable_raw_data()->push_back('\0');
    EXPECT_EQ(failure_of([&] { read_tensor(raw, "raw"); }).code, StatusCode::kInvalid) << "a byte too many";
  }
}

TEST(PackedTensors, BytesOfEightBitTypesAreCodes) {
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0}) {
    onnx::TensorProto raw = proto_of(dtype, 2), typed = proto_of(dtype, 2);
    raw.set_raw_data("\x38\xC1");
    typed.add_int32_data(0x38);
    typed.add_int32_data(0xC1);
    EXPECT_EQ(read_tensor(raw, "raw").data, (ir::Bytes{std::byte{0x38}, std::byte{0xC1}})) << name_of(dtype);
    EXPECT_EQ(read_tensor(typed, "typed").data, read_tensor(raw, "raw").data);
    EXPECT_EQ(dtype_of_onnx(onnx_type_of(dtype)), dtype);
  }
}

TEST(PackedTensors, TooFewBytesAreInvalid) {
  for (const auto& [dtype, bytes] :
       {std::pair(DType::kI4, 2), {DType::kU2, 1}, {DType::kF6E3M2, 3}, {DType::kF4E2M1, 2}}) {
    onnx::TensorProto proto = proto_of(dtype, 5);
    proto.set_raw_data(std::string(static_cast<size_t>(bytes), '\0'));
    EXPECT_EQ(failure_of([&] { read_tensor(proto, "it"); }).code, StatusCode::kInvalid) << name_of(dtype);
  }
}

TEST(PackedTensors, SparseOnesArePackedWhenDense) {
  onnx::ModelProto proto = builder::proto_of(25, "() => (int8[5] y) { y = Cast<to = 3>(w) }");
  onnx::SparseTensorProto& sparse = *proto.mutable_graph()->add_sparse_initializer();
  sparse.add_dims(5);
  *sparse.mutable_values() = builder::proto_of(25, "() => () <int8[1] unused = {1}> {}").graph().initializer(0);
  sparse.mutable_values()->set_name("w");
  sparse.mutable_values()->set_data_type(onnx::TensorProto::INT4);
  sparse.mutable_values()->set_dims(0, 2);
  sparse.mutable_values()->clear_raw_data();
  sparse.mutable_values()->clear_int32_data();
  sparse.mutable_values()->add_int32_data(0x7F);  // -1, 7
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(2);
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(4);
  const OnnxModel model = OnnxModel::from_proto(proto);
  const ir::Graph graph = import_model(model, {Profile{}});
  EXPECT_EQ(elements_of<int8_t>(ir::interpret(graph, {}).at(0)), (std::vector<int8_t>{0, -1, 0, 0, 7}));
}

// ---- Cast

TEST(CastToMinifloat, EveryTieAndEndIsRoundedAsTheTablesSay) {
  for (const Minifloat& type : kMinifloats) {
    for (const bool saturates : {true, false}) {
      for (const std::vector<float>& piece : pieces_of(points_of(type))) {
        std::vector<double> expected;
        for (const float x : piece) expected.push_back(rounded(type, static_cast<double>(x), saturates));
        const std::string more = saturates ? "" : ", saturate = 0";
        expect_values(values_of(cast(list(DType::kF32, piece), type.dtype, more)), expected,
                      std::string(name_of(type.dtype)) + more);
      }
    }
  }
}

// A double next to a tie, which a float would be rounded to first.
TEST(CastToMinifloat, DoublesAndIntegersAreRoundedOnce) {
  for (const Minifloat& type : kMinifloats) {
    const double one_step = std::exp2(-type.mantissa_bits), tie = 1 + one_step / 2;
    const std::vector<double> x = {tie, std::nextafter(tie, 2), std::nextafter(tie, 0), -std::nextafter(tie, 2), 1e300,
                                   kInf};
    std::vector<double> expected;
    for (const double value : x) expected.push_back(rounded(type, value, true));
    expect_values(values_of(cast(list(DType::kF64, x), type.dtype)), expected, name_of(type.dtype));
  }
  expect_values(
      values_of(cast(list<int64_t>(DType::kI64, {25, -25, 27, int64_t{1} << 40, INT64_MIN}), DType::kF8E4M3FN)),
      {24, -24, 28, 448, -448}, "of int64");
  expect_values(values_of(cast(list<uint8_t>(DType::kBool, {0, 1, 1}), DType::kF8E5M2)), {0, 1, 1}, "of bool");
}

TEST(CastFromMinifloat, EveryCodeIsExact) {
  for (const Minifloat& type : kMinifloats) {
    std::vector<uint8_t> codes;
    for (int code = 0; code < code_count(type); ++code) codes.push_back(static_cast<uint8_t>(code));
    for (const std::vector<uint8_t>& piece : pieces_of(codes)) {
      std::vector<double> expected;
      for (const uint8_t code : piece) expected.push_back(value_of_code(type, code));
      const ir::Tensor x = list(type.dtype, piece);
      expect_values(elements_of<double>(cast(x, DType::kF64)), expected, name_of(type.dtype));
      const std::vector<float> singles = elements_of<float>(cast(x, DType::kF32));
      expect_values({singles.begin(), singles.end()}, expected, name_of(type.dtype));
    }
  }
}

TEST(CastToE8m0, EveryRoundModeIsExact) {
  std::vector<float> x = {0x1p-127f, 0x1.8p-127f, 0x1p127f, 3.0f, 1.0f, 0.7f};
  for (int exponent = -126; exponent < 127; exponent += 11) {
    const float power = std::ldexp(1.0f, exponent);
    for (const float value : {power, power * 1.25f, power * 1.5f, power * 1.75f, std::nextafter(power, 3e38f)}) {
      x.push_back(value);
    }
  }
  for (const std::string mode : {"up", "down", "nearest"}) {
    for (const char* saturate : {"1", "0"}) {
      for (const std::vector<float>& piece : pieces_of(x)) {
        std::vector<double> expected;
        for (const float value : piece) {
          const double below = std::exp2(std::floor(std::log2(static_cast<double>(value))));
          const double above = below == static_cast<double>(value) ? below : 2 * below;
          const bool goes_up = mode == "up" || (mode == "nearest" && static_cast<double>(value) >= below * 1.5);
          expected.push_back(goes_up ? above : below);
        }
        const std::string more = fmt::format(", saturate = {}, round_mode = \"{}\"", saturate, mode);
        expect_values(values_of(cast(list(DType::kF32, piece), DType::kF8E8M0, more)), expected, more);
      }
    }
  }
}

TEST(CastToE8m0, WhatIsOutOfRangeSaturatesOrIsNan) {
  const std::vector<double> x = {0, 0x1p-128, 0x1p-1000, kInf, 0x1.8p127, 1e300, kNan};
  expect_values(values_of(cast(list(DType::kF64, x), DType::kF8E8M0)),
                {0x1p-127, 0x1p-127, 0x1p-127, 0x1p127, 0x1p127, 0x1p127, kNan}, "saturated");
  for (const std::string mode : {"up", "down", "nearest"}) {
    expect_values(
        values_of(cast(list(DType::kF64, x), DType::kF8E8M0, fmt::format(", saturate = 0, round_mode = \"{}\"", mode))),
        std::vector<double>(x.size(), kNan), mode);
  }
  const Failure failure =
      import_failure(25, conversion(cast_node(DType::kF8E8M0, ", round_mode = \"odd\""), DType::kF32, DType::kF8E8M0));
  EXPECT_TRUE(failure.code == StatusCode::kInvalid && failure.mentions("odd")) << failure;
}

TEST(CastToSubByteInt, KeepsTheLowBits) {
  std::vector<int32_t> x;
  for (int32_t value = -20; value <= 20; ++value) x.push_back(value);
  x.insert(x.end(), {INT32_MIN, INT32_MAX, 1000});
  for (const DType type : {DType::kI4, DType::kU4, DType::kI2, DType::kU2}) {
    const int count = 1 << bit_width(type);
    std::vector<double> expected;
    for (const int32_t value : x) {
      const int low = static_cast<int>(static_cast<uint32_t>(value) % static_cast<uint32_t>(count));
      expected.push_back(is_unsigned(type) || low < count / 2 ? low : low - count);
    }
    expect_values(values_of(cast(list(DType::kI32, x), type)), expected, name_of(type));
    // Floats lose their fraction first.
    std::vector<float> halves;
    for (const int32_t value : x) halves.push_back(static_cast<float>(value) + (value < 0 ? -0.5f : 0.5f));
    halves.resize(41);
    expected.resize(41);
    expect_values(values_of(cast(list(DType::kF32, halves), type)), expected, name_of(type));
  }
}

// ---- BitCast

TEST(BitCast, OfAnotherWidthIsInvalid) {
  for (const DType to : {DType::kI8, DType::kU2, DType::kF6E2M3}) {
    const std::string node = fmt::format("BitCast<to = {}>", onnx_type_of(to));
    const Failure failure = import_failure(26, conversion(node, DType::kI4, to));
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  }
}

TEST(BitCast, GoesThereAndBack) {
  const std::string graph = "(float[3] x) => (float[3] y) { b = BitCast<to = 12>(x) y = BitCast<to = 1>(b) }";
  EXPECT_EQ(elements_of<float>(run_text(26, graph, {floats({3}, {1, -0.0f, 3e-40f})})),
            (std::vector<float>{1, -0.0f, 3e-40f}));
  const ir::Tensor codes = list<int8_t>(DType::kI4, {-8, -1, 7});
  expect_values(values_of(run_text(26, conversion("BitCast<to = 21>", DType::kI4, DType::kU4), {codes})), {8, 15, 7},
                "uint4");
}

// ---- QuantizeLinear, DequantizeLinear

TEST(QuantizeLinear, OfMinifloatsRoundsOnceAndSaturatesIfTold) {
  const std::string graph =
      "(float[4] x, float s) => (float8e5m2[4] y) { y = QuantizeLinear<output_dtype = 19, saturate = ";
  const std::vector<ir::Tensor> inputs = {floats({4}, {1e6f, -1e6f, 3.3f, 0.25f}), floats({}, {2})};
  expect_values(values_of(run_text(23, graph + "1>(x, s) }", inputs)), {57344, -57344, 1.75, 0.125}, "saturated");
  expect_values(values_of(run_text(23, graph + "0>(x, s) }", inputs)), {kInf, -kInf, 1.75, 0.125}, "not saturated");
}

TEST(QuantizeLinear, ThePrecisionAttributeRoundsTheQuotient) {
  // 2051 / 2 is 1025.5, which float16 rounds to 1026 and float to 1026 only when rounded to an integer; 4099 / 4 is
  // 1024.75, in float16 1025.
  const std::string graph = "(float[1] x, float s) => (uint16[1] y) { y = QuantizeLinear<output_dtype = 4";
  const std::vector<ir::Tensor> inputs = {floats({1}, {4097}), floats({}, {2})};
  // 4097 is no float16: it becomes 4096.
  EXPECT_EQ(elements_of<uint16_t>(run_text(23, graph + ">(x, s) }", inputs)), std::vector<uint16_t>{2048});
  const std::vector<ir::Tensor> odd = {floats({1}, {4099}), floats({}, {2})};
  EXPECT_EQ(elements_of<uint16_t>(run_text(23, graph + ">(x, s) }", odd)), std::vector<uint16_t>{2050});
  EXPECT_EQ(
      elements_of<uint16_t>(run_text(23, graph + ", precision = 10>(x, s) }", {floats({1}, {4107}), floats({}, {2})})),
      std::vector<uint16_t>{2054});
}

TEST(QuantizeLinear, OfIntegersDividesThemAsReals) {
  const ir::Tensor x = list<int32_t>(DType::kI32, {7, -7, 9}), s = tensor_of<int32_t>(DType::kI32, {}, {2});
  EXPECT_EQ(elements_of<int8_t>(run_text(
                23, "(int32[3] x, int32 s) => (int8[3] y) { y = QuantizeLinear<output_dtype = 3>(x, s) }", {x, s})),
            (std::vector<int8_t>{4, -4, 4}));
}

TEST(QuantizeLinear, BlocksOfFourBitIntegersComeBack) {
  const std::string graph =
      "(float[2, 4] x, float[2, 2] s) => (float[2, 4] y) { q = QuantizeLinear<axis = 1, block_size = 2, output_dtype = "
      "22>"
      "(x, s) y = DequantizeLinear<axis = 1, block_size = 2>(q, s) }";
  const std::vector<float> x = {2, -16, 0.5f, 3.5f, -1, 7, 700, -700};
  EXPECT_EQ(elements_of<float>(run_text(23, graph, {floats({2, 4}, x), floats({2, 2}, {2, 0.5f, 1, 100})})),
            (std::vector<float>{2, -16, 0.5f, 3.5f, -1, 7, 700, -700}));
}

// They were refused; quantisers of weights in four bits write them.
TEST(DequantizeLinear, ScalesMayBeNegative) {
  const std::string graph =
      "(int4[2] x) => (float[2] y) <float[2] s = {-0.5, 2.0}> { y = DequantizeLinear<axis = 0>(x, s) }";
  const ir::Tensor x = list<uint8_t>(DType::kI4, {0x7, 0xD});
  EXPECT_EQ(elements_of<float>(run_text(21, graph, {x})), (std::vector<float>{-3.5f, -6}));
}

TEST(QuantizeLinear, ScalesMayBeNegative) {
  const std::string graph =
      "(float[2] x) => (int8[2] y) <float s = {-0.5}, int8 z = {1}> { y = QuantizeLinear(x, s, z) }";
  EXPECT_EQ(elements_of<int8_t>(run_text(21, graph, {floats({2}, {1, -2})})), (std::vector<int8_t>{-1, 5}));
}

TEST(QLinearMatMul, OfMinifloatsMultipliesThemAsFloats) {
  const std::string graph =
      "(float8e4m3fn[1, 2] a, float8e4m3fn[2, 1] b, float s, float8e4m3fn z) => (float8e4m3fn[1, 1] y) "
      "{ y = QLinearMatMul(a, s, z, b, s, z, s, z) }";
  const auto codes = [](const std::vector<int64_t>& dims, const std::vector<uint8_t>& elements) {
    return tensor_of(DType::kF8E4M3FN, dims, elements);
  };
  // (1 * 0.5 + 2 * -1.25) * (2 * 2 / 2)
  const std::vector<ir::Tensor> inputs = {codes({1, 2}, {0x38, 0x40}), codes({2, 1}, {0x30, 0xBA}), floats({}, {2}),
                                          codes({}, {0})};
  expect_values(values_of(run_text(21, graph, inputs)), {-4}, "product");
}

TEST(DequantizeLinear, ScalesMayBePowersOfTwoAlone) {
  const std::string graph =
      "(float4e2m1[2] x, float8e8m0[2] s) => (float[2] y) { y = DequantizeLinear<axis = 0, output_dtype = 1>(x, s) }";
  const ir::Tensor x = list<uint8_t>(DType::kF4E2M1, {0x7, 0x9}), s = list<uint8_t>(DType::kF8E8M0, {128, 125});
  EXPECT_EQ(elements_of<float>(run_text(25, graph, {x, s})), (std::vector<float>{12, -0.125f}));
}

}  // namespace
}  // namespace planwright::builder
