#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "apps/common/inference.h"
#include "planfmt/write.h"
#include "schemas/types/error.h"
#include "tests/support/prefix_plan.h"
#include "tests/support/temporary_folder.h"

namespace planwright::apps {
namespace {

using testing::ElementsAre;

template <typename T>
std::vector<T> elements(const ir::Tensor& tensor) {
  std::vector<T> list(tensor.data.size() / sizeof(T));
  std::memcpy(list.data(), tensor.data.data(), tensor.data.size());
  return list;
}

template <typename T>
ir::Tensor tensor_of(DType dtype, const std::vector<T>& list) {
  ir::Tensor tensor{dtype, {static_cast<int64_t>(list.size())}, ir::Bytes(list.size() * sizeof(T))};
  std::memcpy(tensor.data.data(), list.data(), tensor.data.size());
  return tensor;
}

// The output's size is an input's value, or what a step computes.
class BoundContextOfValues : public testing::TestWithParam<bool> {};

TEST_P(BoundContextOfValues, HasEachRunsOutputAtItsRealShape) {
  const tests::TemporaryFolder folder;
  throw_if_error(planfmt::write_engine(tests::prefix_plan(GetParam()).plan, folder.file("engine")));
  const pw::Engine engine(folder.file("engine"));
  Tensors inputs;
  inputs["x"] = tensor_of<float>(DType::kF32, {1, -2, 3, 4});
  inputs["count"] = tensor_of<int64_t>(DType::kI64, {2});
  pw_context_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  BoundContext bound(engine, options, inputs);
  bound.run();
  EXPECT_THAT(bound.outputs().at("y").dims, ElementsAre(2));
  EXPECT_THAT(elements<float>(bound.outputs().at("y")), ElementsAre(1, 0));
  if (!GetParam()) return;  // the buffer was made for the value that was bound
  for (const int64_t count : {3, 1, 2}) {
    std::memcpy(inputs["count"].data.data(), &count, sizeof count);
    bound.run();
    EXPECT_THAT(bound.outputs().at("y").dims, ElementsAre(count));
    EXPECT_EQ(elements<float>(bound.outputs().at("y")).size(), static_cast<size_t>(count));
  }
  EXPECT_EQ(bound.binding_bytes(), 4 * sizeof(float) + sizeof(int64_t) + 3 * sizeof(float));  // the most y can take
}

INSTANTIATE_TEST_SUITE_P(Origins, BoundContextOfValues, testing::Bool(),
                         [](const auto& named) { return named.param ? "OfAStep" : "OfAnInput"; });

}  // namespace
}  // namespace planwright::apps
