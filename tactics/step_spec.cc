#include "tactics/step_spec.h"

#include <xxhash.h>

#include <cstring>

#include "tactics/kernels/custom.h"

namespace planwright::tactics {
namespace {

// The bytes that a key hashes: every field written out at a fixed width, so that neither padding nor the order of a
// struct's fields can change a key.
class KeyBytes {
 public:
  void add(int64_t value) { add_bytes(&value, sizeof value); }
  void add_bytes(const void* data, size_t size) {
    const std::byte* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  void add(const TensorView& view) {
    add(view.absent);
    if (view.absent) return;
    add(static_cast<int64_t>(view.dtype));
    add(view.rank);
    for (int axis = 0; axis < view.rank; ++axis) {
      add(view.dims[axis]);
      // No kernel steps along an axis of length 1, so its stride is not part of the work.
      add(view.dims[axis] == 1 ? 0 : view.strides[axis]);
    }
  }
  TacticKey hash() const {
    const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
    return {hash.low64, hash.high64};
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

const char* operator_of(const StepSpec& spec) { return spec.custom != nullptr ? spec.custom->title : name_of(spec.op); }

KernelArgs args_of(const StepSpec& spec, const TacticParams& tactic, std::vector<TensorView>* views) {
  views->clear();
  for (const Operand& operand : spec.inputs) views->push_back(operand.view);
  views->insert(views->end(), spec.outputs.begin(), spec.outputs.end());

  KernelArgs args;
  args.op = spec.op;
  args.inputs = views->data();
  args.input_count = static_cast<int32_t>(spec.inputs.size());
  args.core_inputs = spec.core_inputs;
  args.outputs = views->data() + spec.inputs.size();
  args.output_count = static_cast<int32_t>(spec.outputs.size());
  args.params = spec.params.data();
  args.params_size = static_cast<uint32_t>(spec.params.size());
  args.scalars = spec.scalars.data();
  args.scalar_count = static_cast<int32_t>(spec.scalars.size());
  args.program = spec.program.data();
  args.program_size = static_cast<int32_t>(spec.program.size());
  args.tactic = tactic;
  args.custom = spec.custom;
  return args;
}

TacticKey key_of(const StepSpec& spec, int threads) {
  KeyBytes key;
  key.add(threads);
  key.add(static_cast<int64_t>(spec.op));
  key.add(static_cast<int64_t>(spec.inputs.size()));
  key.add(spec.core_inputs);
  for (const Operand& operand : spec.inputs) {
    key.add(operand.view);
    key.add(operand.constant != nullptr);
  }
  key.add(static_cast<int64_t>(spec.outputs.size()));
  for (const TensorView& output : spec.outputs) key.add(output);
  key.add(static_cast<int64_t>(spec.params.size()));
  key.add_bytes(spec.params.data(), spec.params.size());
  key.add(static_cast<int64_t>(spec.scalars.size()));
  for (const int64_t scalar : spec.scalars) key.add(scalar);
  // PwInstr is 16 bytes without padding (program.h), the form the engine file stores.
  key.add_bytes(spec.program.data(), spec.program.size() * sizeof(PwInstr));
  if (spec.full_precision) key.add(1);
  if (spec.only_bf16) key.add(2);
  if (spec.custom != nullptr) {
    key.add_bytes(spec.custom->title, strlen(spec.custom->title));
    key.add(spec.custom->functions.version);
  }
  return key.hash();
}

TacticKey combined(const TacticKey& key, const std::vector<int64_t>& more) {
  KeyBytes bytes;
  bytes.add_bytes(&key.low, sizeof key.low);
  bytes.add_bytes(&key.high, sizeof key.high);
  for (const int64_t value : more) bytes.add(value);
  return bytes.hash();
}

}  // namespace planwright::tactics
