// Weights of a few bits each: MatMulNBits, and DequantizeLinear by blocks before a MatMul.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/passes/passes.h"
#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using ::testing::HasSubstr;

template <typename T>
void add_initializer(onnx::ModelProto& proto, const std::string& name, onnx::TensorProto::DataType type,
                     const std::vector<int64_t>& dims, const std::vector<T>& elements) {
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(elements.data(), elements.size() * sizeof(T));
}

ir::Graph import_proto(const onnx::ModelProto& proto) {
  const OnnxModel model = OnnxModel::from_proto(proto);
  return import_model(model, {profile_of(model, 1, 64)});
}

// The node that multiplies, null where there is none of the kind.
const ir::Node* first_of(const ir::Graph& graph, OpKind kind) {
  for (const ir::NodeId id : graph.order()) {
    if (graph.node(id).kind == kind) return &graph.node(id);
  }
  return nullptr;
}

// ---- MatMulNBits

enum class ZeroPoints { kNone, kPacked, kFloats };

// Weights of 40 x 3 in three blocks, the last of eight rows.
class MatMulNBitsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kK = 40, kN = 3, kBlock = 16, kBlocks = 3;

  void make(int64_t bits, ZeroPoints zeros) {
    bits_ = bits;
    weights_.clear(), scales_.clear(), packed_zeros_.clear(), float_zeros_.clear();
    const int64_t column = kBlocks * kBlock * bits / 8, zero_column = (kBlocks * bits + 7) / 8;
    for (int64_t i = 0; i < kN * column; ++i) weights_.push_back(static_cast<uint8_t>(i * 89 + 13));
    for (int64_t i = 0; i < kN * kBlocks; ++i) scales_.push_back(0.125f * static_cast<float>(i - 3));
    for (int64_t i = 0; i < kN * zero_column && zeros == ZeroPoints::kPacked; ++i) {
      packed_zeros_.push_back(static_cast<uint8_t>(i * 53 + 201));
    }
    for (int64_t i = 0; i < kN * kBlocks && zeros == ZeroPoints::kFloats; ++i) {
      float_zeros_.push_back(0.75f * static_cast<float>(i));
    }
  }
  std::string node(const std::string& inputs) const {
    return fmt::format("{{ y = com.microsoft.MatMulNBits<K = {}, N = {}, block_size = {}, bits = {}>({}) }}", kK, kN,
                       kBlock, bits_, inputs);
  }
  std::string zeros_input() const { return packed_zeros_.empty() && float_zeros_.empty() ? "" : ", z"; }
  ir::Graph imported() const {
    onnx::ModelProto proto = parse_text(
        "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (float[n, 40] x) => "
        "(float[n, 3] y) " +
        node("x, w, s" + zeros_input()));
    add_initializer(proto, "w", onnx::TensorProto::UINT8, {kN, kBlocks, kBlock * bits_ / 8}, weights_);
    add_initializer(proto, "s", onnx::TensorProto::FLOAT, {kN, kBlocks}, scales_);
    if (!packed_zeros_.empty()) {
      add_initializer(proto, "z", onnx::TensorProto::UINT8, {static_cast<int64_t>(packed_zeros_.size())},
                      packed_zeros_);
    }
    if (!float_zeros_.empty()) add_initializer(proto, "z", onnx::TensorProto::FLOAT, {kN, kBlocks}, float_zeros_);
    return import_proto(proto);
  }

  static int field(const std::vector<uint8_t>& bytes, int64_t bit, int64_t bits) {
    int value = 0;
    for (int64_t i = 0; i < bits; ++i) {
      value |= (bytes[static_cast<size_t>((bit + i) / 8)] >> ((bit + i) % 8) & 1) << i;
    }
    return value;
  }
  float weight(int64_t k, int64_t n) const {
    const int64_t block = k / kBlock, index = n * kBlocks + block;
    const int level = field(weights_, (n * kBlocks * kBlock + k) * bits_, bits_);
    float zero = static_cast<float>(1 << (bits_ - 1));
    if (!packed_zeros_.empty()) {
      const int64_t column_bits = (kBlocks * bits_ + 7) / 8 * 8;
      zero = static_cast<float>(field(packed_zeros_, n * column_bits + block * bits_, bits_));
    }
    if (!float_zeros_.empty()) zero = float_zeros_[static_cast<size_t>(index)];
    return (static_cast<float>(level) - zero) * scales_[static_cast<size_t>(index)];
  }
  // What rows of a one and zeros find are the weights.
  void expect_weights(const ir::Graph& graph) const {
    std::vector<float> identity(static_cast<size_t>(kK * kK));
    for (size_t k = 0; k < static_cast<size_t>(kK); ++k) identity[k * static_cast<size_t>(kK) + k] = 1;
    const std::vector<float> found = elements_of<float>(ir::interpret(graph, {floats({kK, kK}, identity)}).at(0));
    for (int64_t k = 0; k < kK; ++k) {
      for (int64_t n = 0; n < kN; ++n) {
        EXPECT_NEAR(found[static_cast<size_t>(k * kN + n)], weight(k, n), 1e-4f) << k << ", " << n;
      }
    }
  }

  int64_t bits_ = 4;
  std::vector<uint8_t> weights_, packed_zeros_;
  std::vector<float> scales_, float_zeros_;
};

TEST_F(MatMulNBitsTest, KnownWeightsStayAsNarrowAsTheyAre) {
  for (const int64_t bits : {2, 4, 8}) {
    for (const ZeroPoints zeros : {ZeroPoints::kNone, ZeroPoints::kPacked, ZeroPoints::kFloats}) {
      SCOPED_TRACE(fmt::format("{} bits, zero points {}", bits, static_cast<int>(zeros)));
      make(bits, zeros);
      const ir::Graph graph = imported();
      const ir::Node* product = first_of(graph, OpKind::kBlockMatMul);
      ASSERT_NE(product, nullptr);
      EXPECT_EQ(graph.value(product->inputs[1]).dtype, bits == 8 ? DType::kI8 : DType::kI4);
      EXPECT_EQ(product->as<BlockMatMulParams>().block, kBlock);
      expect_weights(graph);
    }
  }
}

// A zero point in the middle or near it needs no product of its own.
TEST_F(MatMulNBitsTest, ZeroPointsThatFitAreTakenAway) {
  make(4, ZeroPoints::kNone);
  EXPECT_EQ(first_of(imported(), OpKind::kMatMul), nullptr);
  make(4, ZeroPoints::kFloats);
  EXPECT_NE(first_of(imported(), OpKind::kMatMul), nullptr);
}

TEST_F(MatMulNBitsTest, InputsOfOtherSizesAreNamed) {
  make(4, ZeroPoints::kPacked);
  weights_.pop_back();
  packed_zeros_.pop_back();
  onnx::ModelProto proto = parse_text(
      "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (float[n, 40] x) => (float[n, 3] y) " +
      node("x, w, s, z"));
  add_initializer(proto, "s", onnx::TensorProto::FLOAT, {kN, kBlocks}, scales_);
  add_initializer(proto, "z", onnx::TensorProto::UINT8, {static_cast<int64_t>(packed_zeros_.size())}, packed_zeros_);
  onnx::ModelProto whole = proto;
  add_initializer(proto, "w", onnx::TensorProto::UINT8, {static_cast<int64_t>(weights_.size())}, weights_);
  EXPECT_THAT(failure_of([&] { import_proto(proto); }).message, HasSubstr("its weights hold 71 bytes"));
  weights_.push_back(0);
  add_initializer(whole, "w", onnx::TensorProto::UINT8, {static_cast<int64_t>(weights_.size())}, weights_);
  EXPECT_THAT(failure_of([&] { import_proto(whole); }).message, HasSubstr("its zero points hold 5 bytes"));
}

TEST_F(MatMulNBitsTest, IntegersTimesWeightsAreRefused) {
  make(4, ZeroPoints::kNone);
  onnx::ModelProto proto = parse_text(
      "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (int32[n, 40] x) => (int32[n, 3] y) " +
      node("x, w, s"));
  add_initializer(proto, "w", onnx::TensorProto::UINT8, {kN, kBlocks, kBlock * bits_ / 8}, weights_);
  add_initializer(proto, "s", onnx::TensorProto::INT32, {kN, kBlocks}, std::vector<int32_t>(kN * kBlocks, 1));
  EXPECT_THAT(failure_of([&] { import_proto(proto); }).message, HasSubstr("its input must be of floats"));
}

// ---- DequantizeLinear by blocks

// So many weights that no node which repeats their scales would be folded, in blocks that fill their axis and that do
// not.
TEST(BlockedDequantizeLinear, LargeWeightsStayInFourBits) {
  for (const int64_t rows : {640, 650}) {
    constexpr int64_t kColumns = 256;
    const int64_t blocks = (rows + 31) / 32;
    onnx::ModelProto proto = parse_text(
        fmt::format("<ir_version: 10, opset_import: [\"\" : 21]> g (float[n, {0}] x) => (float[n, 256] y) {{ "
                    "f = DequantizeLinear<axis = 0, block_size = 32>(w, s) y = MatMul(x, f) }}",
                    rows));
    std::vector<uint8_t> weights;
    for (int64_t i = 0; i < rows * kColumns / 2; ++i) weights.push_back(static_cast<uint8_t>(i * 89 + i / 251));
    std::vector<float> scales;
    for (int64_t i = 0; i < blocks * kColumns; ++i) scales.push_back(0.01f + 0.001f * static_cast<float>(i % 7));
    add_initializer(proto, "w", onnx::TensorProto::INT4, {rows, kColumns}, weights);
    add_initializer(proto, "s", onnx::TensorProto::FLOAT, {blocks, kColumns}, scales);
    ir::Graph graph = import_proto(proto);
    run_passes(graph);
    ASSERT_EQ(graph.order().size(), 1u);
    const ir::Node& product = graph.node(graph.order()[0]);
    ASSERT_EQ(product.kind, OpKind::kBlockMatMul);
    EXPECT_EQ(graph.value(product.inputs[1]).dtype, DType::kI4);
    EXPECT_EQ(product.as<BlockMatMulParams>().block, 32);
  }
}

}  // namespace
}  // namespace planwright::builder
