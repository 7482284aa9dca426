// Registering plugins, and loading them from files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "apps/common/plugins.h"
#include "tests/plugin/operators.h"
#include "tests/support/temporary_folder.h"

namespace planwright {
namespace {

using ::testing::HasSubstr;
using tests::add_operators;
using tests::plain_operator;

TEST(RegisterPlugin, RefusesWhatCannotBeAnOperator) {
  struct {
    const char* words;
    std::function<void(pw_operator&)> tamper;
  } const cases[] = {
      {"its struct_size is 8", [](pw_operator& op) { op.struct_size = 8; }},
      {"domain and name must have", [](pw_operator& op) { op.domain = nullptr; }},
      {"domain and name must have", [](pw_operator& op) { op.domain = ""; }},
      {"domain and name must have", [](pw_operator& op) { op.name = ""; }},
      {"the domain is ONNX's own", [](pw_operator& op) { op.domain = "ai.onnx"; }},
      {"the domain is ONNX's own", [](pw_operator& op) { op.domain = "ai.onnx.ml"; }},
      {"takes 2 to 1 inputs", [](pw_operator& op) { op.min_inputs = 2; }},
      {"takes 1 to 65 inputs", [](pw_operator& op) { op.max_inputs = 65; }},
      {"0 to 1 outputs", [](pw_operator& op) { op.min_outputs = 0; }},
      {"1 to 17 outputs", [](pw_operator& op) { op.max_outputs = 17; }},
      {"has 65537 bytes of parameters", [](pw_operator& op) { op.parameter_bytes = 65537; }},
      {"has no check() or no run()", [](pw_operator& op) { op.check = nullptr; }},
      {"has no check() or no run()", [](pw_operator& op) { op.run = nullptr; }},
  };
  for (const auto& one : cases) {
    pw_operator op = plain_operator("Refused");
    one.tamper(op);
    EXPECT_EQ(add_operators({plain_operator("Good"), op}), PW_INVALID) << one.words;
    EXPECT_THAT(pw_last_error(), HasSubstr(one.words));
  }
  // Whoever refuses one registers none: another Good is no conflict.
  pw_operator other = plain_operator("Good");
  other.max_inputs = 3;
  EXPECT_EQ(add_operators({other}), PW_OK) << pw_last_error();
}

TEST(RegisterPlugin, TakesTheSameAgainAndOtherVersionsButNoOtherFunctions) {
  EXPECT_EQ(add_operators({plain_operator("Again")}), PW_OK);
  EXPECT_EQ(add_operators({plain_operator("Again")}), PW_OK);
  pw_operator other = plain_operator("Again");
  other.run = [](const pw_step*, int64_t, char*) { return int{PW_PRECONDITION}; };
  EXPECT_EQ(add_operators({other}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("test::Again version 1 is registered already, with other functions"));
  other.version = 2;
  EXPECT_EQ(add_operators({other}), PW_OK);
  EXPECT_EQ(add_operators({plain_operator("Twice"), plain_operator("Twice")}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("the plugin has test::Twice twice"));
}

TEST(RegisterPlugin, RefusesNothingAndOtherAbis) {
  EXPECT_EQ(pw_register_plugin(nullptr), PW_INVALID);
  pw_plugin plugin = {sizeof(pw_plugin), PW_PLUGIN_ABI, nullptr, 0};
  EXPECT_EQ(pw_register_plugin(&plugin), PW_OK);
  plugin.operator_count = 1;
  EXPECT_EQ(pw_register_plugin(&plugin), PW_INVALID);
  const pw_operator* none = nullptr;
  plugin.operators = &none;
  EXPECT_EQ(pw_register_plugin(&plugin), PW_INVALID);
  plugin.abi = 7;
  EXPECT_EQ(pw_register_plugin(&plugin), PW_INCOMPATIBLE);
  EXPECT_THAT(pw_last_error(), HasSubstr("was made for ABI 7, this library has 1"));
}

TEST(LoadPlugins, SaysWhatIsWrongWithAFile) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.file("text.so")) << "no library";
  const std::tuple<std::string, StatusCode, const char*> cases[] = {
      {folder.file("absent.so"), StatusCode::kIo, "there is no such file"},
      {folder.path().string(), StatusCode::kIo, "there is no such file"},
      {"", StatusCode::kIo, "there is no such file"},
      {folder.file("text.so"), StatusCode::kIo, "it cannot be loaded"},
      {NO_ENTRY, StatusCode::kInvalid, "it does not export planwright_plugin()"},
      {OTHER_ABI, StatusCode::kIncompatible, "was made for ABI 2, this library has 1: compile it with"},
  };
  for (const auto& [path, code, words] : cases) {
    try {
      apps::load_plugins({path});
      ADD_FAILURE() << path << " was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << path;
      EXPECT_THAT(error.what(), HasSubstr("--plugins=" + path + ": ")) << path;
      EXPECT_THAT(error.what(), HasSubstr(words)) << path;
    }
  }
  apps::load_plugins({WINDOW_MEAN, WINDOW_MEAN});
}

}  // namespace
}  // namespace planwright
