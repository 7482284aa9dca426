// FAULTS B3-B6: tensors whose bytes lie beside the model.
#include "builder/onnx/external_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace planwright::builder {
namespace {

namespace fs = std::filesystem;

class ExternalData : public testing::Test {
 protected:
  ExternalData() : model_(folder_.path() / "model") {
    fs::create_directories(model_ / "sub");
    for (const fs::path& path :
         {folder_.path() / "outside.bin", model_ / "w.bin", model_ / "w..bin", model_ / "sub" / "w.bin"}) {
      const float numbers[4] = {0, 1, 2, 3};
      std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(numbers), sizeof numbers);
    }
  }

  // A tensor of two floats kept at these entries ("location", "offset" ...).
  static onnx::TensorProto tensor(const std::map<std::string, std::string>& entries) {
    onnx::TensorProto tensor;
    tensor.set_name("w");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return tensor;
  }

  Failure read(const onnx::TensorProto& tensor) {
    read_ = tensor;
    return failure_of([&] { read_external_data(read_, model_.string(), &warnings_); });
  }

  void expect_invalid(const std::map<std::string, std::string>& entries, const std::string& word) {
    const Failure failure = read(tensor(entries));
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("'w'") && failure.mentions(word)) << failure;
    EXPECT_FALSE(read_.has_raw_data());
  }

  std::vector<float> numbers() const {
    std::vector<float> made(read_.raw_data().size() / sizeof(float));
    std::memcpy(made.data(), read_.raw_data().data(), read_.raw_data().size());
    return made;
  }

  tests::TemporaryFolder folder_;
  fs::path model_;
  onnx::TensorProto read_;
  std::vector<std::string> warnings_;
};

TEST_F(ExternalData, OffsetAndLengthAreRead) {
  EXPECT_EQ(read(tensor({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}})).code, StatusCode::kOk);
  EXPECT_EQ(numbers(), (std::vector<float>{1, 2}));
  EXPECT_EQ(read_.data_location(), onnx::TensorProto::DEFAULT);
}

TEST_F(ExternalData, OffsetIsZeroAndLengthWhatTheDimsMakeByDefault) {
  EXPECT_EQ(read(tensor({{"location", "sub/w.bin"}})).code, StatusCode::kOk);
  EXPECT_EQ(numbers(), (std::vector<float>{0, 1}));
}

TEST_F(ExternalData, TwoDotsInsideANameAreFine) {
  EXPECT_EQ(read(tensor({{"location", "w..bin"}})).code, StatusCode::kOk);
  EXPECT_EQ(read(tensor({{"location", "./sub//w.bin"}})).code, StatusCode::kOk);
}

TEST_F(ExternalData, LeavingTheFolderIsInvalid) {
  expect_invalid({{"location", "../outside.bin"}}, "../outside.bin");
  expect_invalid({{"location", "sub/../../outside.bin"}}, "leaves");
  expect_invalid({{"location", "sub/../w.bin"}}, "leaves");
  expect_invalid({{"location", ".."}}, "leaves");
  expect_invalid({{"location", folder_.file("outside.bin")}}, "absolute");
  expect_invalid({{"location", std::string("w.bin\0/../x", 11)}}, "zero byte");
}

TEST_F(ExternalData, LinksAreNotFollowed) {
  fs::create_symlink("w.bin", model_ / "link.bin");
  fs::create_directory_symlink("sub", model_ / "linked");
  fs::create_hard_link(folder_.path() / "outside.bin", model_ / "hard.bin");
  expect_invalid({{"location", "link.bin"}}, "plain file");
  expect_invalid({{"location", "linked/w.bin"}}, "linked");
  expect_invalid({{"location", "hard.bin"}}, "hard link");
}

TEST_F(ExternalData, FifosAndFoldersAreInvalid) {
  ASSERT_EQ(mkfifo((model_ / "fifo").c_str(), 0600), 0);
  expect_invalid({{"location", "fifo"}}, "plain file");
  expect_invalid({{"location", "sub"}}, "plain file");
  expect_invalid({{"location", "sub/"}}, "sub/");
}

TEST_F(ExternalData, OffsetsAndLengthsMustBeSizesInsideTheFile) {
  expect_invalid({{"location", "w.bin"}, {"offset", "-4"}}, "-4");
  expect_invalid({{"location", "w.bin"}, {"offset", "four"}}, "four");
  expect_invalid({{"location", "w.bin"}, {"offset", "4 "}}, "offset");
  expect_invalid({{"location", "w.bin"}, {"offset", "99999999999999999999"}}, "offset");
  expect_invalid({{"location", "w.bin"}, {"offset", "12"}}, "pass the end");
  expect_invalid({{"location", "w.bin"}, {"offset", "9223372036854775807"}}, "pass the end");
  expect_invalid({{"location", "w.bin"}, {"length", "-8"}}, "length");
  expect_invalid({{"location", "w.bin"}, {"length", "12"}}, "12");
}

TEST_F(ExternalData, HugeDimsAreRefusedBeforeAllocating) {
  onnx::TensorProto huge = tensor({{"location", "w.bin"}});
  huge.set_dims(0, int64_t{1} << 50);
  EXPECT_EQ(read(huge).code, StatusCode::kInvalid);
}

TEST_F(ExternalData, MissingLocationIsInvalid) {
  expect_invalid({}, "location");
  expect_invalid({{"location", "absent.bin"}}, "absent.bin");
  expect_invalid({{"location", "*/_ORT_MEM_ADDR_/*"}, {"offset", "140000000000"}}, "memory");
}

TEST_F(ExternalData, UnknownKeysAreWarnedOf) {
  EXPECT_EQ(read(tensor({{"location", "w.bin"}, {"checksum", "abc"}, {"colour", "red"}})).code, StatusCode::kOk);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("colour"), std::string::npos);
}

TEST_F(ExternalData, ModelsReadItWhereverATensorStands) {
  onnx::ModelProto proto =
      proto_of(13, "(float[2] x) => (float[2] y) { c = Constant<value = float[2] {0.0, 0.0}>() y = Add(x, c) }");
  onnx::AttributeProto& value = *proto.mutable_graph()->mutable_node(0)->mutable_attribute(0);
  *value.mutable_t() = tensor({{"location", "w.bin"}, {"offset", "8"}});
  const OnnxModel model = OnnxModel::from_proto(proto, model_.string());
  const ir::Tensor y = ir::interpret(import_model(model, {}), {floats({2}, {10, 10})})[0];
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{12, 13}));
}

}  // namespace
}  // namespace planwright::builder
