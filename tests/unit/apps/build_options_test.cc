#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/buildengine/options.h"
#include "schemas/types/error.h"
#include "tactics/kernels/cpu.h"
#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EngineOptions parse(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"--onnx=model.onnx", "--saveEngine=model.engine"});
  CommandLine line(flags);
  return parse_build_options(line.argc(), line.argv()).value();
}

std::string refusal(const std::vector<std::string>& flags) {
  return usage_error([&] { parse(flags); });
}

TEST(BuildOptions, HaveTheDocumentedDefaults) {
  const EngineOptions options = parse({});
  EXPECT_EQ(options.search.optimization_level, 3);
  EXPECT_EQ(options.search.avg_timing, 8);
  EXPECT_EQ(options.search.isa, enable_isa(detect_isa()) ? detect_isa() : Isa::kAvx512Vnni);
  EXPECT_EQ(options.search.workspace_limit, UINT64_MAX);
  EXPECT_GE(options.search.threads, 1);
  EXPECT_EQ(options.profiles.size(), 1u);
  EXPECT_FALSE(options.has_shapes);
}

TEST(BuildOptions, ShapeFlagsBelongToTheProfileBeforeThem) {
  const EngineOptions options =
      parse({"--minShapes=x:1", "--maxShapes=x:4", "--profile=1", "--shapes=x:8", "--profile=0", "--optShapes=x:2"});
  ASSERT_EQ(options.profiles.size(), 2u);
  EXPECT_THAT(options.profiles[0].min[0].dims, ElementsAre(1));
  EXPECT_THAT(options.profiles[0].opt[0].dims, ElementsAre(2));
  EXPECT_THAT(options.profiles[0].max[0].dims, ElementsAre(4));
  EXPECT_THAT(options.profiles[1].fixed[0].dims, ElementsAre(8));
  EXPECT_TRUE(options.has_shapes);
}

// Which of them was meant?
TEST(BuildOptions, AnInputHasOneShapeInAProfile) {
  EXPECT_THAT(refusal({"--shapes=x:1", "--shapes=x:2"}), HasSubstr("--shapes gives 'x' twice, 1 and 2"));
  EXPECT_THAT(refusal({"--maxShapes=x:1,y:3,x:2"}), HasSubstr("--maxShapes gives 'x' twice"));
  EXPECT_EQ(refusal({"--shapes=x:1", "--profile=1", "--shapes=x:2"}), "");
  EXPECT_EQ(refusal({"--shapes=*:1,x:2"}), "");  // the later and closer one wins
}

TEST(BuildOptions, ProfileIndicesAreContiguous) {
  EXPECT_THAT(refusal({"--shapes=x:1", "--profile=2", "--shapes=x:2"}), HasSubstr("--profile=2 without --profile=1"));
}

TEST(BuildOptions, PoolsAreCapsInMebibytesOrWithASuffix) {
  const EngineOptions options = parse({"--memPoolSize=workspace:1.5,arena:2G"});
  EXPECT_EQ(options.search.workspace_limit, 3u << 19);
  EXPECT_EQ(options.arena_limit, uint64_t{2} << 30);
  EXPECT_THAT(refusal({"--memPoolSize=dlaSRAM:1"}), HasSubstr("there are workspace and arena"));
  EXPECT_THAT(refusal({"--memPoolSize=workspace:much"}), HasSubstr("'much' is no size"));
}

TEST(BuildOptions, TacticSourcesAreSwitchedByName) {
  EXPECT_THAT(parse({}).search.excluded_sources, ElementsAre());
  EXPECT_THAT(parse({"--tacticSources=-conv,-first_layer,+conv"}).search.excluded_sources, ElementsAre("first_layer"));
  EXPECT_THAT(refusal({"--tacticSources=-nothing"}), HasSubstr("there is no source 'nothing'"));
  EXPECT_THAT(refusal({"--tacticSources=gemm"}), HasSubstr("write +NAME or -NAME"));
  EXPECT_THAT(refusal({"--tacticSources=-reference"}), HasSubstr("last resort"));
}

TEST(BuildOptions, LeaveToMultiplyInBf16) {
  EXPECT_FALSE(parse({}).search.bf16);
  EXPECT_TRUE(parse({"--bf16"}).search.bf16);
}

TEST(BuildOptions, ADropIsAShareAndBelongsToBf16AndInt8) {
  EXPECT_EQ(parse({"--int8=perfOnly"}).int8->max_drop, 2e-3);
  EXPECT_EQ(parse({"--int8=perfOnly", "--maxDrop=0.5%"}).int8->max_drop, 0.005);
  EXPECT_EQ(parse({"--bf16"}).max_drop, 1e-3);
  EXPECT_EQ(parse({"--bf16", "--maxDrop=0.5%"}).max_drop, 0.005);
  EXPECT_EQ(parse({"--bf16", "--maxDrop=0.25"}).max_drop, 0.25);
  EXPECT_EQ(parse({"--bf16", "--maxDrop=100%"}).max_drop, 1);
  EXPECT_THAT(refusal({"--maxDrop=1%"}), HasSubstr("--maxDrop belongs to --int8 and --bf16"));
  for (const char* text : {"-1%", "101%", "2", "nan", "much", "1%%", "%"}) {
    EXPECT_THAT(refusal({"--bf16", std::string("--maxDrop=") + text}),
                HasSubstr(std::string("--maxDrop: '") + text + "' is no share"));
  }
}

TEST(BuildOptions, PinsNeedLeaveForTheirPrecision) {
  EXPECT_TRUE(parse({}).pins.empty());
  const EngineOptions pinned = parse({"--layerPrecisions=a:fp32,b:bf16", "--layerOutputTypes=c:fp32", "--bf16"});
  EXPECT_EQ(pinned.pins.constraint, PinConstraint::kPrefer);
  EXPECT_EQ(pinned.pins.precisions.size(), 2u);
  EXPECT_EQ(pinned.pins.output_types.size(), 1u);
  EXPECT_EQ(parse({"--layerPrecisions=a:fp32", "--precisionConstraints=obey"}).pins.constraint, PinConstraint::kObey);
  // Ignored, so they may be anything.
  EXPECT_TRUE(parse({"--layerPrecisions=a:int8", "--precisionConstraints=none"}).pins.empty());
  EXPECT_THAT(refusal({"--layerPrecisions=a:bf16"}), HasSubstr("'a' is pinned to bf16, which needs --bf16"));
  EXPECT_THAT(refusal({"--layerPrecisions=a:int8"}), HasSubstr("'a' is pinned to int8, which needs --int8"));
  EXPECT_THAT(refusal({"--layerOutputTypes=a:bf16", "--bf16"}), HasSubstr("'a' cannot be pinned to bf16"));
  EXPECT_THAT(refusal({"--precisionConstraints=obey"}), HasSubstr("belongs to --layerPrecisions"));
  EXPECT_THAT(refusal({"--layerPrecisions=a:fp32", "--precisionConstraints=force"}),
              HasSubstr("'force' is none of none, prefer, obey"));
}

TEST(BuildOptions, ContextsAtOnceShareTheCores) {
  const int cores = parse({}).search.threads;
  EXPECT_EQ(parse({}).search.contexts, 1);
  EXPECT_EQ(parse({"--contexts=2"}).search.contexts, 2);
  EXPECT_EQ(parse({"--contexts=2"}).search.threads, std::max(1, cores / 2));
  EXPECT_EQ(parse({"--contexts=2", "--threads=3"}).search.threads, 3);
  EXPECT_THAT(refusal({"--contexts=0"}), HasSubstr("--contexts: must be a whole number"));
}

TEST(BuildOptions, LeaveToRoundWeights) {
  EXPECT_FALSE(parse({}).weight_only);
  EXPECT_EQ(parse({"--weightOnly=int8"}).weight_only->bits, 8);
  EXPECT_EQ(parse({"--weightOnly=int8"}).weight_only->block, 0);
  EXPECT_EQ(parse({"--weightOnly=int4"}).weight_only->bits, 4);
  EXPECT_EQ(parse({"--weightOnly=int4"}).weight_only->block, 32);
  EXPECT_EQ(parse({"--weightOnly=int4:g128"}).weight_only->block, 128);
  for (const char* text : {"int2", "int8:g32", "int4:32", "int4:g16", "fp16"}) {
    EXPECT_THAT(refusal({std::string("--weightOnly=") + text}),
                HasSubstr(std::string("--weightOnly: '") + text + "' is none of int8, int4, int4:g32"));
  }
}

TEST(BuildOptions, AnInstructionSetIsNamedAndMustBeHad) {
  EXPECT_EQ(parse({"--isa=baseline"}).search.isa, Isa::kBaseline);
  EXPECT_THAT(refusal({"--isa=sse9"}), HasSubstr("none of native"));
  EXPECT_THAT(refusal({"--isa=avx2+avx512"}), HasSubstr("not built yet"));
}

TEST(BuildOptions, FlagsThatAreNotRealYetAreRefusedByName) {
  for (const char* flag :
       {"--fp16", "--fp8", "--noTF32", "--stronglyTyped", "--useDLACore=0", "--versionCompatible", "--sparsity=enable",
        "--buildOnly", "--errorOnTimingCacheMiss", "--algorithms=winograd", "--device=cuda", "--stripWeights",
        "--refitFromOnnx", "--exportGraph=x.svg", "--report=x.html", "--verifyReproducible", "--logFormat=json"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find('='));
    EXPECT_THAT(refusal({flag}), testing::StartsWith(name + " is not available: ")) << flag;
  }
}

TEST(BuildOptions, ABudgetIsATimeInSecondsOrWithASuffix) {
  EXPECT_EQ(parse({}).search.budget_seconds, HUGE_VAL);
  EXPECT_EQ(parse({"--budget=60s"}).search.budget_seconds, 60);
  EXPECT_EQ(parse({"--budget=1.5"}).search.budget_seconds, 1.5);
  EXPECT_EQ(parse({"--budget=500ms"}).search.budget_seconds, 0.5);
  EXPECT_EQ(parse({"--budget=2m"}).search.budget_seconds, 120);
  for (const char* text : {"0", "-1s", "nan", "inf", "1e400", "1h", "s", "60 s", "1e308m"}) {
    EXPECT_THAT(refusal({std::string("--budget=") + text}),
                HasSubstr(std::string("--budget: '") + text + "' is no time; write a number of seconds above 0"));
  }
}

TEST(BuildOptions, TacticsMayBeLimitedInNumber) {
  EXPECT_EQ(parse({}).search.max_tactics, INT_MAX);
  EXPECT_EQ(parse({"--maxTactics=3"}).search.max_tactics, 3);
  EXPECT_THAT(refusal({"--maxTactics=0"}), HasSubstr("--maxTactics: must be a whole number of at least 1, not '0'"));
}

TEST(BuildOptions, ExplainTakesAPartOfALayersNameOrNothing) {
  EXPECT_FALSE(parse({}).search.explain);
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--explain"}, {"--explain", "--dryRun"}}) {
    EXPECT_TRUE(parse(flags).search.explain);
    EXPECT_EQ(parse(flags).explain, "");
  }
  EXPECT_TRUE(parse({"--explain=conv1"}).search.explain);
  EXPECT_EQ(parse({"--explain=conv1"}).explain, "conv1");
  EXPECT_EQ(parse({"--explain", "conv1"}).explain, "conv1");
}

TEST(BuildOptions, ADryRunTimesNothingAndNeedsNoTarget) {
  CommandLine line({"--onnx=model.onnx", "--dryRun"});
  const EngineOptions options = parse_build_options(line.argc(), line.argv()).value();
  EXPECT_EQ(options.search.optimization_level, 0);
  EXPECT_TRUE(options.dry_run);
}

TEST(BuildOptions, WhatIsMissingIsNamed) {
  CommandLine no_model({"--saveEngine=x"}), no_target({"--onnx=x"});
  EXPECT_THAT(usage_error([&] { parse_build_options(no_model.argc(), no_model.argv()); }), HasSubstr("--onnx"));
  EXPECT_THAT(usage_error([&] { parse_build_options(no_target.argc(), no_target.argv()); }), HasSubstr("--saveEngine"));
}

}  // namespace
}  // namespace planwright::apps
