// Recognises the frequent epilogues in a program, however an exporter and the fuser spelled them.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_MATCH_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_MATCH_H_

#include "tactics/kernels/fast/gemm_tile.h"

namespace planwright::fast {

// activation(accumulator + the operands listed)
struct StraightEpilogue {
  TileActivation activation;
  int added[2] = {-1, -1};  // operand indices, in the order they are added; -1: none
};

// Whether a valid program with one output, all in class float (is_strip_program), computes a straight epilogue, up to
// the rounding of its constants. An empty program does.
bool match_straight(const PwInstr* instructions, int count, StraightEpilogue* epilogue);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_MATCH_H_
