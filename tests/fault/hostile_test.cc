// L4 to L14: files whose checksums are right and whose plans are not. One row a field that lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "loader/catalog.h"
#include "planfmt/engine_file.h"
#include "planfmt/verify.h"
#include "planwright/planwright.h"
#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using planfmt::ExprOp;
using planfmt::PlanModel;
using planfmt::StorageKind;
using testing::HasSubstr;
using tests::PlanBuilder;

struct Row {
  const char* name;
  int status;
  const char* message;  // part of it
  std::function<void(PlanModel&)> tamper;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

planfmt::ProgramModel& program(PlanModel& plan) { return plan.programs[0]; }
planfmt::StepModel& step(PlanModel& plan, const char* name) {
  for (planfmt::StepModel& candidate : program(plan).steps) {
    if (candidate.name == name) return candidate;
  }
  throw std::logic_error(name);
}
planfmt::TensorModel& tensor(PlanModel& plan, const char* name) {
  for (planfmt::TensorModel& candidate : program(plan).tensors) {
    if (candidate.name == name) return candidate;
  }
  throw std::logic_error(name);
}
planfmt::StorageModel& storage(PlanModel& plan, const char* of_tensor) {
  return program(plan).storages[tensor(plan, of_tensor).storage];
}
// The storage of that tensor, once all have places for shapes up to opt, where they lie anyway.
planfmt::StorageModel& with_opt_places(PlanModel& plan, const char* of_tensor) {
  program(plan).has_opt_places = true;
  for (planfmt::StorageModel& each : program(plan).storages) each.opt_offset = each.offset, each.opt_size = each.size;
  return storage(plan, of_tensor);
}
uint32_t add_constant(PlanModel& plan, int64_t value) {
  plan.expressions.push_back({ExprOp::kConstant, value, 0, 0});
  return static_cast<uint32_t>(plan.expressions.size()) - 1;
}

const Row kRows[] = {
    // ---- Expressions, symbols, guards
    {"ExpressionOfALaterOne", PW_CORRUPT, "does not come before it",
     [](PlanModel& p) { p.expressions.back() = {ExprOp::kAdd, 0, 0, static_cast<uint32_t>(p.expressions.size())}; }},
    {"ExpressionOfItself", PW_CORRUPT, "does not come before it",
     [](PlanModel& p) {
       const auto self = static_cast<uint32_t>(p.expressions.size()) - 1;
       p.expressions.back() = {ExprOp::kAdd, 0, self, 0};
     }},
    {"ExpressionOperatorUnknown", PW_CORRUPT, "unknown operator",
     [](PlanModel& p) { p.expressions.back().op = static_cast<ExprOp>(200); }},
    {"ExpressionSymbolAbsent", PW_CORRUPT, "symbol that is not there",
     [](PlanModel& p) { p.expressions.push_back({ExprOp::kSymbol, 1, 0, 0}); }},
    {"ExpressionSymbolNegative", PW_CORRUPT, "symbol that is not there",
     [](PlanModel& p) { p.expressions.push_back({ExprOp::kSymbol, -1, 0, 0}); }},
    {"ExpressionDividesByZero", PW_CORRUPT, "divide by zero",
     [](PlanModel& p) { p.expressions.push_back({ExprOp::kFloorDiv, 0, 0, add_constant(p, 0)}); }},
    {"ExpressionOverflows", PW_CORRUPT, "too large",
     [](PlanModel& p) {
       const uint32_t huge = add_constant(p, INT64_MAX);
       p.expressions.push_back({ExprOp::kMul, 0, huge, huge});
     }},
    {"SymbolOriginUnknown", PW_CORRUPT, "unknown origin", [](PlanModel& p) { p.symbols[0].origin = 9; }},
    {"SymbolOfNoStepsResult", PW_CORRUPT, "no step of a program gives symbol 0", [](PlanModel& p) { p.symbols[0].origin = 2; }},
    {"SymbolOfNoValue", PW_CORRUPT, "which is no integer", [](PlanModel& p) { p.symbols[0].origin = 1; }},
    {"SymbolOfNoInput", PW_CORRUPT, "of no input", [](PlanModel& p) { p.symbols[0].source = 2; }},
    {"SymbolOfNoAxis", PW_CORRUPT, "no dim or value of input", [](PlanModel& p) { p.symbols[0].element = 2; }},
    {"SymbolRangeEmpty", PW_CORRUPT, "empty range", [](PlanModel& p) { p.symbols[0].min = 9; }},
    {"SymbolRangeNegative", PW_CORRUPT, "negative range", [](PlanModel& p) { p.symbols[0].min = -1; }},
    {"ResultOfNoSymbol", PW_CORRUPT, "its result 99",
     [](PlanModel& p) { p.programs[0].steps[0].results.push_back({99, 0, 0}); }},
    {"ResultOfADim", PW_CORRUPT, "its result 0",
     [](PlanModel& p) { p.programs[0].steps[0].results.push_back({0, 0, 0}); }},
    {"ResultThatIsNoInteger", PW_CORRUPT, "its result 0",
     [](PlanModel& p) {
       p.symbols[0].origin = 2;
       p.programs[0].steps[0].results.push_back({0, 0, 0});
     }},
    {"GuardOfNoExpression", PW_CORRUPT, "guard 0",
     [](PlanModel& p) { p.guards.push_back({true, 0, 1u << 30, "norm", ""}); }},
    {"GuardOfNoRegion", PW_CORRUPT, "region 7, which is not there",
     [](PlanModel& p) { p.guards.push_back({true, add_constant(p, 1), add_constant(p, 1), "norm", "", 7}); }},
    {"GuardFailsAtOpt", PW_CORRUPT, "layer norm",
     [](PlanModel& p) { p.guards.push_back({true, add_constant(p, 1), add_constant(p, 2), "norm", ""}); }},

    // ---- Bindings, profiles
    {"BindingTypeUnknown", PW_CORRUPT, "type number 77",
     [](PlanModel& p) { p.bindings[0].dtype = static_cast<DType>(77); }},
    {"BindingRankTooHigh", PW_CORRUPT, "rank 9", [](PlanModel& p) { p.bindings[0].dims.assign(9, 0); }},
    {"BindingDimAbsent", PW_CORRUPT, "no expression", [](PlanModel& p) { p.bindings[0].dims[0] = ~0u; }},
    {"BindingNameTwice", PW_CORRUPT, "one name", [](PlanModel& p) { p.bindings[1].name = p.bindings[0].name; }},
    {"BindingOrder", PW_CORRUPT, "after all inputs", [](PlanModel& p) { p.bindings[0].is_input = false; }},
    {"NoProfile", PW_CORRUPT, "no profile", [](PlanModel& p) { p.profiles.clear(); }},
    {"TooManyProfiles", PW_CORRUPT, "257 profiles", [](PlanModel& p) { p.profiles.resize(257, p.profiles[0]); }},
    {"ProfileWithoutProgram", PW_CORRUPT, "profile 1 has no program",
     [](PlanModel& p) { p.profiles.push_back(p.profiles[0]); }},
    {"ProfileOfFewerInputs", PW_CORRUPT, "ranges for 1 inputs of 2",
     [](PlanModel& p) { p.profiles[0].inputs.pop_back(); }},
    {"ProfileOfAnotherInput", PW_CORRUPT, "another input's rank",
     [](PlanModel& p) { p.profiles[0].inputs[0].binding = 1; }},
    {"ProfileRank", PW_CORRUPT, "another input's rank", [](PlanModel& p) { p.profiles[0].inputs[0].opt = {4}; }},
    {"ProfileNotOrdered", PW_CORRUPT, "not ordered", [](PlanModel& p) { p.profiles[0].inputs[0].min = {5, 8}; }},
    {"ProfileNegative", PW_CORRUPT, "not ordered", [](PlanModel& p) { p.profiles[0].inputs[0].min = {-1, 8}; }},
    {"ProfileContradictsTheModel", PW_CORRUPT, "dim 1 of input x is 9",
     [](PlanModel& p) {
       p.profiles[0].inputs[0].opt = p.profiles[0].inputs[0].max = {8, 9};
     }},
    {"ProfileOfValues", PW_CORRUPT, "not one for each of its elements",
     [](PlanModel& p) { p.profiles[0].inputs[0].value_opt = {1}; }},
    {"NoThreads", PW_CORRUPT, "0 threads", [](PlanModel& p) { p.threads = 0; }},
    {"NoteTooLong", PW_CORRUPT, "note has 4097 bytes", [](PlanModel& p) { p.note.assign(4097, 'n'); }},
    {"TooManyThreads", PW_CORRUPT, "257 threads", [](PlanModel& p) { p.threads = 257; }},

    // ---- Programs, storages, tensors
    {"ProgramOfNoProfile", PW_CORRUPT, "profile 1 of 1",
     [](PlanModel& p) {
       p.programs.push_back(p.programs[0]);
       p.programs[1].profile = 1;
     }},
    {"IsaUnknown", PW_CORRUPT, "instruction set number 99", [](PlanModel& p) { program(p).isa = 99; }},
    {"ArenaBeyondMemory", PW_RESOURCE, "more than an address space", [](PlanModel& p) { program(p).arena_size = 1ull << 60; }},
    {"ScratchBeyondMemory", PW_RESOURCE, "more than an address space",
     [](PlanModel& p) { program(p).scratch_per_worker = 1ull << 60; }},
    {"StorageKindUnknown", PW_CORRUPT, "kind 9",
     [](PlanModel& p) { storage(p, "normal").kind = static_cast<StorageKind>(9); }},
    {"StoragePastTheArena", PW_CORRUPT, "is not there", [](PlanModel& p) { storage(p, "normal").size = 1 << 20; }},
    {"StorageWraps", PW_CORRUPT, "is not there", [](PlanModel& p) { storage(p, "normal").offset = ~0ull - 63; }},
    {"StorageMisaligned", PW_CORRUPT, "is not there", [](PlanModel& p) { storage(p, "where").offset += 8; }},
    {"StorageOfNoBlob", PW_CORRUPT, "is not there", [](PlanModel& p) { storage(p, "weights").index = 1; }},
    {"StorageOfNoBinding", PW_CORRUPT, "is not there", [](PlanModel& p) { storage(p, "x").index = 4; }},
    {"StorageTwiceOfABinding", PW_CORRUPT, "second of binding x", [](PlanModel& p) { storage(p, "picks").index = 0; }},
    {"TensorOfNoStorage", PW_CORRUPT, "not there", [](PlanModel& p) { tensor(p, "normal").storage = 99; }},
    {"TensorTypeUnknown", PW_CORRUPT, "not there",
     [](PlanModel& p) { tensor(p, "normal").dtype = static_cast<DType>(kDTypeCount); }},
    {"TensorRankTooHigh", PW_CORRUPT, "not there",
     [](PlanModel& p) {
       tensor(p, "normal").dims.assign(9, 0);
       tensor(p, "normal").strides.assign(9, 0);
     }},
    {"TensorStridesShort", PW_CORRUPT, "not there", [](PlanModel& p) { tensor(p, "normal").strides.pop_back(); }},
    {"TensorDimAbsent", PW_CORRUPT, "not there", [](PlanModel& p) { tensor(p, "normal").dims[0] = 1u << 31; }},
    {"TensorStrideAbsent", PW_CORRUPT, "not there", [](PlanModel& p) { tensor(p, "normal").strides[0] = 1u << 31; }},
    {"TensorOffsetAbsent", PW_CORRUPT, "not there", [](PlanModel& p) { tensor(p, "normal").offset = 1u << 31; }},
    {"TensorOfABindingAsAnotherType", PW_CORRUPT, "as another type", [](PlanModel& p) { tensor(p, "x").dtype = DType::kF64; }},
    {"TensorPastItsStorage", PW_CORRUPT, "layer norm", [](PlanModel& p) { storage(p, "normal").size = 127; }},
    {"TensorOffsetPastItsStorage", PW_CORRUPT, "tensor x ends at byte",
     [](PlanModel& p) { tensor(p, "x").offset = add_constant(p, 1); }},
    {"TensorOffsetNegative", PW_CORRUPT, "tensor x has a negative",
     [](PlanModel& p) { tensor(p, "x").offset = add_constant(p, -1); }},
    {"TensorStrideNegative", PW_CORRUPT, "tensor x has a negative",
     [](PlanModel& p) { tensor(p, "x").strides[1] = add_constant(p, -1); }},
    {"TensorStrideWraps", PW_CORRUPT, "tensor x has a negative or overflowing",
     [](PlanModel& p) { tensor(p, "x").strides[0] = add_constant(p, INT64_MAX); }},
    {"TensorRepeatsWithoutEnd", PW_CORRUPT, "tensor x has a negative or overflowing",
     [](PlanModel& p) {
       tensor(p, "x").dims[1] = add_constant(p, int64_t{1} << 50);
       tensor(p, "x").strides[1] = add_constant(p, 0);
     }},
    {"WeightsPastTheirBlob", PW_CORRUPT, "tensor weights ends",
     [](PlanModel& p) { tensor(p, "weights").strides[0] = add_constant(p, 4); }},

    // ---- Steps
    {"InputPastTheTensors", PW_CORRUPT, "input tensor 1000 is not there", [](PlanModel& p) { step(p, "norm").inputs[0] = 1000; }},
    {"InputBelowNone", PW_CORRUPT, "input tensor -2 is not there", [](PlanModel& p) { step(p, "norm").inputs[1] = -2; }},
    {"InputNotOptional", PW_CORRUPT, "layer norm", [](PlanModel& p) { step(p, "norm").inputs[0] = -1; }},
    {"OutputNotOptional", PW_CORRUPT, "layer topk",
     [](PlanModel& p) {
       step(p, "topk").outputs[1] = -1;
       step(p, "places").inputs[0] = 1;
     }},
    {"OutputPastTheTensors", PW_CORRUPT, "output tensor 1000 is not there", [](PlanModel& p) { step(p, "norm").outputs[0] = 1000; }},
    {"OutputOverWeights", PW_CORRUPT, "not in the arena or an output",
     [](PlanModel& p) { step(p, "norm").outputs[0] = step(p, "conv").inputs[1]; }},
    {"OutputOverAnInput", PW_CORRUPT, "not in the arena or an output",
     [](PlanModel& p) { step(p, "norm").outputs[0] = step(p, "norm").inputs[0]; }},
    {"OutputWithoutMemory", PW_CORRUPT, "not in the arena or an output",
     [](PlanModel& p) { storage(p, "normal").kind = StorageKind::kNone; }},
    {"OutputsShareMemory", PW_CORRUPT, "outputs 0 and 1 share memory",
     [](PlanModel& p) { tensor(p, "where").storage = tensor(p, "largest").storage; }},
    {"OutputOverItsIndices", PW_CORRUPT, "overwrites the indices",
     [](PlanModel& p) {
       // Element 0 of the result lies on element 1 of the indices.
       storage(p, "where").size = 8 * 3 * 8;
       step(p, "pick").inputs[1] = step(p, "topk").outputs[1];
       tensor(p, "picked").storage = tensor(p, "where").storage;
       tensor(p, "picked").dims = tensor(p, "where").dims;
       tensor(p, "picked").strides = tensor(p, "where").strides;
     }},
    {"InputWithoutMemory", PW_CORRUPT, "given without its elements",
     [](PlanModel& p) { storage(p, "weights").kind = StorageKind::kNone; }},
    {"CoreInputsPastTheInputs", PW_CORRUPT, "4 of 3 inputs", [](PlanModel& p) { step(p, "norm").core_inputs = 4; }},
    {"OperatorUnlikeTheKernels", PW_CORRUPT, "the kernel does LayerNorm", [](PlanModel& p) { step(p, "norm").op = 200; }},
    {"KernelAbsent", PW_CORRUPT, "kernel 99 is not there", [](PlanModel& p) { step(p, "norm").kernel = 99; }},
    {"KernelUnknown", PW_INCOMPATIBLE, "kernel gemm_of_tomorrow", [](PlanModel& p) { p.kernels[0].name = "gemm_of_tomorrow"; }},
    {"KernelRevision", PW_INCOMPATIBLE, "revision 7", [](PlanModel& p) { p.kernels[0].revision = 7; }},
    {"KernelNeedsMoreThanTheProgram", PW_CORRUPT, "needs baseline",
     [](PlanModel& p) {
       p.kernels[0].name = "layer_norm_f32_baseline";
       program(p).isa = 0;
     }},
    {"PackedAbsent", PW_CORRUPT, "packed weights 1 are not there", [](PlanModel& p) { step(p, "conv").packed = 1; }},
    {"PackedBelowNone", PW_CORRUPT, "packed weights -2", [](PlanModel& p) { step(p, "conv").packed = -2; }},
    {"PackedUnlikeTheFormula", PW_CORRUPT, "0 bytes of packed weights, the plan gives it 24",
     [](PlanModel& p) { step(p, "conv").packed = 0; }},
    {"WorkspaceAbsent", PW_CORRUPT, "workspace 99", [](PlanModel& p) { step(p, "conv").workspace = 99; }},
    {"WorkspaceOutsideTheArena", PW_CORRUPT, "workspace 0 is no storage of the arena",
     [](PlanModel& p) { step(p, "conv").workspace = 0; }},
    {"ScratchTooSmall", PW_CORRUPT, "needs 64 bytes of scratch, the plan gives it 63",
     [](PlanModel& p) { program(p).scratch_per_worker = 63; }},
    {"ParamsShort", PW_CORRUPT, "layer conv", [](PlanModel& p) { step(p, "conv").params.pop_back(); }},
    {"ParamsAbsent", PW_CORRUPT, "layer conv", [](PlanModel& p) { step(p, "conv").params.clear(); }},
    {"ParamsDivideByZero", PW_CORRUPT, "layer conv",
     [](PlanModel& p) { step(p, "conv").params = tests::params_bytes(ConvParams{.spatial = 1, .group = 0}); }},
    {"ParamsAxis", PW_CORRUPT, "layer topk",
     [](PlanModel& p) { step(p, "topk").params = tests::params_bytes(TopKParams{.axis = 2}); }},
    {"ParamsAxisNegative", PW_CORRUPT, "layer topk",
     [](PlanModel& p) { step(p, "topk").params = tests::params_bytes(TopKParams{.axis = -1}); }},
    {"ScalarAbsent", PW_CORRUPT, "scalar is no expression", [](PlanModel& p) { step(p, "conv").scalars[0] = ~0u; }},
    {"ScalarsMissing", PW_CORRUPT, "layer conv", [](PlanModel& p) { step(p, "conv").scalars.clear(); }},
    {"ScalarHuge", PW_CORRUPT, "layer conv",
     [](PlanModel& p) { step(p, "conv").scalars[0] = add_constant(p, INT64_MAX); }},
    {"ProgramCutShort", PW_CORRUPT, "no whole number of instructions",
     [](PlanModel& p) { step(p, "conv").program.resize(17); }},
    {"ProgramOfNonsense", PW_CORRUPT, "program",
     [](PlanModel& p) { step(p, "conv").program.assign(160, std::byte{0x5A}); }},
    {"TypesUnlikeTheKernels", PW_CORRUPT, "layer topk", [](PlanModel& p) { tensor(p, "where").dtype = DType::kI32; }},
    {"DimsUnlikeTheKernels", PW_CORRUPT, "layer conv",
     [](PlanModel& p) { tensor(p, "row").dims[1] = add_constant(p, 2); }},
    {"TooManyOperands", PW_CORRUPT, "operands", [](PlanModel& p) { step(p, "norm").inputs.resize(20000, 0); }},

    // ---- Lifetimes
    {"ReadsWhatNothingWrote", PW_CORRUPT, "which no step before it wrote",
     [](PlanModel& p) { std::swap(program(p).steps[0], program(p).steps[1]); }},
    {"ReadsItself", PW_CORRUPT, "which no step before it wrote",
     [](PlanModel& p) { step(p, "norm").inputs[0] = step(p, "norm").outputs[0]; }},
    {"ReadsAnUnwrittenOutput", PW_CORRUPT, "which no step before it wrote",
     [](PlanModel& p) { step(p, "norm").inputs[0] = step(p, "conv").outputs[0]; }},
    {"LeavesAnOutputUnwritten", PW_CORRUPT, "no step writes output places",
     [](PlanModel& p) { program(p).steps.pop_back(); }},
    {"BuffersOverlap", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { storage(p, "where").offset = storage(p, "normal").offset; }},
    {"BuffersOverlapInPart", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { storage(p, "where").offset = storage(p, "largest").offset + 128; }},
    {"WorkspaceOverlaps", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { program(p).storages[static_cast<size_t>(step(p, "places").workspace)].offset = storage(p, "where").offset; }},
    {"WorkspaceIsAnOperand", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { step(p, "places").workspace = static_cast<int32_t>(tensor(p, "where").storage); }},

    // ---- Places for shapes up to opt
    {"OptPlaceOutsideTheArena", PW_CORRUPT, "no place for shapes up to opt",
     [](PlanModel& p) { with_opt_places(p, "where").opt_offset = program(p).arena_size; }},
    {"OptPlaceOverflowing", PW_CORRUPT, "no place for shapes up to opt",
     [](PlanModel& p) { with_opt_places(p, "where").opt_size = UINT64_MAX - 63; }},
    {"OptPlaceNotAligned", PW_CORRUPT, "no place for shapes up to opt",
     [](PlanModel& p) { with_opt_places(p, "where").opt_offset += 4; }},
    {"OptPlacesOverlap", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { with_opt_places(p, "where").opt_offset = storage(p, "normal").offset; }},
    {"OptPlaceTooSmall", PW_CORRUPT, "tensor where ends at byte",
     [](PlanModel& p) { with_opt_places(p, "where").opt_size = 4; }},
};

class Hostile : public testing::TestWithParam<Row> {};

TEST_P(Hostile, IsRefused) {
  PlanBuilder builder = tests::many_steps_plan();
  GetParam().tamper(builder.plan);
  tests::Aligned bytes(tests::engine_bytes(builder.plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), GetParam().status) << pw_last_error();
  EXPECT_THAT(pw_last_error(), HasSubstr(GetParam().message));
  EXPECT_EQ(engine, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Plan, Hostile, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

// The rows above prove something only if the plan is sound without them.
TEST(HostileBase, ThePlanItselfOpens) {
  tests::Aligned bytes(tests::engine_bytes(tests::many_steps_plan().plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_OK) << pw_last_error();
  pw_engine_close(engine);
}

// In time order storages may share bytes: the workspace of the last step with what has died.
TEST(HostileBase, BuffersThatDoNotMeetMayShareBytes) {
  PlanBuilder builder = tests::many_steps_plan();
  PlanModel& plan = builder.plan;
  program(plan).storages[static_cast<size_t>(step(plan, "places").workspace)].offset = storage(plan, "normal").offset;
  tests::Aligned bytes(tests::engine_bytes(plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_OK) << pw_last_error();
  pw_engine_close(engine);
}

// L14, whatever CPU the test runs on.
TEST(HostileBase, AnInstructionSetTheCpuLacksIsNamed) {
  PlanBuilder builder = tests::many_steps_plan();
  builder.program().isa = static_cast<uint8_t>(Isa::kAvx512);
  tests::Aligned bytes(tests::engine_bytes(builder.plan));
  planfmt::EngineFile file;
  ASSERT_TRUE(file.open_memory(bytes.data(), bytes.size(), {}).ok()) << last_error();
  planfmt::Array<const void*> kernels;
  const planfmt::PlanSizes sizes = {file.plan_bytes(), file.weights_bytes()};
  EXPECT_EQ(planfmt::verify_plan(file.plan(), sizes, loader::RegistryCatalog(Isa::kAvx2), &kernels).code(),
            StatusCode::kIncompatible);
  EXPECT_THAT(last_error(), HasSubstr("needs avx512 instructions, this CPU has avx2"));
  EXPECT_TRUE(planfmt::verify_plan(file.plan(), sizes, loader::RegistryCatalog(Isa::kAvx512), &kernels).ok())
      << last_error();
}

// Of several programs for a profile the highest that the CPU has is taken.
TEST(HostileBase, TheProgramIsTheHighestTheCpuHas) {
  PlanBuilder builder = tests::many_steps_plan();
  builder.plan.programs.resize(3, builder.plan.programs[0]);
  builder.plan.programs[1].isa = static_cast<uint8_t>(Isa::kAvx2);
  builder.plan.programs[2].isa = static_cast<uint8_t>(Isa::kAvx512);
  tests::Aligned bytes(tests::engine_bytes(builder.plan));
  planfmt::EngineFile file;
  ASSERT_TRUE(file.open_memory(bytes.data(), bytes.size(), {}).ok()) << last_error();
  for (const auto& [cpu, expected] : {std::pair(Isa::kBaseline, 0), {Isa::kAvx2, 1}, {Isa::kAvx512Vnni, 2}}) {
    const loader::RegistryCatalog catalog(cpu);
    EXPECT_EQ(planfmt::program_of(file.plan(), 0, catalog),
              file.plan().programs()->Get(static_cast<uint32_t>(expected)));
  }
}

// L7: a small file must not be able to keep the verifier busy.
TEST(HostileBase, ManyExpressionsAreRefusedByCount) {
  PlanBuilder builder = tests::many_steps_plan();
  builder.plan.expressions.resize(300'000);
  tests::Aligned bytes(tests::engine_bytes(builder.plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_CORRUPT);
  EXPECT_THAT(pw_last_error(), HasSubstr("300000 expressions"));
}

}  // namespace
}  // namespace planwright
