// The interpreter of float programs (program.h) over strips: up to kStripLength elements at a time, each instruction a
// vector loop over registers that stay in L1. What a contraction runs as its epilogue where no straight code knows the
// program, and what pointwise kernels run.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_PROGRAM_STRIP_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_PROGRAM_STRIP_H_

#include <cstddef>
#include <cstdint>

#include "tactics/kernels/program.h"

namespace planwright {

inline constexpr int kStripLength = 256;
// What run_strip needs for its registers, 64-byte aligned.
inline constexpr size_t kStripRegisterBytes = size_t{kMaxPwRegisters} * kStripLength * sizeof(float);

// Elements i = 0 .. length-1 of a strip at data[i * stride]; stride 1 and 0 (one value for all) are the fast ones.
struct StripOperand {
  const float* data;
  int64_t stride;
};
struct StripOutput {
  float* data;
  int64_t stride;
};

struct StripProgram {
  const PwInstr* instructions;
  int count;
  // No load comes after a store, so loads may read operands where they lie even when an output is one of them.
  bool store_is_last;
};

#define PW_STRIP_FUNCTIONS(tier)                                                                                  \
  namespace tier {                                                                                                \
  /* Whether run_strip knows every instruction: all in class float, types fp32 only. */                           \
  bool is_strip_program(const PwInstr* instructions, int count);                                                  \
  /* For a program that is_strip_program and is_valid_program. */                                                 \
  StripProgram strip_program(const PwInstr* instructions, int count);                                             \
  /* Computes elements 0 .. length-1 (length <= kStripLength). `operands` and `outputs` as the program numbers    \
     them; `accumulator` is what kAcc reads, contiguous and readable to the next multiple of 16 elements, outside \
     all outputs (null where the program has none). An output may be an operand of the same elements; `registers` \
     is kStripRegisterBytes, contents undefined before and after. */                                              \
  void run_strip(const StripProgram& program, const StripOperand* operands, const float* accumulator,             \
                 const StripOutput* outputs, int length, float* registers);                                       \
  }
PW_STRIP_FUNCTIONS(tier_baseline)
PW_STRIP_FUNCTIONS(tier_avx2)
PW_STRIP_FUNCTIONS(tier_avx512)
#undef PW_STRIP_FUNCTIONS

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_PROGRAM_STRIP_H_
