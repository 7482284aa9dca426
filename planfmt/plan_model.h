// The plan as plain structs: what the builder fills in and write_engine() turns into an engine file. One struct for
// each table of schemas/plan.fbs, where the meaning of every field is written down.
#ifndef PLANWRIGHT_PLANFMT_PLAN_MODEL_H_
#define PLANWRIGHT_PLANFMT_PLAN_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/types/dtype.h"

namespace planwright::planfmt {

enum class ExprOp : uint8_t { kConstant = 0, kSymbol, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax };

struct ExprModel {
  ExprOp op = ExprOp::kConstant;
  int64_t value = 0;
  uint32_t a = 0, b = 0;
};

struct SymbolModel {
  uint8_t origin = 0;  // plan.fbs SymbolOrigin
  uint32_t source = 0, element = 0;
  int64_t min = 0, max = 0;
};

struct GuardModel {
  bool equal = true;
  uint32_t left = 0, right = 0;
  std::string layer, reason;
  uint32_t region = 0;  // of the body that needs it; 0: whatever runs
};

struct BindingModel {
  std::string name;
  bool is_input = true;
  DType dtype = DType::kF32;
  std::vector<uint32_t> dims;
};

struct ShapeRangeModel {
  uint32_t binding = 0;
  std::vector<int64_t> min, opt, max;
  std::vector<int64_t> value_min, value_opt, value_max;
};

struct ProfileModel {
  std::vector<ShapeRangeModel> inputs;
};

enum class StorageKind : uint8_t { kNone = 0, kArena, kWeights, kBinding };

struct StorageModel {
  StorageKind kind = StorageKind::kNone;
  uint32_t index = 0;
  uint64_t offset = 0, size = 0;
  uint64_t opt_offset = 0, opt_size = 0;  // of the arena, where the program has such places
};

struct TensorModel {
  uint32_t storage = 0;
  DType dtype = DType::kF32;
  std::vector<uint32_t> dims, strides;
  uint32_t offset = 0;
  std::string name;
};

struct StepResultModel {
  uint32_t symbol = 0, output = 0, element = 0;
};

struct StepModel {
  uint32_t kernel = 0;
  uint8_t op = 0;
  std::vector<int32_t> inputs, outputs;
  uint32_t core_inputs = 0;
  std::vector<std::byte> params;
  std::vector<uint32_t> scalars;
  std::vector<std::byte> program;
  std::array<int32_t, 8> tactic{};
  int32_t packed = -1;
  int32_t workspace = -1;
  std::string name;
  std::vector<std::string> onnx;
  float time_us = 0;
  std::vector<StepResultModel> results;
  std::vector<uint32_t> regions;
};

struct ProgramModel {
  uint32_t profile = 0;
  uint8_t isa = 0;
  std::vector<StorageModel> storages;
  std::vector<TensorModel> tensors;
  std::vector<StepModel> steps;                // region 0
  std::vector<std::vector<StepModel>> bodies;  // regions 1, 2, ...
  uint64_t arena_size = 0;
  uint64_t scratch_per_worker = 0;
  bool has_opt_places = false;
};

struct KernelModel {
  std::string name;
  uint32_t revision = 0;
};

// The bytes of weights, each content stored once. Order of first use is order in the file.
class WeightStore {
 public:
  // Keeps the bytes alive by sharing them; returns the blob's index, an earlier one where the bytes are the same.
  uint32_t add(std::shared_ptr<const std::vector<std::byte>> bytes);
  const std::vector<std::shared_ptr<const std::vector<std::byte>>>& blobs() const { return blobs_; }
  uint64_t total_bytes() const;

 private:
  struct Entry {
    uint64_t hash_low, hash_high;
    uint32_t index;
  };
  std::vector<std::shared_ptr<const std::vector<std::byte>>> blobs_;
  std::vector<Entry> sorted_;  // by hash
};

struct PlanModel {
  std::string producer, device, model;
  std::string note;  // kMaxNoteBytes at most
  int32_t threads = 1;
  std::vector<ExprModel> expressions;
  std::vector<SymbolModel> symbols;
  std::vector<GuardModel> guards;
  std::vector<BindingModel> bindings;
  std::vector<ProfileModel> profiles;
  std::vector<KernelModel> kernels;
  std::vector<ProgramModel> programs;
  WeightStore weights;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_PLAN_MODEL_H_
