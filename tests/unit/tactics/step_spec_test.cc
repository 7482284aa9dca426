#include "tactics/step_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

TEST(KeyOf, DiffersWithEverythingThatIsPartOfTheWork) {
  const std::pair<const char*, std::function<void(StepSpec&)>> changes[] = {
      {"nothing", [](StepSpec&) {}},
      {"operator", [](StepSpec& spec) { spec.op = OpKind::kConvTranspose; }},
      {"dims", [](StepSpec& spec) { spec.inputs[0].view.dims[2] = 9; }},
      {"strides", [](StepSpec& spec) { spec.inputs[0].view.strides[2] += 8; }},
      {"type", [](StepSpec& spec) { spec.inputs[0].view.dtype = DType::kI32; }},
      {"output dims", [](StepSpec& spec) { spec.outputs[0].dims[1] = 17; }},
      {"constness", [](StepSpec& spec) { spec.inputs[1].constant = nullptr; }},
      {"an operand more",
       [](StepSpec& spec) {
         spec.inputs.push_back(constant({16, 1, 1}));
       }},
      {"an absent operand", [](StepSpec& spec) { spec.inputs[1].view.absent = true; }},
      {"params",
       [](StepSpec& spec) {
         set_params(&spec, ConvParams{2, 2});
       }},
      {"scalars", [](StepSpec& spec) { spec.scalars[1] = 0; }},
      {"program", [](StepSpec& spec) { spec.program.emplace_back(); }},
      {"core inputs", [](StepSpec& spec) { spec.core_inputs = 1; }},
  };
  std::set<TacticKey> keys;
  for (const auto& [what, change] : changes) {
    StepSpec spec = conv_spec(8, 16, 8);
    change(spec);
    EXPECT_TRUE(keys.insert(key_of(spec, 1)).second) << what;
  }
  EXPECT_TRUE(keys.insert(key_of(conv_spec(8, 16, 8), 2)).second) << "threads";
}

TEST(KeyOf, IsTheSameForWhatIsNot) {
  const TacticKey key = key_of(conv_spec(8, 16, 8), 1);
  StepSpec renamed = conv_spec(8, 16, 8);
  renamed.name = "another layer";
  EXPECT_EQ(key_of(renamed, 1), key);

  StepSpec other_weights = conv_spec(8, 16, 8);
  auto zeros = std::make_shared<std::vector<std::byte>>(other_weights.inputs[1].constant->size());
  other_weights.inputs[1].constant = zeros;
  EXPECT_EQ(key_of(other_weights, 1), key);

  StepSpec other_stride_of_one = conv_spec(8, 16, 8);
  other_stride_of_one.inputs[0].view.strides[0] = 12345;  // of the batch axis, which has length 1
  EXPECT_EQ(key_of(other_stride_of_one, 1), key);
}

TEST(ArgsOf, PointsIntoTheSpec) {
  const StepSpec spec = conv_spec(8, 16, 8);
  std::vector<TensorView> views;
  const KernelArgs args = args_of(spec, {{3, 1}}, &views);
  EXPECT_EQ(args.op, OpKind::kConv);
  EXPECT_EQ(args.input_count, 2);
  EXPECT_EQ(args.core_inputs, 2);
  EXPECT_EQ(args.inputs[1].dims[0], 16);
  EXPECT_EQ(args.output_count, 1);
  EXPECT_EQ(args.outputs[0].strides[1], 1);
  EXPECT_EQ(args.params_as<ConvParams>().stride[0], 1);
  EXPECT_EQ(args.scalar_count, 2);
  EXPECT_EQ(args.tactic.v[0], 3);
  EXPECT_EQ(args.packed, nullptr);
}

}  // namespace
}  // namespace planwright::tactics
