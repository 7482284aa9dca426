#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/runengine/options.h"
#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

RunOptions parse(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "--loadEngine=model.engine");
  CommandLine line(flags);
  return parse_run_options(line.argc(), line.argv()).value();
}

std::string refusal(const std::vector<std::string>& flags) {
  return usage_error([&] { parse(flags); });
}

TEST(RunOptions, HaveTrtexecsDefaults) {
  const RunOptions options = parse({});
  EXPECT_EQ(options.inference.iterations, 10);
  EXPECT_EQ(options.inference.warmup_ms, 200);
  EXPECT_EQ(options.inference.duration_s, 3);
  EXPECT_EQ(options.inference.streams, 1);
  EXPECT_EQ(options.inference.threads, 0);
  EXPECT_EQ(options.inference.profile, -1);
  EXPECT_EQ(options.report.avg_runs, 10);
  EXPECT_THAT(options.report.percentiles, ElementsAre(90, 95, 99));
}

TEST(RunOptions, ReadsListsAndNames) {
  const RunOptions options =
      parse({"--percentile=50,99.9", "--loadInputs='a:0':x.npy,b:y.raw", "--shapes=a*:1x2", "--useProfile=1"});
  EXPECT_THAT(options.report.percentiles, ElementsAre(50, 99.9));
  EXPECT_THAT(options.input_files, ElementsAre(Pair("a:0", "x.npy"), Pair("b", "y.raw")));
  ASSERT_EQ(options.shapes.size(), 1u);
  EXPECT_EQ(options.shapes[0].pattern, "a*");
  EXPECT_EQ(options.inference.profile, 1);
}

TEST(RunOptions, RefusesValuesOutOfRange) {
  for (const char* flag :
       {"--percentile=101", "--percentile=x", "--iterations=0", "--warmUp=-1", "--duration=-1", "--infStreams=0",
        "--threads=-1", "--avgRuns=0", "--useProfile=-1", "--accuracyAlgorithm=psnr"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find('='));
    EXPECT_THAT(refusal({flag}), HasSubstr(name)) << flag;
  }
}

TEST(RunOptions, ThresholdsAndTolerancesAreNotNegative) {
  for (const char* flag : {"--accuracyThreshold=-0.5", "--rtol=-1", "--atol=nan"}) {
    EXPECT_THAT(refusal({"--accuracyAlgorithm=l2", flag}), HasSubstr("must be a number of at least 0")) << flag;
  }
}

TEST(RunOptions, TrtexecsNameOfTheProfileFlagIsTaken) {
  EXPECT_EQ(parse({"--useOptimizationProfile=2"}).inference.profile, 2);
}

TEST(RunOptions, AnInputHasOneFile) {
  EXPECT_THAT(refusal({"--loadInputs=x:a.npy,x:b.npy"}), HasSubstr("input 'x' twice, a.npy and b.npy"));
  EXPECT_THAT(refusal({"--loadInputs=x:"}), HasSubstr("names no file"));
}

// These used to be ignored.
TEST(RunOptions, FlagsWithoutEffectAreContradictions) {
  for (const char* mode : {"--testData=folder", "--inspect", "--verify"}) {
    for (const char* flag :
         {"--loadInputs=x:x.npy", "--saveOutputs=y.npz", "--dumpOutput", "--exportOutput=y.json", "--dumpProfile",
          "--exportProfile=y.json", "--exportTimes=y.json", "--shapes=x:1", "--separateProfileRun"}) {
      EXPECT_THAT(refusal({mode, flag}), HasSubstr("contradicts")) << mode << " " << flag;
    }
  }
  EXPECT_EQ(refusal({"--testData=folder", "--rtol=1"}), "");
}

// A script that forgot --testData passed without a comparison.
TEST(RunOptions, TolerancesNeedTestData) {
  EXPECT_THAT(refusal({"--rtol=0.1"}), HasSubstr("--rtol says how --testData compares"));
  EXPECT_THAT(refusal({"--accuracyAlgorithm=cos", "--accuracyThreshold=0.9"}), HasSubstr("--testData"));
}

TEST(RunOptions, AnAlgorithmNeedsItsThreshold) {
  EXPECT_THAT(refusal({"--accuracyAlgorithm=cos"}), HasSubstr("go together"));
  EXPECT_THAT(refusal({"--accuracyThreshold=0.9"}), HasSubstr("go together"));
  EXPECT_EQ(parse({"--testData=folder", "--accuracyAlgorithm=cos", "--accuracyThreshold=0.9"}).accuracy.threshold, 0.9);
}

TEST(RunOptions, FlagsThatAreNotRealYetAreRefusedByName) {
  for (const char* flag : {"--batchWindow=1", "--maxBatch=2", "--rate=3", "--compare=x.engine", "--maxRegression=5%",
                           "--selftest", "--logFormat=json"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find('='));
    EXPECT_THAT(refusal({flag}), testing::StartsWith(name + " is not available: ")) << flag;
  }
}

TEST(RunOptions, TheEngineIsRequired) {
  CommandLine line({"--quiet"});
  EXPECT_THAT(usage_error([&] { parse_run_options(line.argc(), line.argv()); }), HasSubstr("--loadEngine"));
}

}  // namespace
}  // namespace planwright::apps
