// The kernel descriptor: everything Planwright knows of a piece of code that runs.
//
// Builder and loader see kernels only through this. A kernel is a pure function of its arguments: no allocation, no
// global state, no exceptions; threads only through the executor.
#ifndef PLANWRIGHT_TACTICS_KERNELS_KERNEL_H_
#define PLANWRIGHT_TACTICS_KERNELS_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "schemas/types/dtype.h"
#include "schemas/types/status.h"
#include "tactics/kernels/executor.h"
#include "tactics/kernels/op.h"
#include "tactics/kernels/params.h"
#include "tactics/kernels/program.h"

namespace planwright {

// A strided view of elements, in ONNX's axis order. Strides count elements and are never negative; 0 repeats
// (broadcast). A layout is nothing but strides: channels-last [N,C,H,W] has strides {H*W*C, 1, W*C, C}.
struct TensorView {
  void* data = nullptr;  // null where only the shape is known (validate, sizes) and for an operand given packed
  DType dtype = DType::kF32;
  int32_t rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  bool absent = false;  // an optional operand that is not given

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

int64_t element_count(const TensorView& view);
// Whether the elements lie in row-major order without gaps (axes of length 1 do not matter).
bool is_dense(const TensorView& view);
// Whether two views have the same dims.
bool same_dims(const TensorView& a, const TensorView& b);

// The tuned part of a tactic: eight numbers whose meaning is the kernel's own (tile, split axis, grain); all 0 is a
// valid default for every kernel.
struct TacticParams {
  int32_t v[8] = {};
};

struct CustomOperator;  // custom.h

struct KernelArgs {
  OpKind op = OpKind::kPointwise;
  const TensorView* inputs = nullptr;  // the operator's own, then the program's operands
  int32_t input_count = 0;
  int32_t core_inputs = 0;  // how many of them are the operator's own
  const TensorView* outputs = nullptr;
  int32_t output_count = 0;

  const void* params = nullptr;  // the operator's struct of params.h (kCustom: the plugin's own), 8-byte aligned
  uint32_t params_size = 0;
  const int64_t* scalars = nullptr;
  int32_t scalar_count = 0;
  const PwInstr* program = nullptr;  // kPointwise: the body; contractions: the epilogue; else empty
  int32_t program_size = 0;
  TacticParams tactic;
  const CustomOperator* custom = nullptr;  // kCustom: whose code it is

  // ---- only for run()
  const std::byte* packed = nullptr;  // 64-byte aligned
  size_t packed_size = 0;
  std::byte* workspace = nullptr;  // 64-byte aligned, shared by all tasks, contents undefined before and after
  size_t workspace_size = 0;
  std::byte* scratch = nullptr;  // worker w's is scratch + w * scratch_stride, 64-byte aligned
  size_t scratch_stride = 0;
  Executor* executor = nullptr;

  template <typename T>
  const T& params_as() const {
    return *static_cast<const T*>(params);
  }
};

// Instruction set tiers, each including those before it. Numbers are in the engine file.
enum class Isa : uint8_t {
  kReference = 0,  // plain x86-64 C++, no SIMD
  kBaseline,       // x86-64-v2 (SSE4.2)
  kAvx2,           // + AVX2, FMA, F16C, BMI (x86-64-v3) and AES, PCLMUL
  kAvx512,         // + AVX-512 F, CD, BW, DQ, VL (x86-64-v4)
  kAvx512Vnni,     // + VNNI, BF16
  kAmx,            // + AMX-TILE, AMX-INT8, AMX-BF16
};
inline constexpr int kIsaCount = 6;
// "reference", "baseline", "avx2", "avx512", "avx512vnni", "amx": as --isa and kernel names spell it.
const char* name_of(Isa isa);

// In what a kernel multiplies where that is less than its operands' type; builders need leave for it.
enum class Precision : uint8_t {
  kFull = 0,
  kBf16,  // operands rounded to bf16, sums in fp32
};
inline constexpr int kPrecisionCount = 2;

struct KernelDescriptor {
  // family_type_tile_isa, e.g. "gemm_f32_6x2_avx2", "reference_conv". The engine and timing key name kernels by it.
  const char* name = nullptr;
  // Bumped when the meaning of packed bytes, params or tactic params changes: an engine with another is refused.
  uint32_t revision = 1;
  OpKind op = OpKind::kPointwise;
  Isa isa = Isa::kReference;
  // Bit i: input i is read from `packed` (its view has dims but no data).
  uint32_t packed_inputs = 0;

  // Whether run() can be called with these shapes, types, params and tactic: kOk, kUnsupported (with why: the kernel
  // does not do this) or kInvalid (no kernel could). Reads no data, so it also serves the builder with unknown weights
  // and the loader at set-shape. Must refuse everything run() could go out of bounds on, the contents of index tensors
  // apart.
  Status (*validate)(const KernelArgs& args) = nullptr;

  // Bytes that `packed`, `workspace` and one worker's `scratch` need for validated arguments; null: none.
  // workspace and scratch may depend on all dims and grow with each; packed_size only on those of packed inputs.
  size_t (*packed_size)(const KernelArgs& args) = nullptr;
  size_t (*workspace_size)(const KernelArgs& args) = nullptr;
  size_t (*scratch_size)(const KernelArgs& args) = nullptr;

  // Writes the packed form of the packed inputs (here with data, dense row-major) to `destination`; every byte,
  // padding too. Not part of the loader's promise: only builders call it. Null where packed_inputs is 0.
  Status (*pack)(const KernelArgs& args, std::byte* destination) = nullptr;

  // Computes outputs from inputs. kOk, or kPrecondition where run-time data breaks the operator's contract (an index
  // out of range); outputs are then undefined but no memory outside them was touched.
  Status (*run)(const KernelArgs& args) = nullptr;

  // Tactic params worth timing for these arguments, best guess first, at most `capacity`; returns how many. Null: only
  // the default.
  int (*tactics)(const KernelArgs& args, TacticParams* list, int capacity) = nullptr;

  const CustomOperator* custom = nullptr;  // kCustom: what goes into KernelArgs::custom

  Precision precision = Precision::kFull;
};

// ---- Helpers that validate() functions share; each returns kInvalid/kUnsupported with its reason.

// Counts of inputs, outputs, scalars and the size of params against op.h/params.h, ranks and dims in range, the program
// valid (is_valid_program) and its operands broadcastable to output 0. Every validate() begins with it.
Status validate_common(const KernelArgs& args);

// The strides with which `operand` is read as if it had the dims of `output` (0 where it repeats).
// Requires what validate_common checked.
void broadcast_strides(const TensorView& operand, const TensorView& output, int64_t strides[kMaxRank]);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_KERNEL_H_
