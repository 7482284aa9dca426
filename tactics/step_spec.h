// One step of work as kernels see it: an operator at concrete dims, with its operands' physical layout. The builder
// makes one for each node and profile (at the profile's opt); tactics never sees the graph.
#ifndef PLANWRIGHT_TACTICS_STEP_SPEC_H_
#define PLANWRIGHT_TACTICS_STEP_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tactics/kernels/kernel.h"

namespace planwright::tactics {

struct Operand {
  TensorView view;  // data null
  // A constant's elements, dense row-major; null for what is computed.
  std::shared_ptr<const std::vector<std::byte>> constant;
};

struct StepSpec {
  OpKind op = OpKind::kPointwise;
  std::vector<Operand> inputs;
  int32_t core_inputs = 0;
  std::vector<TensorView> outputs;
  std::vector<std::byte> params;  // 8-byte aligned by the allocator
  std::vector<int64_t> scalars;
  std::vector<PwInstr> program;
  const CustomOperator* custom = nullptr;  // of kCustom: its one kernel
  bool full_precision = false;             // no kernel may compute it in less than its type
  bool only_bf16 = false;                  // where a kernel in bf16 may, no other may: only the last resort stays
  std::string name;                        // the layer, for messages; not part of the key
};

// "Conv"; a plugin's operator as "DOMAIN::NAME".
const char* operator_of(const StepSpec& spec);

// Arguments without data for a kernel's validate() and size functions. Points into `spec` and `views`.
KernelArgs args_of(const StepSpec& spec, const TacticParams& tactic, std::vector<TensorView>* views);

// The identity of the work in the timing cache: equal keys are the same work. Covers the operator, every operand's
// type, dims, strides and whether it is constant, params, scalars, program and threads; not names or contents.
struct TacticKey {
  uint64_t low = 0, high = 0;
  friend auto operator<=>(const TacticKey&, const TacticKey&) = default;
};
TacticKey key_of(const StepSpec& spec, int threads);

// `key` narrowed by more that tells work apart.
TacticKey combined(const TacticKey& key, const std::vector<int64_t>& more);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_STEP_SPEC_H_
