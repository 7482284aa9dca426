// Which tactics are offered, by name, with the CPU's features injected: what AVX-512 machines choose from is tested on
// any machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tactics/kernels/registry.h"
#include "tactics/select.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Kernel names in order, each once.
std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    if (names.empty() || names.back() != candidate.kernel->name) names.push_back(candidate.kernel->name);
  }
  return names;
}

std::vector<std::string> offered(const StepSpec& spec, Isa isa, int level = 3) {
  SearchOptions options;
  options.isa = isa;
  options.optimization_level = level;
  return names_of(candidates(spec, {}, options, nullptr));
}

StepSpec matmul_spec(bool constant_weights) {
  StepSpec spec;
  spec.op = OpKind::kMatMul;
  spec.name = "matmul_me";
  spec.inputs = {computed(view_of({128, 256})), constant_weights ? constant({256, 64}) : computed(view_of({256, 64}))};
  spec.core_inputs = 2;
  spec.outputs = {view_of({128, 64})};
  return spec;
}

std::string refusal_of(const std::string& kernel, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    if (refusal.kernel->name == kernel) return refusal.reason;
  }
  return "";
}

TEST(Candidates, MultiplyInBf16OnlyWithLeave) {
  SearchOptions options;
  options.isa = Isa::kAmx;
  std::vector<Refusal> refusals;
  const std::vector<std::string> without = names_of(candidates(conv_spec(64, 64, 56), {}, options, &refusals));
  EXPECT_THAT(without, testing::Not(testing::Contains(HasSubstr("bf16"))));
  EXPECT_EQ(refusal_of("conv_bf16_32x2_amx", refusals), "computes in bf16; --bf16 allows it");

  options.bf16 = true;
  const std::vector<std::string> with = names_of(candidates(conv_spec(64, 64, 56), {}, options, nullptr));
  EXPECT_EQ(with.front(), "conv_bf16_image_32x2_amx");
  for (const char* name : {"conv_bf16_32x2_amx", "conv_bf16_image_12x2_avx512vnni", "conv_bf16_12x2_avx512vnni"}) {
    EXPECT_THAT(with, testing::Contains(name));
  }
  // AMX does not push out the instruction sets below AVX-512's that have fp32 kernels.
  for (const std::string& name : without) EXPECT_THAT(with, testing::Contains(name));

  options.isa = Isa::kAvx512;
  EXPECT_THAT(names_of(candidates(conv_spec(64, 64, 56), {}, options, nullptr)),
              testing::Not(testing::Contains(HasSubstr("bf16"))));
}

TEST(Candidates, OfAConvolutionFollowTheInstructionSet) {
  const StepSpec spec = conv_spec(64, 64, 56);
  EXPECT_THAT(offered(spec, Isa::kReference), ElementsAre("reference_conv"));
  EXPECT_THAT(offered(spec, Isa::kBaseline),
              ElementsAre("conv_f32_6x2_baseline", "conv_f32_4x3_baseline", "winograd_f32_4x4_6x2_baseline",
                          "winograd_f32_2x2_6x2_baseline", "reference_conv"));
  EXPECT_THAT(offered(spec, Isa::kAvx2),
              ElementsAre("conv_f32_6x2_avx2", "conv_f32_4x3_avx2", "winograd_f32_4x4_6x2_avx2",
                          "winograd_f32_2x2_6x2_avx2", "conv_f32_6x2_baseline", "conv_f32_4x3_baseline",
                          "winograd_f32_4x4_6x2_baseline", "winograd_f32_2x2_6x2_baseline", "reference_conv"));
  EXPECT_THAT(offered(spec, Isa::kAvx512),
              ElementsAre("conv_f32_12x2_avx512", "conv_f32_6x4_avx512", "conv_f32_8x3_avx512", "conv_f32_14x2_avx512",
                          "winograd_f32_4x4_12x2_avx512", "winograd_f32_2x2_12x2_avx512", "winograd_f32_4x4_6x4_avx512",
                          "winograd_f32_2x2_6x4_avx512", "conv_f32_6x2_avx2", "conv_f32_4x3_avx2",
                          "winograd_f32_4x4_6x2_avx2", "winograd_f32_2x2_6x2_avx2", "reference_conv"));
}

TEST(Candidates, PackedWeightsMustBeConstant) {
  EXPECT_THAT(offered(matmul_spec(true), Isa::kAvx2), testing::Contains("matmul_f32_6x2_avx2"));
  EXPECT_THAT(offered(matmul_spec(false), Isa::kAvx2), testing::Not(testing::Contains("matmul_f32_6x2_avx2")));
  EXPECT_THAT(offered(matmul_spec(false), Isa::kAvx2), testing::Contains("matmul_f32_dynamic_6x2_avx2"));
  SearchOptions options;
  options.isa = Isa::kAvx2;
  std::vector<Refusal> refusals;
  candidates(matmul_spec(false), {}, options, &refusals);
  EXPECT_THAT(refusal_of("matmul_f32_6x2_avx2", refusals), "wants input 1 packed, which is not a constant");
}

TEST(Candidates, ALevelDecidesHowFarDownTheSearchGoes) {
  const StepSpec spec = conv_spec(64, 64, 56);
  EXPECT_THAT(offered(spec, Isa::kAvx512, 1), testing::Each(testing::AnyOf(HasSubstr("avx512"), "reference_conv")));
  EXPECT_THAT(offered(spec, Isa::kAvx512, 5), testing::Contains("conv_f32_6x2_baseline"));
  SearchOptions few, many;
  few.isa = many.isa = Isa::kAvx512;
  few.optimization_level = 1;
  many.optimization_level = 5;
  EXPECT_LT(candidates(spec, {}, few, nullptr).size(), candidates(spec, {}, many, nullptr).size());
}

TEST(Candidates, MustRunAtEveryCornerOfTheProfile) {
  const StepSpec spec = conv_spec(64, 64, 56);
  StepSpec corner = spec;  // in row-major order, which no fast kernel takes
  corner.inputs[0].view = view_of({1, 64, 56, 56});
  SearchOptions options;
  options.isa = Isa::kAvx2;
  std::vector<Refusal> refusals;
  EXPECT_THAT(names_of(candidates(spec, {&corner}, options, &refusals)), ElementsAre("reference_conv"));
  EXPECT_NE(refusal_of("conv_f32_6x2_avx2", refusals), "");
}

TEST(Candidates, AKernelsSourceIsItsFamily) {
  EXPECT_EQ(tactic_source("conv_transpose_f32_6x2_avx2"), "conv_transpose");
  EXPECT_EQ(tactic_source("conv_f32_6x2_avx2"), "conv");
  EXPECT_EQ(tactic_source("conv_f32_dot_avx2"), "conv");
  EXPECT_EQ(tactic_source("first_layer_f32_12x2_avx512"), "first_layer");
  EXPECT_EQ(tactic_source("winograd_f32_4x4_6x2_avx2"), "winograd");
  EXPECT_EQ(tactic_source("movement_copy"), "movement");
}

TEST(Candidates, SourcesAreExcludedByName) {
  SearchOptions options;
  options.isa = Isa::kAvx2;
  options.excluded_sources = {"conv", "winograd"};
  std::vector<Refusal> refusals;
  EXPECT_THAT(names_of(candidates(conv_spec(64, 64, 56), {}, options, &refusals)), ElementsAre("reference_conv"));
  EXPECT_EQ(refusal_of("conv_f32_6x2_avx2", refusals), "excluded by --tacticSources");
}

TEST(Candidates, WorkspaceAndScratchStayBelowTheCap) {
  SearchOptions options;
  options.isa = Isa::kAvx2;
  options.threads = 2;
  options.workspace_limit = 0;
  std::vector<Refusal> refusals;
  candidates(matmul_spec(false), {}, options, &refusals);
  EXPECT_THAT(refusal_of("matmul_f32_dynamic_6x2_avx2", refusals), HasSubstr("bytes of workspace, 0 are allowed"));
}

// Whatever else changes, no operator is without a last resort.
TEST(Candidates, EndWithTheReferenceKernel) {
  for (int op = 0; op < kOpKindCount; ++op) {
    EXPECT_EQ(reference_kernel(static_cast<OpKind>(op)).op, static_cast<OpKind>(op));
  }
  EXPECT_EQ(offered(copy_spec({4, 64}), Isa::kAvx512).back(), "reference_copy");
}

}  // namespace
}  // namespace planwright::tactics
