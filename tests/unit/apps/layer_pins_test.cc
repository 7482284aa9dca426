// Pins: their specs, which layers they reach, and what becomes of those that cannot hold.
#include "apps/buildengine/layer_pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/passes/quantisable_layers.h"
#include "schemas/types/error.h"
#include "tactics/kernels/cpu.h"
#include "tactics/kernels/registry.h"
#include "tests/support/built_engine.h"
#include "tests/unit/apps/command_lines.h"

namespace planwright::apps {
namespace {

using planwright::testing::GraphBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LayerSpecs, AreNamesAndTypes) {
  const std::vector<LayerSpec> specs = parse_layer_specs("a:fp32,'b,c:0'*:int8+fp32,d*:bf16", "--layerPrecisions");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].pattern, "a");
  EXPECT_THAT(specs[0].types, ElementsAre(PinType::kFp32));
  EXPECT_THAT(specs[1].types, ElementsAre(PinType::kInt8, PinType::kFp32));
  EXPECT_EQ(specs[2].pattern, "d*");
  EXPECT_THAT(specs[2].types, ElementsAre(PinType::kBf16));
}

TEST(LayerSpecs, WhatIsWrongIsQuoted) {
  const auto refusal = [](const std::string& text) {
    return usage_error([&] { parse_layer_specs(text, "--layerPrecisions"); });
  };
  EXPECT_THAT(refusal("a:fp16"), HasSubstr("--layerPrecisions: 'fp16' is none of fp32, bf16, int8"));
  EXPECT_THAT(refusal("a:fp32+"), HasSubstr("'' is none of"));
  EXPECT_THAT(refusal("a"), HasSubstr("'a' is not name:value"));
  EXPECT_THAT(refusal("*a*:fp32"), HasSubstr("more than one *"));
}

TEST(LayerPins, LaterSpecsWinAndEachFitsALayer) {
  const std::vector<std::string> names = {"conv1", "conv2", "dense"};
  const auto pins = [&](std::vector<LayerSpec> specs) {
    return LayerPins({std::move(specs), {}, PinConstraint::kPrefer}, names);
  };
  const LayerPins some = pins({{"*", {PinType::kInt8}}, {"conv*", {PinType::kFp32}}, {"conv2", {PinType::kBf16}}});
  EXPECT_EQ(some.precision_of({"conv1"}), PinType::kFp32);
  EXPECT_EQ(some.precision_of({"conv2"}), PinType::kBf16);
  EXPECT_EQ(some.precision_of({"unnamed", "dense", "conv1"}), PinType::kInt8);
  EXPECT_EQ(some.precision_of({"unnamed"}), std::nullopt);
  EXPECT_TRUE(LayerPins().empty());
  EXPECT_FALSE(some.empty());
  EXPECT_THAT(usage_error([&] { pins({{"conv3", {PinType::kInt8}}}); }), HasSubstr("did you mean 'conv1'?"));
  EXPECT_THAT(usage_error([&] {
                pins({{"pool*", {PinType::kInt8}}});
              }),
              HasSubstr("no layer is called 'pool*'; there are conv1, conv2, dense"));
}

// Of the outputs of a layer all are in fp32 where one is.
TEST(LayerPins, TypesOfSeveralOutputs) {
  const LayerPins pins({{}, {{"split", {PinType::kInt8, PinType::kFp32}}}, PinConstraint::kPrefer}, {"split"});
  EXPECT_EQ(pins.output_type_of({"split"}), PinType::kFp32);
}

// x -> first -> relu -> second -> y, and what reads what `first` makes, once relu is fused into it.
class PinnedNetwork : public ::testing::Test {
 protected:
  PinnedNetwork() {
    const ir::ValueId x = b_.input("x", {32, 64});
    const ir::ValueId relu = b_.relu("relu", b_.matmul("first", x, b_.weights("w1", {64, 64})));
    b_.output(b_.unary(PwOp::kTanh, "tanh", b_.matmul("second", relu, b_.weights("w2", {64, 64}))));
    options_ = planwright::testing::untimed_options(b_.graph);
    const ir::Graph prepared = builder::prepare(b_.graph.copy(), options_);
    for (const builder::QuantisableNode& node : builder::quantisable_nodes(prepared)) layers_.push_back(node.layer);
    floats_ = builder::build_prepared(prepared.copy(), options_).plan;
  }

  static LayerPins pins(std::vector<LayerSpec> precisions, std::vector<LayerSpec> outputs = {}) {
    return LayerPins({std::move(precisions), std::move(outputs), PinConstraint::kObey},
                     {"first", "relu", "second", "tanh"});
  }

  planfmt::PlanModel built(const LayerPins& pins, bool bf16) {
    builder::BuildOptions options = options_;
    options.search.bf16 = bf16;
    options.pins = pins.steps(floats_);
    return builder::build(b_.graph.copy(), options).plan;
  }

  static std::vector<std::string> layers_of(const std::vector<UnheldPin>& pins) {
    std::vector<std::string> names;
    for (const UnheldPin& pin : pins) names.push_back(pin.layer);
    return names;
  }

  const bool has_bf16_ = detect_isa() >= Isa::kAvx512Vnni;
  GraphBuilder b_;
  builder::BuildOptions options_;
  std::vector<ir::QuantisableLayer> layers_;
  planfmt::PlanModel floats_;
};

TEST_F(PinnedNetwork, ALayerMayBeInt8OrMustNotBe) {
  ASSERT_EQ(layers_.size(), 2u);
  const LayerPins::Quantised found =
      pins({{"first", {PinType::kInt8}}, {"second", {PinType::kBf16}}}).quantised(floats_, layers_);
  EXPECT_THAT(found.int8, ElementsAre("first"));
  EXPECT_THAT(found.floats, ElementsAre("second"));
  EXPECT_THAT(found.unheld, IsEmpty());
}

TEST_F(PinnedNetwork, AFusedLayerHasThePinOfItsNodes) {
  EXPECT_THAT(pins({{"relu", {PinType::kFp32}}}).quantised(floats_, layers_).floats, ElementsAre("first"));
  // The product's own comes first.
  const LayerPins both = pins({{"relu", {PinType::kFp32}}, {"first", {PinType::kInt8}}});
  EXPECT_THAT(both.quantised(floats_, layers_).int8, ElementsAre("first"));
}

TEST_F(PinnedNetwork, AnOutputDecidesForItsReaders) {
  EXPECT_THAT(pins({}, {{"first", {PinType::kFp32}}}).quantised(floats_, layers_).floats, ElementsAre("second"));
  EXPECT_THAT(pins({}, {{"relu", {PinType::kInt8}}}).quantised(floats_, layers_).int8, ElementsAre("second"));
  const auto unread = pins({}, {{"second", {PinType::kInt8}}}).quantised(floats_, layers_).unheld;
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_THAT(unread[0].why, HasSubstr("no layer that reads it can be int8"));
  const auto opposed = pins({{"second", {PinType::kInt8}}}, {{"first", {PinType::kFp32}}}).quantised(floats_, layers_);
  ASSERT_THAT(layers_of(opposed.unheld), ElementsAre("second"));
  EXPECT_THAT(opposed.unheld[0].why, HasSubstr("is pinned to int8, and it reads what layer first makes"));
  EXPECT_THAT(opposed.int8, ElementsAre("second"));
}

TEST_F(PinnedNetwork, Bf16PinsLeaveOneOfTheProducts) {
  const LayerPins some = pins({{"first", {PinType::kFp32}}, {"second", {PinType::kBf16}}});
  const planfmt::PlanModel plan = built(some, true);
  const std::vector<std::string> none, second = {"second"};
  EXPECT_EQ(layers_of(some.unheld(plan)), has_bf16_ ? none : second);
  // Without the pins both multiply in it.
  const planfmt::PlanModel free = built({}, true);
  EXPECT_THAT(layers_of(some.unheld(free)), ElementsAre(has_bf16_ ? "first" : "second"));
}

TEST_F(PinnedNetwork, PinsThatDoNotHoldAreNamed) {
  const LayerPins to_int8 = pins({{"first", {PinType::kInt8}}});
  EXPECT_THAT(layers_of(to_int8.unheld(floats_)), ElementsAre("first"));
  EXPECT_THAT(to_int8.unheld(floats_, {"first"}), IsEmpty());  // may be quantised yet
  EXPECT_THAT(pins({{"first", {PinType::kFp32}}}).unheld(floats_), IsEmpty());
}

TEST(ReportUnheld, ObeyFailsAndPreferWarns) {
  std::string warned;
  const auto warn = [&](const std::string& text) { warned += text; };
  report_unheld({}, true, warn);
  report_unheld({{"conv", "is pinned to int8 and is not"}}, false, warn);
  EXPECT_EQ(warned, "pins that do not hold: layer conv is pinned to int8 and is not");
  try {
    report_unheld(std::vector<UnheldPin>(7, {"conv", "is off"}), true, warn);
    FAIL() << "obeyed pins are let go";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--precisionConstraints=obey: layer conv is off; "));
    EXPECT_THAT(error.what(), HasSubstr("and 2 more"));
  }
}

}  // namespace
}  // namespace planwright::apps
