#include "apps/common/shape_spec.h"

#include <gtest/gtest.h>

#include "apps/common/console.h"

namespace planwright::apps {
namespace {

using Dims = std::vector<int64_t>;

TEST(ParseShapes, ReadsNamesAndDims) {
  const std::vector<ShapeSpec> specs = parse_shapes("name:1x3x224x224,other:8x128", "--shapes");
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].pattern, "name");
  EXPECT_EQ(specs[0].dims, (Dims{1, 3, 224, 224}));
  EXPECT_EQ(specs[1].pattern, "other");
  EXPECT_EQ(specs[1].dims, (Dims{8, 128}));
}

struct OneSpec {
  const char* text;
  const char* pattern;
  Dims dims;
};

class ParseOneShape : public testing::TestWithParam<OneSpec> {};

TEST_P(ParseOneShape, ReadsIt) {
  const std::vector<ShapeSpec> specs = parse_shapes(GetParam().text, "--shapes");
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].pattern, GetParam().pattern);
  EXPECT_EQ(specs[0].dims, GetParam().dims);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ParseOneShape,
    testing::Values(OneSpec{"x:5", "x", {5}}, OneSpec{"x:scalar", "x", {}}, OneSpec{"x:", "x", {}},
                    OneSpec{"serving_default_input_2:0:1x43844x1", "serving_default_input_2:0", {1, 43844, 1}},
                    OneSpec{"'Input:0':1x3", "Input:0", {1, 3}}, OneSpec{"'a,b':2", "a,b", {2}},
                    OneSpec{"gpu_0/data_0:0x7", "gpu_0/data_0", {0, 7}}, OneSpec{"in*:4", "in*", {4}}));

class RefuseShape : public testing::TestWithParam<const char*> {};

TEST_P(RefuseShape, NamesTheFlag) {
  try {
    for (const ShapeSpec& spec : parse_shapes(GetParam(), "--optShapes")) check_dims(spec, "--optShapes");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("--optShapes"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RefuseShape,
                         testing::Values("x", ":1x3", "x:1x", "x:x3", "x:1x-3", "x:1x3.5", "x:ax3", "x:1,", "*a*:1",
                                         "x:99999999999999999999", "x:1x1x1x1x1x1x1x1x1"));

TEST(Matches, OneStarStandsForAnyText) {
  EXPECT_TRUE(matches("input_*", "input_ids"));
  EXPECT_TRUE(matches("*_mask", "attention_mask"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*a", "aa"));
  EXPECT_FALSE(matches("a*a", "a"));
  EXPECT_FALSE(matches("ids", "input_ids"));
}

TEST(FindShape, TheLaterWins) {
  const std::vector<ShapeSpec> specs = parse_shapes("*:1,x:2", "--shapes");
  EXPECT_EQ(find_shape(specs, "x")->dims, (Dims{2}));
  EXPECT_EQ(find_shape(specs, "y")->dims, (Dims{1}));
  EXPECT_EQ(find_shape(parse_shapes("x:1", "--shapes"), "y"), nullptr);
}

TEST(CheckNames, NamesTheNearestInput) {
  try {
    check_names(parse_shapes("imput:1", "--shapes"), {"input", "mask"}, "--shapes");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'input'"), std::string::npos) << error.what();
  }
}

TEST(CheckNames, ShowsHowToWriteNumbersWithoutAName) {
  try {
    check_names(parse_shapes("1x3x48x192", "--shapes"), {"image"}, "--shapes");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--shapes=1x3x48x192 names no input: write --shapes=image:1x3x48x192");
  }
}

TEST(ParseShapes, ReadsValuesOfShapeInputs) {
  EXPECT_EQ(parse_shapes("shape:1x-1x48", "--shapes").at(0).dims, (Dims{1, -1, 48}));
  std::string many = "shape:0";
  for (int i = 1; i < 64; ++i) many += "x" + std::to_string(i);
  EXPECT_EQ(parse_shapes(many, "--shapes").at(0).dims.size(), 64u);
  EXPECT_THROW(parse_shapes(many + "x64", "--shapes"), UsageError);
}

TEST(FormatDims, ShowsAnOpenDimAsAQuestion) {
  EXPECT_EQ(format_dims({-1, 3, -1}), "?x3x?");
  EXPECT_EQ(format_values({-1, 3}), "-1x3");
}

TEST(ParseSize, ReadsUnits) {
  EXPECT_EQ(parse_size("64", "--memPoolSize"), 64u << 20);
  EXPECT_EQ(parse_size("0.5", "--memPoolSize"), 1u << 19);
  EXPECT_EQ(parse_size("3B", "--memPoolSize"), 3u);
  EXPECT_EQ(parse_size("2K", "--memPoolSize"), 2048u);
  EXPECT_EQ(parse_size("1.5G", "--memPoolSize"), 3ull << 29);
  for (const char* wrong : {"", "x", "-1", "1T", "1 M", "nan", "1e30"}) {
    EXPECT_THROW(parse_size(wrong, "--memPoolSize"), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace planwright::apps
