// Engines whose shapes follow from the values of an input, from the flags to the outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/buildengine/profiles.h"
#include "apps/common/inference.h"
#include "builder/build.h"
#include "planfmt/write.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace planwright::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Dims = std::vector<int64_t>;

constexpr char kExpand[] = "(float[1, 2] x, int64[2] shape) => (float[n, m] y) { y = Expand(x, shape) }";

class ShapeInputs : public testing::Test {
 protected:
  void build(const std::vector<const char*>& shapes) {
    const builder::OnnxModel model = builder::model_of(17, kExpand);
    ASSERT_THAT(builder::shape_inputs(model), ElementsAre("shape"));
    std::vector<ShapeFlags> flags;
    for (size_t i = 0; i + 1 < shapes.size(); i += 2) {
      ShapeFlags& one = flags.emplace_back();
      one.min = parse_shapes(shapes[i], "--minShapes");
      one.max = parse_shapes(shapes[i + 1], "--maxShapes");
    }
    std::vector<std::string> notes;
    builder::BuildOptions options;
    options.profiles = resolve_profiles(model.inputs(), builder::shape_inputs(model), flags, &notes);
    options.search.optimization_level = 0;
    const builder::BuildResult built = builder::build(builder::import_model(model, options.profiles), options);
    throw_if_error(planfmt::write_engine(built.plan, folder_.file("engine")));
    engine_ = std::make_unique<pw::Engine>(folder_.file("engine"));
  }

  // The dims of y when run at --shapes=`shapes`.
  Dims run(const char* shapes) {
    RunShapes given;
    if (*shapes) given = match_inputs(*engine_, parse_shapes(shapes, "--shapes"));
    const RunShapes complete = complete_shapes(*engine_, given);
    chosen_ = complete.profile;
    Tensors inputs = random_inputs(*engine_, complete);
    InferenceOptions options;
    options.profile = complete.profile;
    BoundContext bound(*engine_, context_options(options), inputs);
    bound.run();
    const ir::Tensor& y = bound.outputs().at("y");
    const std::vector<float> x = builder::elements_of<float>(inputs.at("x")), got = builder::elements_of<float>(y);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], x[i % 2]);
    return y.dims;
  }

  tests::TemporaryFolder folder_;
  std::unique_ptr<pw::Engine> engine_;
  int chosen_ = -1;
};

TEST_F(ShapeInputs, RunAtTheOptOfTheirValuesOrTheOnesGiven) {
  build({"shape:1x2", "shape:6x2"});
  EXPECT_EQ(run(""), (Dims{6, 2}));  // opt is filled from max
  EXPECT_EQ(run("shape:3x2"), (Dims{3, 2}));
  EXPECT_EQ(run("shape:2"), (Dims{6, 2}));  // its own dims are accepted
}

TEST_F(ShapeInputs, ValuesChooseTheProfile) {
  build({"shape:1x2", "shape:2x2", "shape:5x2", "shape:9x2"});
  EXPECT_EQ(run("shape:2x2"), (Dims{2, 2}));
  EXPECT_EQ(chosen_, 0);
  EXPECT_EQ(run("shape:7x2"), (Dims{7, 2}));
  EXPECT_EQ(chosen_, 1);
}

TEST_F(ShapeInputs, AValueOutsideTheProfileIsNamed) {
  build({"shape:1x2", "shape:6x2"});
  const builder::Failure failure = builder::failure_of([&] { run("shape:7x2"); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_THAT(failure.message, HasSubstr("shape input 'shape' cannot be 7x2: value 0 goes from 1 to 6 in the engine"));
}

TEST_F(ShapeInputs, GivenDataIsReadForItsValues) {
  build({"shape:1x2", "shape:6x2"});
  Tensors inputs;
  inputs["shape"] = builder::tensor_of<int64_t>(DType::kI64, {2}, {4, 2});
  const RunShapes shapes = shapes_of(*engine_, inputs);
  EXPECT_THAT(shapes.dims.at("shape"), ElementsAre(2));
  EXPECT_THAT(shapes.values.at("shape"), ElementsAre(4, 2));
}

}  // namespace
}  // namespace planwright::apps
