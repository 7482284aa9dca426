#include "apps/buildengine/profiles.h"

#include <gtest/gtest.h>

#include "apps/common/console.h"

namespace planwright::apps {
namespace {

using Dims = std::vector<int64_t>;

builder::TensorDecl declare(const std::string& name, Dims dims) {
  builder::TensorDecl input;
  input.name = name;
  input.dims = std::move(dims);
  input.dim_names.resize(input.dims.size());
  return input;
}

const std::vector<builder::TensorDecl> kInputs = {declare("x", {-1, 3, 48, -1}), declare("scale", {2})};

ShapeFlags flags(const char* fixed, const char* min, const char* opt, const char* max) {
  ShapeFlags made;
  if (*fixed) made.fixed = parse_shapes(fixed, "--shapes");
  if (*min) made.min = parse_shapes(min, "--minShapes");
  if (*opt) made.opt = parse_shapes(opt, "--optShapes");
  if (*max) made.max = parse_shapes(max, "--maxShapes");
  return made;
}

builder::ShapeRange resolve_x(const ShapeFlags& given, std::vector<std::string>* notes) {
  return resolve_profiles(kInputs, {}, {given}, notes).at(0).inputs.at(0);
}

std::string refusal(const ShapeFlags& given) {
  try {
    std::vector<std::string> notes;
    resolve_profiles(kInputs, {}, {given}, &notes);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(ResolveProfiles, FixedShapesAreAllThree) {
  std::vector<std::string> notes;
  const builder::ShapeRange x = resolve_x(flags("x:1x3x48x320", "", "", ""), &notes);
  EXPECT_EQ(x.min, (Dims{1, 3, 48, 320}));
  EXPECT_EQ(x.min, x.opt);
  EXPECT_EQ(x.opt, x.max);
  EXPECT_TRUE(notes.empty());
}

TEST(ResolveProfiles, MissingPartsAreFilledWithANote) {
  const char *low = "x:1x3x48x32", *high = "x:4x3x48x960";
  std::vector<std::string> notes;
  EXPECT_EQ(resolve_x(flags("", "", low, high), &notes).min, (Dims{1, 3, 48, 32}));   // min from opt
  EXPECT_EQ(resolve_x(flags("", low, "", high), &notes).opt, (Dims{4, 3, 48, 960}));  // opt from max
  EXPECT_EQ(resolve_x(flags("", low, "", ""), &notes).max, (Dims{1, 3, 48, 32}));     // all from min
  EXPECT_EQ(notes.size(), 4u);
}

TEST(ResolveProfiles, StaticInputsNeedNoShapes) {
  std::vector<std::string> notes;
  const builder::Profile profile = resolve_profiles(kInputs, {}, {flags("x:1x3x48x9", "", "", "")}, &notes).at(0);
  EXPECT_EQ(profile.inputs.at(1).max, (Dims{2}));
}

TEST(ResolveProfiles, RefusesWithTheReason) {
  EXPECT_NE(refusal(flags("", "", "", "")).find("add --shapes='x':?x3x48x?"), std::string::npos);
  EXPECT_NE(refusal(flags("y:1", "", "", "")).find("no input 'y'"), std::string::npos);
  EXPECT_NE(refusal(flags("x:1x4x48x9", "", "", "")).find("?x3x48x?"), std::string::npos);
  EXPECT_NE(refusal(flags("x:1x4x48x9", "", "", "")).find("axis 1 is fixed at 3"), std::string::npos);
  EXPECT_NE(refusal(flags("x:1x3x48", "", "", "")).find("it has 4 dimensions, not 3"), std::string::npos);
  EXPECT_NE(refusal(flags("x:-1x3x48x9", "", "", "")).find("a dimension cannot be -1"), std::string::npos);
  EXPECT_NE(refusal(flags("x:1x3x48x9,scale:3", "", "", "")).find("'scale'"), std::string::npos);
  EXPECT_NE(refusal(flags("", "x:2x3x48x9", "x:1x3x48x9", "x:3x3x48x9")).find("not in order at axis 0"),
            std::string::npos);
  EXPECT_NE(refusal(flags("", "x:1x3x48x9", "x:1x3x48x11", "x:3x3x48x10")).find("not in order at axis 3"),
            std::string::npos);
  EXPECT_NE(refusal(flags("x:1x3x48x9", "x:1x3x48x9", "", "")).find("both --shapes"), std::string::npos);
  EXPECT_EQ(refusal(flags("x:1x3x48x9,scale:2", "", "", "")), "");  // a static input's own shape is fine
}

std::string refusal_of(const std::vector<builder::TensorDecl>& inputs, const std::vector<std::string>& shape_inputs,
                       const ShapeFlags& given) {
  try {
    std::vector<std::string> notes;
    resolve_profiles(inputs, shape_inputs, {given}, &notes);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(ResolveProfiles, AStaticBatchIsSaidToBe) {
  const std::vector<builder::TensorDecl> inputs = {declare("x", {1, 3, 48, 192})};
  EXPECT_NE(refusal_of(inputs, {}, flags("x:8x3x48x192", "", "", "")).find("the model's batch (axis 0) is fixed at 1"),
            std::string::npos);
}

TEST(ResolveProfiles, ShapesWithoutANameShowHowToWriteThem) {
  const std::vector<builder::TensorDecl> one = {declare("image", {-1, 3})};
  EXPECT_NE(refusal_of(one, {}, flags("1x3", "", "", "")).find("write --shapes=image:1x3"), std::string::npos);
  EXPECT_NE(refusal(flags("1x3x48x192", "", "", "")).find("the inputs are: x, scale"), std::string::npos);
}

TEST(ResolveProfiles, AnEmptyOptShapeIsNoted) {
  std::vector<std::string> notes;
  resolve_x(flags("", "x:0x3x48x32", "x:0x3x48x32", "x:1x3x48x32"), &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("empty at its opt shape 0x3x48x32"), std::string::npos);
}

TEST(ResolveProfiles, AShapeInputTakesValues) {
  const std::vector<builder::TensorDecl> inputs = {declare("shape", {3}), declare("k", {})};
  std::vector<std::string> notes;
  const builder::Profile profile =
      resolve_profiles(inputs, {"shape", "k"}, {flags("k:7", "shape:1x3x-8", "", "shape:4x3x96")}, &notes).at(0);
  EXPECT_EQ(profile.inputs[0].opt, (Dims{3}));
  EXPECT_EQ(profile.inputs[0].value_min, (Dims{1, 3, -8}));
  EXPECT_EQ(profile.inputs[0].value_opt, (Dims{4, 3, 96}));  // filled from max
  EXPECT_EQ(profile.inputs[1].value_opt, (Dims{7}));
  EXPECT_EQ(profile.inputs[1].opt, (Dims{}));
  EXPECT_EQ(notes.size(), 1u);
}

TEST(ResolveProfiles, AShapeInputsOwnDimsAreNoValues) {
  const std::vector<builder::TensorDecl> inputs = {declare("shape", {3})};
  std::vector<std::string> notes;
  const auto resolve = [&](const char* fixed) {
    return resolve_profiles(inputs, {"shape"}, {flags(fixed, "", "", "")}, &notes).at(0).inputs.at(0);
  };
  EXPECT_TRUE(resolve("shape:3").value_opt.empty());
  EXPECT_TRUE(resolve("").value_opt.empty());
  EXPECT_NE(refusal_of(inputs, {"shape"}, flags("shape:1x2", "", "", "")).find("takes 3 values"), std::string::npos);
  EXPECT_NE(refusal_of(inputs, {"shape"}, flags("", "shape:1x2x4", "", "shape:1x1x4")).find("not in order at value 1"),
            std::string::npos);
}

}  // namespace
}  // namespace planwright::apps
