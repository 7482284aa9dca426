#include "apps/runengine/test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "builder/build.h"
#include "planfmt/write.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace planwright::apps {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// An engine of d = a - b, and a folder of test data for it.
class TestData : public testing::Test {
 protected:
  TestData() {
    const builder::OnnxModel model =
        builder::model_of(17, "(float[2] a, float[2] b) => (float[2] d) { d = Sub(a, b) }");
    builder::BuildOptions options;
    options.profiles = {builder::profile_of(model, 1, 1)};
    options.search.optimization_level = 0;
    const builder::BuildResult built = builder::build(builder::import_model(model, options.profiles), options);
    throw_if_error(planfmt::write_engine(built.plan, folder_.file("engine")));
    options_.test_data = folder_.file("data");
    set_ = fs::path(options_.test_data) / "test_data_set_0";
    fs::create_directories(set_);
  }

  void put(const std::string& file, const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto proto;
    proto.set_name(name);
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.add_dims(static_cast<int64_t>(values.size()));
    for (const float value : values) proto.add_float_data(value);
    std::ofstream stream(set_ / file, std::ios::binary);
    proto.SerializeToOstream(&stream);
  }
  void put_all() {
    put("input_0.pb", "", {5, 7});
    put("input_1.pb", "", {1, 2});
    put("output_0.pb", "", {4, 5});
  }
  bool run() { return run_test_data(pw::Engine(folder_.file("engine")), options_); }
  std::string refusal() {
    return builder::failure_of([&] { run(); }).message;
  }

  tests::TemporaryFolder folder_;
  RunOptions options_;
  fs::path set_;
};

TEST_F(TestData, FilesWithoutNamesGoByTheirNumbers) {
  put_all();
  EXPECT_TRUE(run());
  put("output_0.pb", "", {5, 5});
  EXPECT_FALSE(run());
}

// Order used to decide, whatever the files said.
TEST_F(TestData, AStoredNameDecidesWhichInputAFileIsFor) {
  put("input_0.pb", "b", {1, 2});
  put("input_1.pb", "a", {5, 7});
  put("output_0.pb", "d", {4, 5});
  EXPECT_TRUE(run());
}

TEST_F(TestData, UnknownNamesAreRefused) {
  put_all();
  put("input_1.pb", "c", {1, 2});
  EXPECT_THAT(refusal(), HasSubstr("input_1.pb: it is of 'c', which is no input of the engine; there is: a, b"));
}

TEST_F(TestData, SurplusAndMissingFilesAreRefused) {
  put_all();
  put("input_2.pb", "", {1, 2});
  EXPECT_THAT(refusal(), HasSubstr("input_2.pb: it is one too many: the engine has 2 inputs"));
  fs::remove(set_ / "input_2.pb");
  put("output_1.pb", "", {1, 2});
  EXPECT_THAT(refusal(), HasSubstr("the engine has 1 output"));
  fs::remove(set_ / "output_1.pb");
  fs::remove(set_ / "input_1.pb");
  EXPECT_THAT(refusal(), HasSubstr("holds no input_N.pb for input 'b'"));
  put("input_1.pb", "a", {1, 2});
  EXPECT_THAT(refusal(), HasSubstr("it is of input 'a', as another file is"));
}

// Sixteen bytes of doubles used to be read as four floats.
TEST_F(TestData, AnotherElementTypeIsRefused) {
  put_all();
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::DOUBLE);
  proto.add_dims(1);
  proto.add_double_data(1);
  {
    std::ofstream stream(set_ / "input_0.pb", std::ios::binary);
    proto.SerializeToOstream(&stream);
  }
  EXPECT_THAT(refusal(), HasSubstr("input_0.pb: it is fp64, input 'a' is fp32"));
}

TEST_F(TestData, AShapeTheEngineHasNotNamesItsAxis) {
  put_all();
  put("input_0.pb", "", {1, 2, 3});
  EXPECT_THAT(refusal(), HasSubstr("axis 0 is fixed at 2"));
}

TEST_F(TestData, AMissingFolderIsSaidToBeMissing) {
  options_.test_data = folder_.file("absent");
  EXPECT_THAT(refusal(), HasSubstr("there is no such folder"));
  options_.test_data = folder_.file("engine");
  EXPECT_THAT(refusal(), HasSubstr("is no folder"));
  options_.test_data = folder_.path();
  EXPECT_THAT(refusal(), HasSubstr("holds no test_data_set_0"));
}

// "cos is 1, the threshold 1" said nothing, and it said it twice.
TEST_F(TestData, AMissIsSaidOnceWithEveryDigit) {
  put_all();
  put("output_0.pb", "", {4, 5.0000005f});
  options_.accuracy.algorithm = "lInf";
  options_.accuracy.threshold = 1e-7;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(run());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[E] test_data_set_0 d: differs (lInf 4.76837158203125e-07, threshold 1e-07)\n");
}

}  // namespace
}  // namespace planwright::apps
