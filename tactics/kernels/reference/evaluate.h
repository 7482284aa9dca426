// Runs an expression program (program.h) on one element.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_EVALUATE_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_EVALUATE_H_

#include "tactics/kernels/kernel.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {

// What a register holds: the member of the class of the instruction that wrote it.
union Value {
  float f;
  double d;
  int64_t i;
  uint64_t u;
};

struct TypedValue {
  PwClass type;
  Value value;
};

// The program of a Pointwise or a contraction, to run at any position of the outputs. Arguments must have passed
// validate_common and outlive it.
class Program {
 public:
  explicit Program(const KernelArgs& args);

  // A Pointwise.
  void run(const Position& position) const;
  // A contraction; the accumulator is what kAcc reads, after a sum of fp32 has been rounded to it once. Without a
  // program it is stored.
  void run(const Position& position, double accumulator) const;
  void run(const Position& position, int64_t accumulator) const;

 private:
  void run_with(const Position& position, const TypedValue& accumulator) const;

  const KernelArgs& args_;
  int64_t strides_[kMaxPwOperands][kMaxRank];
};

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_EVALUATE_H_
