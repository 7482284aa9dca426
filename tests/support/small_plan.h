// Plans put together by hand, for tests of the engine file and the loader.
#ifndef PLANWRIGHT_TESTS_SUPPORT_SMALL_PLAN_H_
#define PLANWRIGHT_TESTS_SUPPORT_SMALL_PLAN_H_

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "planfmt/plan_model.h"
#include "tactics/kernels/op.h"
#include "tactics/kernels/params.h"
#include "tactics/kernels/program.h"

namespace planwright::tests {

using planfmt::ExprOp;

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Adds to a PlanModel; one profile and one program, of the reference tier, unless the test adds more.
class PlanBuilder {
 public:
  PlanBuilder() {
    plan.producer = "Planwright test";
    plan.device = "test device";
    plan.model = "small";
    plan.profiles.emplace_back();
    plan.programs.emplace_back();
  }

  // ---- Expressions
  uint32_t constant(int64_t value) { return add({ExprOp::kConstant, value, 0, 0}); }
  uint32_t expression(ExprOp op, uint32_t a, uint32_t b) { return add({op, 0, a, b}); }
  // A symbol for an input's dim, and the expression that is it.
  uint32_t symbol(uint32_t input, uint32_t axis, int64_t min, int64_t max) {
    plan.symbols.push_back({0, input, axis, min, max});
    return add({ExprOp::kSymbol, static_cast<int64_t>(plan.symbols.size()) - 1, 0, 0});
  }

  // ---- Bindings; inputs first. The returned tensor is the dense view of the binding.
  int32_t input(const std::string& name, DType dtype, const std::vector<uint32_t>& dims, std::vector<int64_t> min,
                std::vector<int64_t> opt, std::vector<int64_t> max) {
    const auto binding = static_cast<uint32_t>(plan.bindings.size());
    plan.bindings.push_back({name, true, dtype, dims});
    plan.profiles[0].inputs.push_back({binding, std::move(min), std::move(opt), std::move(max), {}, {}, {}});
    return dense(storage({planfmt::StorageKind::kBinding, binding, 0, 0}), dtype, dims, name);
  }
  int32_t output(const std::string& name, DType dtype, const std::vector<uint32_t>& dims) {
    const auto binding = static_cast<uint32_t>(plan.bindings.size());
    plan.bindings.push_back({name, false, dtype, dims});
    return dense(storage({planfmt::StorageKind::kBinding, binding, 0, 0}), dtype, dims, name);
  }

  // ---- Tensors
  uint32_t storage(const planfmt::StorageModel& model) {
    program().storages.push_back(model);
    return static_cast<uint32_t>(program().storages.size()) - 1;
  }
  // Bytes of the arena after all others.
  uint32_t arena(uint64_t bytes) {
    const uint64_t offset = program().arena_size;
    program().arena_size = (offset + bytes + 63) / 64 * 64;
    return storage({planfmt::StorageKind::kArena, 0, offset, bytes});
  }
  int32_t dense(uint32_t storage_index, DType dtype, const std::vector<uint32_t>& dims, const std::string& name) {
    std::vector<uint32_t> strides(dims.size());
    uint32_t stride = constant(1);
    for (size_t i = dims.size(); i-- > 0;) {
      strides[i] = stride;
      if (i > 0) stride = expression(ExprOp::kMul, stride, dims[i]);
    }
    program().tensors.push_back({storage_index, dtype, dims, strides, constant(0), name});
    return static_cast<int32_t>(program().tensors.size()) - 1;
  }
  template <typename T>
  int32_t weights(DType dtype, const std::vector<uint32_t>& dims, const std::vector<T>& values) {
    const uint32_t blob = plan.weights.add(std::make_shared<const std::vector<std::byte>>(bytes_of(values)));
    return dense(storage({planfmt::StorageKind::kWeights, blob, 0, 0}), dtype, dims, "weights");
  }

  // ---- Steps
  planfmt::StepModel& step(const std::string& kernel, OpKind op, const std::vector<int32_t>& inputs,
                           const std::vector<int32_t>& outputs, const std::string& name) {
    uint32_t index = 0;
    while (index < plan.kernels.size() && plan.kernels[index].name != kernel) ++index;
    if (index == plan.kernels.size()) plan.kernels.push_back({kernel, 1});
    planfmt::StepModel model;
    model.kernel = index;
    model.op = static_cast<uint8_t>(op);
    model.inputs = inputs;
    model.outputs = outputs;
    model.core_inputs = op == OpKind::kPointwise ? 0 : static_cast<uint32_t>(inputs.size());
    model.name = name;
    model.onnx = {name};
    program().steps.push_back(std::move(model));
    return program().steps.back();
  }
  // max(input, 0) of floats.
  planfmt::StepModel& relu(int32_t input, int32_t output, const std::string& name) {
    planfmt::StepModel& model = step("reference_pointwise", OpKind::kPointwise, {input}, {output}, name);
    std::vector<PwInstr> program(4);
    program[0].op = PwOp::kLoad;
    program[1].op = PwOp::kConst;
    program[1].dst = 1;
    program[1].imm_f = 0;
    program[2].op = PwOp::kMax;
    program[2].b = 1;
    program[3].op = PwOp::kStore;
    model.program = bytes_of(program);
    return model;
  }

  planfmt::ProgramModel& program() { return plan.programs[0]; }

  planfmt::PlanModel plan;

 private:
  uint32_t add(const planfmt::ExprModel& model) {
    plan.expressions.push_back(model);
    return static_cast<uint32_t>(plan.expressions.size()) - 1;
  }
};

// y[n,3] = relu(x[n,4] * W[4,3]), n from 1 to 8, tuned at 2: a MatMul into the arena, a Pointwise out of it, and a
// guard that n is even or 1. W[i][j] is i - j.
inline PlanBuilder matmul_relu_plan() {
  PlanBuilder builder;
  const uint32_t n = builder.symbol(0, 0, 1, 8);
  const uint32_t four = builder.constant(4), three = builder.constant(3);
  const int32_t x = builder.input("x", DType::kF32, {n, four}, {1, 4}, {2, 4}, {8, 4});
  const int32_t y = builder.output("y", DType::kF32, {n, three});
  std::vector<float> values;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) values.push_back(static_cast<float>(i - j));
  }
  const int32_t w = builder.weights(DType::kF32, {four, three}, values);
  const int32_t product = builder.dense(builder.arena(8 * 3 * 4), DType::kF32, {n, three}, "product");
  builder.step("reference_matmul", OpKind::kMatMul, {x, w}, {product}, "matmul");
  builder.relu(product, y, "relu");
  const uint32_t half = builder.expression(ExprOp::kCeilDiv, n, builder.constant(2));
  const uint32_t at_most = builder.expression(ExprOp::kMax, n, builder.constant(2));
  builder.plan.guards.push_back(
      {false, builder.expression(ExprOp::kMul, half, builder.constant(2)), at_most, "matmul", "rows come in pairs"});
  return builder;
}

template <typename Params>
std::vector<std::byte> params_bytes(const Params& params) {
  return bytes_of(std::vector<Params>{params});
}

// Most of what a plan can hold, n from 1 to 8, tuned at 4: optional operands, two outputs, indices, scratch, a
// workspace, two parts of one buffer, scalars. x[n,8] is normalised; y is a convolution over the three largest of each
// row and the two that `picks` names; `places` says where the largest are.
inline PlanBuilder many_steps_plan() {
  PlanBuilder b;
  const uint32_t n = b.symbol(0, 0, 1, 8);
  const uint32_t zero = b.constant(0), one = b.constant(1), two = b.constant(2), three = b.constant(3),
                 five = b.constant(5), eight = b.constant(8);
  const int32_t x = b.input("x", DType::kF32, {n, eight}, {1, 8}, {4, 8}, {8, 8});
  const int32_t picks = b.input("picks", DType::kI64, {n, two}, {1, 2}, {4, 2}, {8, 2});
  const int32_t y = b.output("y", DType::kF32, {n, two, five});
  const int32_t places = b.output("places", DType::kI64, {n, three});
  const int32_t normal = b.dense(b.arena(8 * 8 * 4), DType::kF32, {n, eight}, "normal");
  b.step("reference_layer_norm", OpKind::kLayerNorm, {x, -1, -1}, {normal}, "norm").params =
      params_bytes(LayerNormParams{.axis = 1, .rms = 0, .epsilon = 1e-5f});

  const uint32_t joined = b.arena(8 * 5 * 4);
  b.program().tensors.push_back({joined, DType::kF32, {n, three}, {five, one}, zero, "largest"});
  const auto largest = static_cast<int32_t>(b.program().tensors.size()) - 1;
  b.program().tensors.push_back({joined, DType::kF32, {n, two}, {five, one}, three, "picked"});
  const auto picked = static_cast<int32_t>(b.program().tensors.size()) - 1;
  const int32_t where = b.dense(b.arena(8 * 3 * 8), DType::kI64, {n, three}, "where");
  b.program().scratch_per_worker = 64;
  b.step("reference_top_k", OpKind::kTopK, {normal}, {largest, where}, "topk").params =
      params_bytes(TopKParams{.axis = 1, .largest = 1, .sorted = 1});
  b.step("reference_gather_elements", OpKind::kGatherElements, {normal, picks}, {picked}, "pick").params =
      params_bytes(GatherElementsParams{.axis = 1});

  const int32_t row = b.dense(joined, DType::kF32, {n, one, five}, "row");
  const int32_t w = b.weights<float>(DType::kF32, {two, one, three}, {1, 1, 1, 0, 1, 0});
  planfmt::StepModel& conv = b.step("reference_conv", OpKind::kConv, {row, w}, {y}, "conv");
  conv.params = params_bytes(ConvParams{.spatial = 1, .group = 1, .stride = {1, 1, 1}, .dilation = {1, 1, 1}});
  conv.scalars = {one};
  b.step("reference_copy", OpKind::kCopy, {where}, {places}, "places").workspace = static_cast<int32_t>(b.arena(256));
  return b;
}

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_SMALL_PLAN_H_
