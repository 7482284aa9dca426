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
// What run_strip and run_tile need for their registers, 64-byte aligned.
// Each register is a strip, and apart from it a vector for a value that is the same for every element: an instruction may
// write the strip of the register whose vector it reads.
inline constexpr int kSplatLength = 16;
inline constexpr size_t kStripRegisterBytes = size_t{kMaxPwRegisters} * (kStripLength + kSplatLength) * sizeof(float);

// Elements i = 0 .. length-1 of a strip at data[i * stride]; stride 1 and 0 (one value for all) are the fast ones.
// In a tile, where `rows` is given, row r has its own: rows[r][(column + i) * stride]; else all rows share `data`.
struct StripOperand {
  const float* data;
  int64_t stride;
  const float* const* rows = nullptr;
  int64_t column = 0;
};
struct StripOutput {
  float* data;
  int64_t stride;
  float* const* rows = nullptr;
  int64_t column = 0;
};

struct StripProgram {
  const PwInstr* instructions;
  int count;
  // No load comes after a store, so loads may read operands where they lie even when an output is one of them.
  bool store_is_last;
};

// A tile of `rows` x `columns` elements, computed as one strip of rows * pitch <= kStripLength elements.
struct StripTile {
  int rows, columns;
  int pitch;  // at least `columns`, a multiple of 16 unless rows is 1
};

#define PW_STRIP_FUNCTIONS(tier)                                                                               \
  namespace tier {                                                                                             \
  /* Whether the interpreter knows every instruction: all in class float, types fp32 only. */                  \
  bool is_strip_program(const PwInstr* instructions, int count);                                               \
  /* For a program that is_strip_program and is_valid_program. */                                              \
  StripProgram strip_program(const PwInstr* instructions, int count);                                          \
  /* Computes elements 0 .. length-1 (length <= kStripLength). `operands` and `outputs` as the program numbers \
     them; `accumulator` is what kAcc reads, contiguous and readable to the next multiple of 16 elements,      \
     outside all outputs (null where the program has none; an empty program stores it to output 0). An output  \
     may be an operand of the same elements;                                                                   \
     `registers` is kStripRegisterBytes, contents undefined before and after. */                               \
  void run_strip(const StripProgram& program, const StripOperand* operands, const float* accumulator,          \
                 const StripOutput* outputs, int length, float* registers);                                    \
  /* The same over a tile; element (r, i) of the accumulator is at accumulator[r * pitch + i]. */              \
  void run_tile(const StripProgram& program, const StripOperand* operands, const float* accumulator,           \
                const StripOutput* outputs, const StripTile& tile, float* registers);                          \
  }
PW_STRIP_FUNCTIONS(tier_baseline)
PW_STRIP_FUNCTIONS(tier_avx2)
PW_STRIP_FUNCTIONS(tier_avx512)
#undef PW_STRIP_FUNCTIONS

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_PROGRAM_STRIP_H_
