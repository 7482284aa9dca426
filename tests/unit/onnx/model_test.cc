// FAULTS B1, B2, B7, B8, B11-B13 and what a model says of its inputs and outputs.
#include "builder/onnx/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace planwright::builder {
namespace {

using testing::ElementsAre;

class ModelFile : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    std::ofstream(folder_.file("model.onnx"), std::ios::binary) << bytes;
    return folder_.file("model.onnx");
  }
  static Failure load(const std::string& path) {
    return failure_of([&] { OnnxModel::load(path); });
  }
  tests::TemporaryFolder folder_;
};

TEST_F(ModelFile, IsRead) {
  const std::string path = write(proto_of(13, "(float[2] x) => (float[2] y) { y = Relu(x) }").SerializeAsString());
  const OnnxModel model = OnnxModel::load(path);
  EXPECT_EQ(model.inputs().at(0).name, "x");
  EXPECT_EQ(model.folder(), folder_.path().string());
}

TEST_F(ModelFile, EmptyIsInvalid) {
  const Failure failure = load(write(""));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("empty")) << failure;
}

TEST_F(ModelFile, TextIsInvalid) {
  const Failure failure = load(write("this is not a model at all"));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("protobuf")) << failure;
}

TEST_F(ModelFile, EveryTruncationIsInvalid) {
  const std::string bytes =
      proto_of(13, "(float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add(x, w) }").SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Failure failure = load(write(bytes.substr(0, size)));
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << size << ": " << failure;
  }
}

TEST_F(ModelFile, MissingOrDirectoryIsIo) {
  EXPECT_EQ(load(folder_.file("nowhere.onnx")).code, StatusCode::kIo);
  const Failure failure = load(folder_.path().string());
  EXPECT_EQ(failure.code, StatusCode::kIo);
  EXPECT_TRUE(failure.mentions("directory")) << failure;
}

TEST_F(ModelFile, FifoIsIo) {
  ASSERT_EQ(mkfifo(folder_.file("fifo").c_str(), 0600), 0);
  EXPECT_EQ(load(folder_.file("fifo")).code, StatusCode::kIo);
}

TEST_F(ModelFile, Above2GiBIsInvalidAndNamesTheLimit) {
  const std::string path = write("x");
  std::filesystem::resize_file(path, uint64_t{1} << 31);  // sparse
  const Failure failure = load(path);
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("2 GiB")) << failure;
}

TEST_F(ModelFile, NestedTooDeepIsInvalidAndNamesTheLimit) {
  onnx::ModelProto model = proto_of(13, "(float[2] x) => (float[2] y) { y = Relu(x) }");
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 60; ++depth) {
    onnx::AttributeProto* attribute = graph->add_node()->add_attribute();
    attribute->set_name("g");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
  }
  const Failure failure = load(write(model.SerializeAsString()));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("100")) << failure;
}

// ---- Tensors

Failure load_proto(const onnx::ModelProto& proto) {
  return failure_of([&] { OnnxModel::from_proto(proto); });
}

onnx::ModelProto with_initializer() {
  return proto_of(13, "(float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add(x, w) }");
}

TEST(ModelTensor, RawDataUnlikeItsDimsIsInvalid) {
  onnx::ModelProto model = with_initializer();
  onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_raw_data(std::string(7, '\0'));
  const Failure failure = load_proto(model);
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("'w'") && failure.mentions("7") && failure.mentions("8")) << failure;
}

TEST(ModelTensor, NegativeOverflowingAndTooManyDimsAreInvalid) {
  const int64_t huge = int64_t{1} << 40;
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{-2}, std::vector<int64_t>{huge, huge}, std::vector<int64_t>(9, 1)}) {
    onnx::ModelProto model = with_initializer();
    onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
    w.clear_dims();
    for (const int64_t dim : dims) w.add_dims(dim);
    const Failure failure = load_proto(model);
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << dims.size();
    EXPECT_TRUE(failure.mentions("'w'")) << failure;
  }
}

TEST(ModelTensor, InputOfNineAxesIsInvalid) {
  const Failure failure =
      load_proto(proto_of(13, "(float[1,1,1,1,1,1,1,1,1] x) => (float[1,1,1,1,1,1,1,1,1] y) { y = Relu(x) }"));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("'x'")) << failure;
}

TEST(ModelTensor, SparseInitializersAreExpanded) {
  onnx::ModelProto proto = with_initializer();
  proto.mutable_graph()->clear_initializer();
  onnx::SparseTensorProto& sparse = *proto.mutable_graph()->add_sparse_initializer();
  sparse.add_dims(2);
  sparse.mutable_values()->set_name("w");
  sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(1);
  const ir::Graph graph = import_model(OnnxModel::from_proto(proto), {});
  EXPECT_THAT(elements_of<float>(ir::interpret(graph, {floats({2}, {1, 1})})[0]), ElementsAre(1, 6));

  proto.mutable_graph()->mutable_sparse_initializer(0)->mutable_indices()->set_int64_data(0, 2);
  EXPECT_EQ(load_proto(proto).code, StatusCode::kInvalid);
}

// ---- The graph's names

TEST(ModelGraph, CycleIsNamed) {
  const Failure failure =
      load_proto(proto_of(13, "(float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Relu(b) }"));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("cycle") && failure.mentions("a (Add)") && failure.mentions("b (Relu)")) << failure;
  EXPECT_FALSE(failure.mentions("y (Relu)")) << failure;
}

TEST(ModelGraph, UnsortedNodesAreSorted) {
  const OnnxModel model = model_of(13, "(float[2] x) => (float[2] y) { y = Neg(b) b = Abs(a) a = Relu(x) }");
  std::vector<std::string> order;
  for (const onnx::NodeProto& node : model.proto().graph().node()) order.push_back(node.op_type());
  EXPECT_THAT(order, ElementsAre("Relu", "Abs", "Neg"));
}

TEST(ModelGraph, SortedNodesStayInTheirOrder) {
  const OnnxModel model = model_of(13, "(float[2] x) => (float[2] y) { b = Abs(x) a = Relu(x) y = Add(a, b) }");
  EXPECT_EQ(model.proto().graph().node(0).op_type(), "Abs");
}

TEST(ModelGraph, DuplicateNamesAreInvalid) {
  for (const char* graph : {"(float[2] x) => (float[2] y) { y = Relu(x) y = Abs(x) }",
                            "(float[2] x) => (float[2] y) { x = Relu(x) y = Abs(x) }",
                            "(float[2] x) => (float[2] y, float[2] y) { y = Relu(x) }",
                            "(float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }"}) {
    EXPECT_EQ(load_proto(proto_of(13, graph)).code, StatusCode::kInvalid) << graph;
  }
  onnx::ModelProto model = with_initializer();
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  EXPECT_EQ(load_proto(model).code, StatusCode::kInvalid);
}

// ONNX asks for names of their own only where a name outside is already made.
TEST(ModelGraph, ABodyMayUseNamesThatAreMadeLater) {
  const char* same =
      "(float[2] x, bool c) => (float[2] y) { y = If(c) <then_branch = a () => (float[2] y) { y = Neg(x) }, "
      "else_branch = b () => (float[2] z) { z = Abs(x) }> }";
  const char* later =
      "(float[2] x, bool c) => (float[2] y) { u = If(c) <then_branch = a () => (float[2] v) { y = Neg(x) v = "
      "Neg(y) }, else_branch = b () => (float[2] z) { z = Abs(x) }> y = Relu(u) }";
  const char* earlier =
      "(float[2] x, bool c) => (float[2] y) { w = Neg(x) y = If(c) <then_branch = a () => (float[2] w) { "
      "w = Neg(x) }, else_branch = b () => (float[2] z) { z = Abs(w) }> }";
  EXPECT_EQ(import_failure(16, same), Failure());
  EXPECT_EQ(import_failure(16, later), Failure());
  EXPECT_TRUE(import_failure(16, earlier).mentions("has the name of another value"));
}

TEST(ModelGraph, UndefinedInputIsNamed) {
  const Failure failure = load_proto(proto_of(13, "(float[2] x) => (float[2] y) { y = Add(x, ghost) }"));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("y (Add)") && failure.mentions("'ghost'")) << failure;
}

TEST(ModelGraph, UndefinedOutputIsNamed) {
  const Failure failure = load_proto(proto_of(13, "(float[2] x) => (float[2] z) { y = Relu(x) }"));
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("'z'")) << failure;
}

TEST(ModelGraph, UnusedOutputsAndInputsAreFine) {
  const OnnxModel model = model_of(13, "(float[2] x, float[3] unused) => (float[2] y) { y = Relu(x) dead = Abs(x) }");
  const ir::Graph graph = import_model(model, {});
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.order().size(), 1u);  // dead work is not imported
}

TEST(ModelGraph, NestingOverSixteenIsUnsupported) {
  onnx::ModelProto model = proto_of(13, "(float[2] x) => (float[2] y) { y = Relu(x) }");
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 17; ++depth) {
    onnx::NodeProto* node = graph->add_node();
    node->set_op_type("If");
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    graph = attribute->mutable_g();
  }
  EXPECT_EQ(load_proto(model).code, StatusCode::kUnsupported);
}

// ---- Inputs and outputs

TEST(ModelDeclarations, DynamicDimsAndTheirNames) {
  onnx::ModelProto proto = proto_of(13, "(float[batch, 3, q] x) => (float[batch, 3, q] y) { y = Relu(x) }");
  onnx::TypeProto& type = *proto.mutable_graph()->mutable_input(0)->mutable_type();
  type.mutable_tensor_type()->mutable_shape()->mutable_dim(2)->set_dim_param("?");
  const OnnxModel model = OnnxModel::from_proto(proto);
  const TensorDecl& x = model.inputs()[0];
  EXPECT_THAT(x.dims, ElementsAre(-1, 3, -1));
  EXPECT_THAT(x.dim_names, ElementsAre("batch", "", ""));
  EXPECT_FALSE(x.is_static());
}

TEST(ModelDeclarations, InitializersListedAsInputsAreNone) {
  onnx::ModelProto proto = with_initializer();
  onnx::ValueInfoProto& info = *proto.mutable_graph()->add_input();
  info = proto.graph().input(0);
  info.set_name("w");
  EXPECT_EQ(OnnxModel::from_proto(proto).inputs().size(), 1u);
}

TEST(ModelDeclarations, InputWithoutATypeIsInvalid) {
  onnx::ModelProto proto = with_initializer();
  proto.mutable_graph()->mutable_input(0)->clear_type();
  const Failure failure = load_proto(proto);
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("'x'") && failure.mentions("type")) << failure;
}

// FAULTS B7: which of the two would be meant?
TEST(ModelTensors, ElementsGivenTwiceAreInvalid) {
  onnx::ModelProto proto = proto_of(13, "(float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }");
  onnx::TensorProto& w = *proto.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_raw_data(std::string(4, '\0'));
  EXPECT_NO_THROW(OnnxModel::from_proto(proto));
  w.add_float_data(1);
  const Failure failure = failure_of([&] { OnnxModel::from_proto(proto); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("twice")) << failure;
}

// FAULTS B19.
TEST(ModelTensors, NanIsWarnedOfByName) {
  const auto warnings = [](float element) {
    onnx::ModelProto proto = proto_of(13, "(float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }");
    proto.mutable_graph()->mutable_initializer(0)->set_float_data(0, element);
    return OnnxModel::from_proto(proto).warnings();
  };
  EXPECT_TRUE(warnings(1).empty());
  ASSERT_EQ(warnings(std::numeric_limits<float>::quiet_NaN()).size(), 1u);
  EXPECT_NE(warnings(std::numeric_limits<float>::quiet_NaN())[0].find("'w' holds NaN"), std::string::npos);
}

TEST(ModelDeclarations, NoGraphIsInvalid) {
  onnx::ModelProto proto = with_initializer();
  proto.clear_graph();
  EXPECT_EQ(load_proto(proto).code, StatusCode::kInvalid);
}

TEST(ModelDeclarations, NewerIrVersionIsUnsupported) {
  onnx::ModelProto proto = with_initializer();
  proto.set_ir_version(9999);
  EXPECT_EQ(load_proto(proto).code, StatusCode::kUnsupported);
}

}  // namespace
}  // namespace planwright::builder
