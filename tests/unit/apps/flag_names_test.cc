#include "apps/common/flag_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

using testing::HasSubstr;

std::string refusal(const std::vector<std::string>& flags) {
  CLI::App app;
  std::string shapes;
  int threads = 1;
  app.add_option("--optShapes", shapes);
  app.add_option("--threads", threads)->check(CLI::Range(1, 256));
  CommandLine line(flags);
  return usage_error([&] { parse_flags(app, line.argc(), line.argv(), {{"--int8", "int8 is not built yet"}}); });
}

TEST(ParseFlags, AcceptsWhatItKnows) {
  EXPECT_EQ(refusal({"--optShapes=x:1x3", "--threads=2"}), "");
  EXPECT_EQ(refusal({"--threads", "2"}), "");
}

TEST(ParseFlags, AnUnknownFlagIsRefusedNamingTheNearest) {
  EXPECT_EQ(refusal({"--optShape=x:1"}), "unknown flag --optShape; did you mean --optShapes?");
  EXPECT_EQ(refusal({"--thread=2"}), "unknown flag --thread; did you mean --threads?");
  EXPECT_EQ(refusal({"--zzzzzzzzzzzzzzzz"}), "unknown flag --zzzzzzzzzzzzzzzz; --help lists them");
}

TEST(ParseFlags, AFlagThatIsNotHereYetIsRefusedByName) {
  EXPECT_EQ(refusal({"--int8"}), "--int8 is not available: int8 is not built yet");
  EXPECT_EQ(refusal({"--int8=perfOnly"}), "--int8 is not available: int8 is not built yet");
}

TEST(ParseFlags, ABadValueNamesItsFlag) {
  EXPECT_THAT(refusal({"--threads=none"}), HasSubstr("--threads"));
  EXPECT_THAT(refusal({"--threads=0"}), HasSubstr("--threads"));
}

TEST(Nearest, IsEmptyWhereNoneIsClose) {
  EXPECT_EQ(nearest("imput", {"mask", "input"}), "input");
  EXPECT_EQ(nearest("completely", {"mask", "input"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace planwright::apps
