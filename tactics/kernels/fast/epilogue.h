// A contraction's epilogue made ready to run on tiles of its output.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_H_

#include "tactics/kernels/fast/epilogue_match.h"
#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

struct EpilogueOperand {
  const float* data;
  int64_t strides[kMaxRank];  // along the output's axes; 0 where it repeats
  bool by_row;                // whether it varies along any axis but the column's
};

struct Epilogue {
  // What runs straight: `function` on sums + bias + residual. -1: no such operand.
  bool straight = true;
  StraightEpilogue function;
  int bias = -1, residual = -1;
  // Whether the micro kernel itself can do it, on the sums in its registers.
  bool in_registers = true;
  bool clamps = false;

  StripProgram program = {};
  int column_axis = 0;
  int operand_count = 0;
  EpilogueOperand operands[kMaxPwOperands];
};

// Whether `tier` can run the epilogue: fp32 operands and output, and a program its interpreter knows. For arguments
// that validate_common.
Status validate_epilogue(const KernelArgs& args, const GemmTier& tier);

// `column_axis` is the output's axis along which panels lie, and 1 its stride there.
Epilogue make_epilogue(const KernelArgs& args, const GemmTier& tier, int column_axis);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_H_
