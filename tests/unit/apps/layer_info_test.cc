// What --exportLayerInfo and --verbose say of layers and their precisions.
#include "apps/buildengine/layer_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/buildengine/sensitivity.h"
#include "tests/support/small_plan.h"
#include "tests/support/temporary_folder.h"

namespace planwright::apps {
namespace {

using ::testing::ElementsAre;

const std::vector<LayerSensitivity> kLayers = {
    {"untried", {}, {}, true},
    {"matmul", 2e-4, 12.34, false},
    {"slow", {}, 3.0, false},
    {"bad", 0.5, 1.0, true},
};

nlohmann::json exported(const planfmt::PlanModel& plan, const std::vector<LayerSensitivity>& layers,
                        const LayerPins& pins = {}) {
  const tests::TemporaryFolder folder;
  export_layer_info(plan, layers, pins, folder.file("layers.json"));
  std::ifstream file(folder.file("layers.json"));
  return nlohmann::json::parse(file);
}

TEST(LayerInfo, SensitivityHasWhatWasMeasured) {
  const nlohmann::json sensitivity = exported(tests::matmul_relu_plan().plan, kLayers).at("Sensitivity");
  ASSERT_EQ(sensitivity.size(), 4u);
  EXPECT_EQ(sensitivity[0], nlohmann::json({{"Name", "untried"}, {"Precision", "int8"}}));
  EXPECT_EQ(sensitivity[1],
            nlohmann::json({{"Name", "matmul"}, {"Precision", "fp32"}, {"Drop", 2e-4}, {"GainUs", 12.34}}));
  EXPECT_EQ(exported(tests::matmul_relu_plan().plan, {}).at("Sensitivity"), nlohmann::json::array());
}

TEST(LayerInfo, AProductOfBytesIsInt8WhateverItWrites) {
  planfmt::PlanModel plan = tests::matmul_relu_plan().plan;
  const auto precision = [&] { return exported(plan, {}).at("Layers")[0].at("Precision"); };
  EXPECT_EQ(precision(), "fp32");
  const auto input = static_cast<size_t>(plan.programs[0].steps[0].inputs[0]);
  plan.programs[0].tensors[input].dtype = DType::kU8;
  EXPECT_EQ(precision(), "int8");
}

TEST(LayerInfo, ALayerShowsItsPin) {
  const LayerPins pins({{{"matmul", {PinType::kInt8}}}, {}, PinConstraint::kPrefer}, {"matmul", "relu"});
  const nlohmann::json layers = exported(tests::matmul_relu_plan().plan, {}, pins).at("Layers");
  EXPECT_EQ(layers[0].at("Pinned"), "int8");
  EXPECT_FALSE(layers[1].contains("Pinned"));
}

TEST(SensitivityTable, TheWorstLayerIsFirst) {
  EXPECT_THAT(sensitivity_table(kLayers), ElementsAre("     Drop   Gain(us)  Computes   Layer",   //
                                                      "      0.5        1.0  in int8    bad",     //
                                                      "   0.0002       12.3  in floats  matmul",  //
                                                      "        -        3.0  in floats  slow",    //
                                                      "        -          -  in int8    untried"));
  EXPECT_THAT(sensitivity_table({}), ElementsAre());
}

}  // namespace
}  // namespace planwright::apps
