// Builds in int8, from samples in files to an engine whose outputs are as close as was asked.
#include "apps/buildengine/int8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "builder/onnx/import.h"
#include "calibrator/arrays/npz.h"
#include "tests/support/built_engine.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace planwright::apps {
namespace {

using builder::Failure;
using builder::failure_of;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Rows = std::vector<std::vector<float>>;  // a sample each

constexpr int64_t kRow = 3 * 6 * 6;

void add_weights(onnx::ModelProto& proto, const std::string& name, const std::vector<int64_t>& dims) {
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (const int64_t dim : dims) tensor.add_dims(dim), count *= dim;
  std::mt19937 random(static_cast<unsigned>(count));
  for (int64_t i = 0; i < count; ++i) tensor.add_float_data(std::uniform_real_distribution<float>(-1, 1)(random));
}

// Two convolutions and a product.
builder::OnnxModel network() {
  onnx::ModelProto proto = builder::proto_of(17, R"((float[1, 3, 6, 6] x) => (float[1, 5] y) {
    a = Conv <pads = [1, 1, 1, 1]> (x, wa)
    ra = Relu(a)
    b = Conv <pads = [1, 1, 1, 1]> (ra, wb)
    rb = Relu(b)
    flat = Flatten(rb)
    y = MatMul(flat, wc)
  })");
  add_weights(proto, "wa", {8, 3, 3, 3});
  add_weights(proto, "wb", {4, 8, 3, 3});
  add_weights(proto, "wc", {144, 5});
  return builder::OnnxModel::from_proto(std::move(proto));
}

Rows random_rows(size_t count, unsigned seed) {
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    const ir::Tensor row = planwright::testing::random_tensor({kRow}, seed + static_cast<unsigned>(i));
    rows.push_back(planwright::testing::elements_of<float>(row));
  }
  return rows;
}

class Int8Test : public ::testing::Test {
 protected:
  // `name`.npz with all of them.
  std::string write_samples(const std::string& name, const Rows& rows) const {
    std::vector<float> all;
    for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
    const ir::Tensor x = builder::floats({static_cast<int64_t>(rows.size()), 3, 6, 6}, all);
    return write(name + ".npz", arrays::format_npz({{"x", x}}));
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  builder::BuildOptions options() const {
    builder::BuildOptions made;
    made.profiles = {builder::profile_of(model_, 1, 1)};
    // Nothing is timed: every layer that is close enough is int8.
    made.search.optimization_level = 0;
    return made;
  }
  Int8Result build(const Int8Options& int8) {
    said_.clear(), warned_.clear();
    Int8Request request{model_, options(), int8, {}, {}, {}, {}, {}};
    request.say = [&](const std::string& text) { said_.push_back(text); };
    request.detail = [](const std::string&) {};
    request.warn = [&](const std::string& text) { warned_.push_back(text); };
    request.progress = [](const char*, uint64_t, uint64_t) {};
    return build_int8(request);
  }
  static size_t int8_layers(const Int8Result& result) {
    return static_cast<size_t>(std::count_if(result.layers.begin(), result.layers.end(),
                                             [](const LayerSensitivity& layer) { return layer.is_int8; }));
  }
  // The mean over these samples, from the engine's own answers and those of reference kernels in fp32.
  double drop_on(const Int8Result& result, const Rows& rows) const {
    const ir::Graph exact = builder::import_model(model_, options().profiles);
    const planwright::testing::BuiltEngine engine(result.built.plan);
    double sum = 0;
    for (const std::vector<float>& row : rows) {
      const std::vector<ir::Tensor> sample = {builder::floats({1, 3, 6, 6}, row)};
      sum += drop_between({{"y", engine.run(sample)[0]}}, {{"y", ir::interpret(exact, sample)[0]}}).value;
    }
    return sum / static_cast<double>(rows.size());
  }

  tests::TemporaryFolder folder_;
  const builder::OnnxModel model_ = network();
  std::vector<std::string> said_, warned_;
};

TEST_F(Int8Test, OutputsAreAsCloseAsIsAskedFor) {
  const Rows measured = random_rows(4, 500);
  Int8Options int8;
  int8.calib_data = write_samples("calib", random_rows(16, 1));
  int8.eval_data = write_samples("eval", measured);
  int8.calibrator = calibrator::Calibrator::kMinMax;
  size_t most = 4;
  for (const double allowed : {0.5, 1e-4, 1e-5, 1e-6, 1e-9}) {
    int8.max_drop = allowed;
    const Int8Result result = build(int8);
    EXPECT_EQ(result.layers.size(), 3u);
    EXPECT_LE(drop_on(result, measured), allowed + 1e-12) << allowed;
    EXPECT_LE(int8_layers(result), most) << allowed;
    most = int8_layers(result);
    if (allowed == 0.5) {
      EXPECT_EQ(most, 3u);
      EXPECT_GT(drop_on(result, measured), 0);
      EXPECT_THAT(result.built.plan.note, StartsWith("int8: 3 of 3 layers, calibrator minmax; on 4 held-out samples"));
      EXPECT_THAT(warned_, IsEmpty());
    }
  }
  EXPECT_EQ(most, 0u);
}

TEST_F(Int8Test, NothingMayBeLost) {
  Int8Options int8;
  int8.calib_data = write_samples("calib", random_rows(16, 1));  // of which two are held out
  int8.max_drop = 0;
  const Int8Result result = build(int8);
  EXPECT_EQ(int8_layers(result), 0u);
  EXPECT_THAT(result.built.plan.note, Not(HasSubstr("int8")));
  EXPECT_LT(drop_on(result, random_rows(2, 500)), 1e-9);
  EXPECT_THAT(warned_, Contains(HasSubstr("computes in floats throughout: in int8 outputs are off by ")));
}

TEST_F(Int8Test, SpeedAloneNeedsNoSamples) {
  Int8Options int8;
  int8.perf_only = true;
  int8.max_drop = 0;
  const Int8Result result = build(int8);
  EXPECT_EQ(int8_layers(result), 3u);
  EXPECT_EQ(result.built.plan.note, "int8: 3 of 3 layers, made-up ranges: outputs mean nothing (--int8=perfOnly)");
}

TEST_F(Int8Test, TheCacheSparesCalibration) {
  Int8Options int8;
  int8.calib_data = write_samples("calib", random_rows(16, 1));
  int8.calib = folder_.file("cache");
  const Int8Result first = build(int8);
  EXPECT_THAT(said_, Contains(HasSubstr("calibrated 3 layers on 12 samples")));
  const std::string cache = contents(int8.calib);
  ASSERT_FALSE(cache.empty());

  const Int8Result second = build(int8);
  EXPECT_THAT(said_, Not(Contains(HasSubstr("calibrated"))));
  EXPECT_EQ(contents(int8.calib), cache);
  EXPECT_EQ(second.built.plan.note, first.built.plan.note);

  // Without samples too, but then nothing can be measured.
  int8.calib_data.clear();
  const Int8Result third = build(int8);
  EXPECT_EQ(int8_layers(third), 3u);
  EXPECT_THAT(third.built.plan.note, HasSubstr("not measured"));
  EXPECT_THAT(warned_, Contains(HasSubstr("is not measured: there are no samples to hold out")));
  EXPECT_EQ(contents(int8.calib), cache);
}

TEST_F(Int8Test, TheCacheDoesNotDependOnTheOrderOfSamples) {
  Rows rows = random_rows(16, 1);
  Int8Options int8;
  std::vector<std::string> caches, notes;
  for (unsigned round = 0; round < 3; ++round) {
    const std::string name = std::to_string(round);
    int8.calib_data = write_samples(name, rows);
    int8.calib = folder_.file("cache" + name);
    notes.push_back(build(int8).built.plan.note);
    caches.push_back(contents(int8.calib));
    std::shuffle(rows.begin(), rows.end(), std::mt19937(round));
  }
  ASSERT_FALSE(caches[0].empty());
  EXPECT_EQ(caches[1], caches[0]);
  EXPECT_EQ(caches[2], caches[0]);
  EXPECT_EQ(notes[1], notes[0]);
  // Other samples make another one.
  int8.calib_data = write_samples("others", random_rows(16, 900));
  int8.calib = folder_.file("other_cache");
  build(int8);
  EXPECT_NE(contents(int8.calib), caches[0]);
}

// FAULTS B20.
TEST_F(Int8Test, RangesAreNotMadeUp) {
  Int8Options int8;
  const Failure without_any = failure_of([&] { build(int8); });
  EXPECT_EQ(without_any.code, StatusCode::kInvalid);
  EXPECT_TRUE(without_any.mentions("nothing says which ranges the model's tensors have")) << without_any;

  int8.calib = folder_.file("absent");
  const Failure absent = failure_of([&] { build(int8); });
  EXPECT_EQ(absent.code, StatusCode::kInvalid);
  EXPECT_TRUE(absent.mentions("knows no tensor of this model")) << absent;
  EXPECT_FALSE(std::filesystem::exists(int8.calib));
}

// One that is damaged is as if it were not there, and replaced by what samples say.
TEST_F(Int8Test, ADamagedCacheIsCalibratedAgain) {
  Int8Options int8;
  int8.calib_data = write_samples("calib", random_rows(16, 1));
  int8.calib = folder_.file("cache");
  build(int8);
  const std::string cache = contents(int8.calib);
  std::string damaged = cache;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  write("cache", damaged);
  build(int8);
  EXPECT_THAT(warned_, Contains(HasSubstr(int8.calib)));
  EXPECT_THAT(said_, Contains(HasSubstr("calibrated 3 layers")));
  EXPECT_EQ(contents(int8.calib), cache);

  write("cache", damaged);
  int8.calib_data.clear();
  EXPECT_EQ(failure_of([&] { build(int8); }).code, StatusCode::kInvalid);
  EXPECT_EQ(contents(int8.calib), damaged);
}

TEST_F(Int8Test, AModelWithoutLayersStaysInFloats) {
  const builder::OnnxModel model = builder::model_of(17, "(float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }");
  Int8Request request{model, options(), {}, {}, {}, {}, {}, {}};
  request.options.profiles = {builder::profile_of(model, 1, 1)};
  request.say = [&](const std::string& text) { said_.push_back(text); };
  request.detail = request.warn = request.say;
  request.progress = [](const char*, uint64_t, uint64_t) {};
  EXPECT_TRUE(build_int8(request).layers.empty());
  EXPECT_THAT(said_, Contains("int8: no layer of the model could be int8"));
}

}  // namespace
}  // namespace planwright::apps
