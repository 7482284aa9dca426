// What the verifier must know of kernels, given to it by whoever has them (the loader, the programs, a test).
#ifndef PLANWRIGHT_PLANFMT_CATALOG_H_
#define PLANWRIGHT_PLANFMT_CATALOG_H_

#include <cstddef>
#include <cstdint>

#include "schemas/types/dtype.h"
#include "schemas/types/status.h"

namespace planwright::planfmt {

// One operand of a step at concrete shapes.
struct OperandFacts {
  bool absent = false;   // optional, not given
  bool has_data = true;  // false: dims only, the kernel reads it packed
  DType dtype = DType::kF32;
  int32_t rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  // Where its elements lie: bytes [begin, end) of the program's storage; begin == end where there are no elements.
  uint32_t storage = 0;
  uint64_t begin = 0, end = 0;
};

struct StepFacts {
  uint8_t op = 0;
  uint8_t isa = 0;     // what the program's CPU has
  int32_t bodies = 0;  // regions that the step runs
  const OperandFacts* inputs = nullptr;
  int32_t input_count = 0;
  int32_t core_inputs = 0;
  const OperandFacts* outputs = nullptr;
  int32_t output_count = 0;
  const void* params = nullptr;  // 8-byte aligned
  uint32_t params_size = 0;
  const int64_t* scalars = nullptr;
  int32_t scalar_count = 0;
  const void* program = nullptr;  // 8-byte aligned; program_size bytes
  uint32_t program_size = 0;
  const int32_t* tactic = nullptr;  // eight
};

struct StepNeeds {
  size_t packed = 0, workspace = 0, scratch = 0;  // bytes
};

class KernelCatalog {
 public:
  // kCorrupt where `isa` is no instruction set; kIncompatible, naming what is missing, where this CPU lacks it.
  virtual Status check_isa(uint8_t isa) const = 0;
  // The kernel's handle. kIncompatible, naming it, when it is unknown or of another revision.
  virtual Status find(const char* name, uint32_t revision, const void** kernel) const = 0;
  // Whether the kernel can run the step, and what memory it needs. Must be safe on any facts. Also refuses operands
  // that share memory in a way that makes the kernel's own bounds checks worthless.
  virtual Status check(const void* kernel, const StepFacts& facts, StepNeeds* needs) const = 0;

 protected:
  ~KernelCatalog() = default;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_CATALOG_H_
