// The pointwise programs that straight code runs instead of the interpreter.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_STRAIGHT_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_STRAIGHT_H_

#include "tactics/kernels/program.h"

namespace planwright {

enum class StraightOp : uint8_t { kNone, kAdd, kSub, kMul, kMulAdd };

// clamp((a first b) second c, low, high): residual additions, an image scaled by its squeeze-and-excite weights, ReLU.
// kMulAdd is a * b + c, rounded once; it stands in `first`, and `second` is kNone.
struct StraightProgram {
  StraightOp first = StraightOp::kNone, second = StraightOp::kNone;
  int operands[3] = {-1, -1, -1};  // a, b, c: indices into the program's operands; -1: none
  bool clamps = false;
  float low = -__builtin_inff(), high = __builtin_inff();
};

// Whether a valid program of class float with one output is one, and which.
bool match_straight_program(const PwInstr* instructions, int count, StraightProgram* straight);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_STRAIGHT_H_
