#include "apps/common/flag_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "apps/buildengine/options.h"
#include "apps/runengine/options.h"
#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

using testing::HasSubstr;

std::string refusal(const std::vector<std::string>& flags) {
  CLI::App app;
  std::string shapes;
  int threads = 1;
  app.add_option("--optShapes", shapes);
  double duration = 1;
  app.add_option("--threads", threads)->check(whole_number(1, 256));
  app.add_option("--iterations", threads)->check(whole_number(1));
  app.add_option("--duration", duration)->check(real_number(0));
  app.add_option("--percentile", duration)->check(real_number(0, 100));
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

// "--onnx is required" was all that was said.
TEST(ParseFlags, ARequiredFlagThatIsMisspeltIsNamed) {
  const auto words = [](const auto& parse, const std::vector<std::string>& flags) {
    CommandLine line(flags);
    return usage_error([&] { parse(line.argc(), line.argv()); });
  };
  EXPECT_EQ(words(parse_build_options, {"--onxn=m.onnx", "--saveEngine=e"}),
            "unknown flag --onxn; did you mean --onnx?");
  EXPECT_EQ(words(parse_run_options, {"--loadEngin=e"}), "unknown flag --loadEngin; did you mean --loadEngine?");
  EXPECT_THAT(words(parse_build_options, {"--fp8"}), HasSubstr("--fp8 is not available"));
  EXPECT_THAT(words(parse_run_options, {"--threads=1"}), HasSubstr("--loadEngine"));
}

TEST(ParseFlags, AFlagThatIsNotHereYetIsRefusedByName) {
  EXPECT_EQ(refusal({"--int8"}), "--int8 is not available: int8 is not built yet");
  EXPECT_EQ(refusal({"--int8=perfOnly"}), "--int8 is not available: int8 is not built yet");
}

TEST(ParseFlags, ABadValueNamesItsFlag) {
  EXPECT_THAT(refusal({"--threads=none"}), HasSubstr("--threads"));
  EXPECT_THAT(refusal({"--threads=0"}), HasSubstr("--threads"));
}

// CLI11's own words were "0 not in range 0 to 1797693134862315708...".
TEST(ParseFlags, ABadNumberIsSaidWithItsBounds) {
  EXPECT_EQ(refusal({"--threads=none"}), "--threads: must be a whole number from 1 to 256, not 'none'");
  EXPECT_EQ(refusal({"--threads=257"}), "--threads: must be a whole number from 1 to 256, not '257'");
  EXPECT_EQ(refusal({"--iterations=0"}), "--iterations: must be a whole number of at least 1, not '0'");
  EXPECT_EQ(refusal({"--iterations=1.5"}), "--iterations: must be a whole number of at least 1, not '1.5'");
  EXPECT_EQ(refusal({"--iterations=99999999999999999999"}),
            "--iterations: must be a whole number of at least 1, not '99999999999999999999'");
  for (const char* text : {"nan", "inf", "-1", "1e999", "x", "1s"}) {
    EXPECT_EQ(refusal({std::string("--duration=") + text}),
              fmt::format("--duration: must be a number of at least 0, not '{}'", text));
  }
  EXPECT_EQ(refusal({"--percentile=101"}), "--percentile: must be a number from 0 to 100, not '101'");
  EXPECT_EQ(refusal({"--duration=0.5", "--iterations=2000000000"}), "");
}

// "--optShapes= --threads=2" used to take --threads=2 for the shapes.
TEST(ParseFlags, AnEmptyValueDoesNotSwallowTheNextFlag) {
  EXPECT_EQ(refusal({"--optShapes=", "--threads=2"}), "--optShapes needs a value after the =");
  EXPECT_EQ(refusal({"--optShapes="}), "--optShapes needs a value after the =");
  EXPECT_EQ(refusal({"--optShapes=x:"}), "");
}

TEST(ParseFlags, AForgottenValueDoesNotSwallowTheNextFlag) {
  EXPECT_EQ(refusal({"--optShapes", "--threads=2"}), "--optShapes needs a value, and --threads=2 is a flag");
  EXPECT_EQ(refusal({"--optShapes", "x:1"}), "");
}

TEST(ParseFlags, AFlagOfTheOtherProgramIsSentThere) {
  EXPECT_EQ(refusal({"--loadInputs=x:x.npy"}), "--loadInputs is a flag of runengine");
  EXPECT_EQ(refusal({"--saveEngine=x"}), "--saveEngine is a flag of buildengine");
}

// The lists that AFlagOfTheOtherProgramIsSentThere relies on.
TEST(FlagLists, HoldWhatEachProgramHasAlone) {
  const auto flags_in_help = [](const auto& parse) {
    CommandLine line({"--help"});
    testing::internal::CaptureStdout();
    parse(line.argc(), line.argv());
    const std::string help = testing::internal::GetCapturedStdout();
    std::set<std::string> names;
    const std::regex pattern("--[A-Za-z0-9]+");
    // An option's line begins with its names; text further right may mention others.
    std::istringstream lines(help);
    for (std::string text; std::getline(lines, text);) {
      const std::string head = text.substr(0, text.find_first_of(" [", text.find_first_not_of(' ')));
      for (auto it = std::sregex_iterator(head.begin(), head.end(), pattern); it != std::sregex_iterator(); ++it) {
        names.insert(it->str());
      }
    }
    return names;
  };
  const std::set<std::string> build = flags_in_help(parse_build_options), run = flags_in_help(parse_run_options);
  std::vector<std::string> only_build, only_run;
  std::set_difference(build.begin(), build.end(), run.begin(), run.end(), std::back_inserter(only_build));
  std::set_difference(run.begin(), run.end(), build.begin(), build.end(), std::back_inserter(only_run));
  EXPECT_THAT(kBuildengineFlags, testing::UnorderedElementsAreArray(only_build));
  EXPECT_THAT(kRunengineFlags, testing::UnorderedElementsAreArray(only_run));
}

TEST(Nearest, IgnoresCaseAndTakesOneSlipOrTwo) {
  EXPECT_EQ(nearest("--saveengine", {"--saveEngine"}), "--saveEngine");
  EXPECT_EQ(nearest("--saveEngnie", {"--saveEngine"}), "--saveEngine");
  EXPECT_EQ(nearest("--pin", {"--in"}), "--in");
  EXPECT_EQ(nearest("--ipn", {"--pin"}), "--pin");                           // a swap is one slip
  EXPECT_EQ(nearest("--timeout", {"--shapes", "--profile", "--onnx"}), "");  // halves of words used to be "close"
  EXPECT_EQ(nearest("x", {"y"}), "");
}

TEST(Nearest, IsEmptyWhereNoneIsClose) {
  EXPECT_EQ(nearest("imput", {"mask", "input"}), "input");
  EXPECT_EQ(nearest("completely", {"mask", "input"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace planwright::apps
