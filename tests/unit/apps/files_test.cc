#include "apps/common/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "schemas/types/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  std::string existing(const std::string& name) {
    std::ofstream(folder_.file(name)) << "kept";
    return folder_.file(name);
  }
  static std::string contents(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  size_t count() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), {})); }

  tests::TemporaryFolder folder_;
};

// --exportLayerInfo=model.onnx used to cost the model.
TEST_F(Files, AnOutputIsNoInput) {
  const std::string model = existing("model.onnx");
  fs::create_hard_link(model, folder_.file("hard"));
  fs::create_symlink(model, folder_.file("soft"));
  for (const std::string& path : {model, folder_.file("hard"), folder_.file("soft"), folder_.file("./model.onnx")}) {
    EXPECT_THAT(usage_error([&] {
                  check_files({{"--onnx", model}}, {{"--exportLayerInfo", path}});
                }),
                HasSubstr("--exportLayerInfo=" + path + " would overwrite --onnx=" + model));
  }
  EXPECT_EQ(contents(model), "kept");
}

TEST_F(Files, OutputsAreDistinct) {
  fs::create_directory(folder_.file("sub"));
  const std::string absent = folder_.file("absent"), around = folder_.file("sub/../absent");
  EXPECT_THAT(usage_error([&] {
                check_files({}, {{"--saveEngine", absent}, {"--timingCacheFile", around}});
              }),
              HasSubstr("would overwrite --saveEngine"));
  EXPECT_EQ(usage_error([&] { check_files({}, {{"--a", absent}, {"--b", folder_.file("other")}, {"--c", ""}}); }), "");
  EXPECT_EQ(usage_error([&] { check_files({}, {{"--a", "/dev/null"}, {"--b", "/dev/null"}}); }), "");
}

TEST_F(Files, AnOutputThatCannotBeWrittenIsRefusedBeforeTheWork) {
  for (const std::string& path : {folder_.file("no/such/folder"), folder_.path().string()}) {
    try {
      check_files({}, {{"--timingCacheFile", path}});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kIo);
      EXPECT_THAT(error.what(), HasSubstr("--timingCacheFile: " + path));
    }
  }
  check_files({}, {{"--timingCacheFile", folder_.file("fine")}});
  EXPECT_EQ(count(), 0u) << "a trial was left";
}

TEST_F(Files, WritingReplacesAtOnce) {
  const std::string path = existing("out.json");
  write_file(path, "new");
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(count(), 1u);
  write_file("/dev/null", "gone");
  EXPECT_THROW(write_file(folder_.file("no/folder"), "x"), Error);
}

}  // namespace
}  // namespace planwright::apps
