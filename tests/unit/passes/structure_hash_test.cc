// What a tensor's key depends on: what is computed, not what it is called.
#include "builder/structure_hash.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::GraphBuilder;

// A convolution and what is behind it, of another kind for each field that is set otherwise.
struct Variant {
  std::string prefix = "";
  int64_t height = 8, pad = 1;
  float weight = 0.5f;
  double factor = 3;
  PwOp op = PwOp::kMul;
  bool second_input = false, flipped = false;
  std::vector<int> perm = {0, 2, 3, 1};
};

uint64_t hash_of(const Variant& v) {
  GraphBuilder b;
  const ValueId x = b.input(v.prefix + "x", {1, 1, v.height, 8}),
                other = b.input(v.prefix + "other", {1, 1, v.height, 8});
  const std::vector<float> weights = {1, 2, 3, 4, v.weight, 6, 7, 8, 9};
  const ValueId w = b.constant(v.prefix + "w", {1, 1, 3, 3}, weights);
  const ValueId conv = b.conv(v.prefix + "conv", v.second_input ? other : x, w, v.pad);
  const ValueId scaled = b.scalar(v.op, v.prefix + "scaled", conv, v.factor);
  const ValueId less = b.binary(PwOp::kSub, v.prefix + "less", v.flipped ? conv : scaled, v.flipped ? scaled : conv);
  const ValueId moved = b.transpose(v.prefix + "moved", less, v.perm);
  b.output(moved);
  return StructureHash(b.graph).of(moved);
}

TEST(StructureHash, NamesAndSizesAreNoPart) {
  EXPECT_EQ(hash_of({}), hash_of({}));
  EXPECT_EQ(hash_of({}), hash_of({.prefix = "renamed/"}));
  EXPECT_EQ(hash_of({}), hash_of({.height = 20}));
}

TEST(StructureHash, AllElseIs) {
  const std::vector<Variant> variants = {{},
                                         {.pad = 0},
                                         {.weight = 0.25f},
                                         {.factor = 4},
                                         {.op = PwOp::kAdd},
                                         {.second_input = true},
                                         {.flipped = true},
                                         {.perm = {0, 3, 2, 1}}};
  std::map<uint64_t, size_t> seen;
  for (size_t i = 0; i < variants.size(); ++i) {
    const auto [known, is_new] = seen.emplace(hash_of(variants[i]), i);
    EXPECT_TRUE(is_new) << i << " is as " << known->second;
  }
}

// The same bytes as another type, or in other dims, are other weights.
TEST(StructureHash, ConstantsHaveTypesAndDims) {
  GraphBuilder b;
  const ir::Bytes bytes(16, std::byte{1});
  const ValueId row = b.graph.add_constant("row", DType::kF32, {1, 4}, bytes).id;
  const ValueId column = b.graph.add_constant("column", DType::kF32, {4, 1}, bytes).id;
  const ValueId integers = b.graph.add_constant("integers", DType::kI32, {1, 4}, bytes).id;
  const ValueId again = b.graph.add_constant("again", DType::kF32, {1, 4}, bytes).id;
  StructureHash hash(b.graph);
  EXPECT_NE(hash.of(row), hash.of(column));
  EXPECT_NE(hash.of(row), hash.of(integers));
  EXPECT_EQ(hash.of(row), hash.of(again));
}

TEST(StructureHash, WhatIsBehindAValueDoesNotMatter) {
  GraphBuilder b;
  const ValueId y = b.relu("y", b.input("x", {4}));
  const uint64_t before = StructureHash(b.graph).of(y);
  b.output(b.unary(PwOp::kExp, "z", y));
  EXPECT_EQ(StructureHash(b.graph).of(y), before);
  EXPECT_NE(StructureHash(b.graph).of(b.graph.outputs[0]), before);
}

}  // namespace
}  // namespace planwright::builder
