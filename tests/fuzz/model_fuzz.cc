// Fuzz target: a model of any bytes, imported and built at level 0. It builds or is refused by an Error; what is built,
// the loader opens. ./check runs it for a minute (driver.cc). With libFuzzer:
//
//   cmake --preset fuzz && cmake --build build/fuzz --target model_fuzz
//   tests/fuzz/write_model_seeds.py build/node_tests corpus && build/fuzz/bin/model_fuzz -max_total_time=3600 corpus
#include <onnx/onnx_pb.h>
#include <planwright/planwright.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>

#include "builder/build.h"
#include "builder/onnx/import.h"
#include "schemas/types/error.h"
#include "tactics/kernels/cpu.h"
#include "tests/fuzz/accepted.h"
#include "tests/fuzz/mutate_model.h"
#include "tests/support/loaded.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace planwright {
namespace {

// Dynamic dims from 1 to 3; what is declared otherwise stays.
builder::Profile small_profile(const builder::OnnxModel& model) {
  builder::Profile profile;
  for (const builder::TensorDecl& input : model.inputs()) {
    builder::ShapeRange range{input.name, input.dims, input.dims, input.dims};
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input.dims[axis] >= 0) continue;
      range.min[axis] = 1, range.opt[axis] = 2, range.max[axis] = 3;
    }
    profile.inputs.push_back(std::move(range));
  }
  return profile;
}

void open(const planfmt::PlanModel& plan) {
  const std::vector<char> bytes = tests::engine_bytes(plan);
  tests::Aligned engine(bytes);
  pw_engine* opened = nullptr;
  const int status = pw_engine_open_memory(engine.data(), engine.size(), nullptr, &opened);
  pw_engine_close(opened);
  if (status == PW_OK || status == PW_RESOURCE) return;
  std::fprintf(stderr, "what was built cannot be opened: %s\n", pw_last_error());
  std::abort();
}

void build(onnx::ModelProto proto) {
  const builder::OnnxModel model = builder::OnnxModel::from_proto(std::move(proto), "/nonexistent");
  builder::BuildOptions options;
  options.profiles = {small_profile(model)};
  options.search.optimization_level = 0;
  options.search.isa = detect_isa();
  open(builder::build(builder::import_model(model, options.profiles), options).plan);
}

}  // namespace
}  // namespace planwright

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  try {
    planwright::build(std::move(proto));
    ++planwright::tests::accepted_inputs;
  } catch (const planwright::Error&) {
  } catch (const std::bad_alloc&) {  // the programs say RESOURCE
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  onnx::ModelProto proto;
  if (random() % 8 == 0 || !proto.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (unsigned changes = 1 + random() % 3; changes > 0; --changes) planwright::tests::mutate(&proto, random);
  const size_t bytes = proto.ByteSizeLong();
  if (bytes > max_size || !proto.SerializeToArray(data, static_cast<int>(bytes))) return size;
  return bytes;
}
