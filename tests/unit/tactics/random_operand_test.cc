#include "tactics/random_operand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tactics/elements.h"
#include "tactics/kernels/registry.h"
#include "tactics/step_data.h"
#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

StepSpec spec_of(OpKind op, std::vector<TensorView> inputs, std::vector<TensorView> outputs) {
  StepSpec spec;
  spec.op = op;
  for (const TensorView& view : inputs) spec.inputs.push_back(computed(view));
  spec.core_inputs = static_cast<int32_t>(inputs.size());
  spec.outputs = std::move(outputs);
  return spec;
}

// Whether the step's reference kernel accepts the data: it checks every index and length.
Status run_reference(const StepSpec& spec) {
  const StepData data(spec, 1);
  std::vector<TensorView> views;
  KernelArgs args = args_of(spec, {}, &views);
  for (size_t i = 0; i < data.inputs().size(); ++i) views[i] = data.inputs()[i];
  for (size_t i = 0; i < data.outputs().size(); ++i) views[data.inputs().size() + i] = data.outputs()[i];
  const KernelDescriptor& kernel = reference_kernel(spec.op);
  if (const Status valid = kernel.validate(args); !valid.ok()) return valid;
  const GuardedMemory workspace(kernel.workspace_size != nullptr ? kernel.workspace_size(args) : 0);
  const GuardedMemory scratch(kernel.scratch_size != nullptr ? kernel.scratch_size(args) : 0);
  InlineExecutor executor;
  args.workspace = workspace.data();
  args.workspace_size = workspace.size();
  args.scratch = scratch.data();
  args.scratch_stride = scratch.size();
  args.executor = &executor;
  return kernel.run(args);
}

TEST(FillOperand, IndicesAndLengthsAreInRange) {
  const auto ints = [](std::initializer_list<int64_t> dims) { return view_of(dims, DType::kI64); };
  std::vector<StepSpec> specs;
  specs.push_back(spec_of(OpKind::kGather, {view_of({7, 5}), ints({9})}, {view_of({9, 5})}));
  set_params(&specs.back(), GatherParams{0});
  specs.push_back(spec_of(OpKind::kGatherElements, {view_of({7, 5}), ints({7, 3})}, {view_of({7, 3})}));
  set_params(&specs.back(), GatherElementsParams{1});
  specs.push_back(spec_of(OpKind::kGatherND, {view_of({7, 5, 2}), ints({50, 2})}, {view_of({50, 2})}));
  set_params(&specs.back(), GatherNDParams{0});
  specs.push_back(
      spec_of(OpKind::kScatterElements, {view_of({7, 5}), ints({4, 5}), view_of({4, 5})}, {view_of({7, 5})}));
  set_params(&specs.back(), ScatterElementsParams{0});
  specs.push_back(spec_of(OpKind::kScatterND, {view_of({7, 5}), ints({6, 2}), view_of({6})}, {view_of({7, 5})}));
  set_params(&specs.back(), ScatterNDParams{});
  specs.push_back(spec_of(OpKind::kReverseSequence, {view_of({6, 3}), ints({3})}, {view_of({6, 3})}));
  set_params(&specs.back(), ReverseSequenceParams{1, 0});
  for (const StepSpec& spec : specs) {
    EXPECT_TRUE(run_reference(spec).ok()) << name_of(spec.op) << ": " << last_error();
  }
}

TEST(FillOperand, AScatterNamesNoPlaceTwice) {
  const StepSpec spec =
      spec_of(OpKind::kScatterND, {view_of({7, 5}), view_of({30, 2}, DType::kI64), view_of({30})}, {view_of({7, 5})});
  const StepData data(spec, 1);
  const int64_t* indices = data.inputs()[1].as<int64_t>();
  std::set<std::pair<int64_t, int64_t>> places;
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(places.emplace(indices[2 * i], indices[2 * i + 1]).second) << i;
}

TEST(FillOperand, FloatsAreNormallyDistributed) {
  StepSpec spec = copy_spec({100, 100});
  const StepData data(spec, 1);
  double sum = 0, squares = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = data.inputs()[0].as<float>()[i];
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 1e4, 0, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 1e4), 1, 0.05);
}

TEST(StepData, PlacesConstantsByTheirStrides) {
  StepSpec spec = copy_spec({2, 3});
  spec.inputs[0] = constant({2, 3});
  spec.inputs[0].view.strides[0] = 1;
  spec.inputs[0].view.strides[1] = 2;
  const StepData data(spec, 1);
  const float* elements = data.inputs()[0].as<float>();
  EXPECT_THAT(std::vector<float>(elements, elements + 6),
              testing::ElementsAre(1.0f, 1.0f / 4, 1.0f / 2, 1.0f / 5, 1.0f / 3, 1.0f / 6));
}

TEST(StepData, PoisonReachesEveryElement) {
  const StepSpec spec = copy_spec({5});
  StepData data(spec, 1);
  data.poison_outputs();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(data.outputs()[0].as<float>()[i]));
}

}  // namespace
}  // namespace planwright::tactics
