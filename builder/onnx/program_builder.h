// Writes a pointwise program (tactics/kernels/program.h) as expressions over registers.
#ifndef PLANWRIGHT_BUILDER_ONNX_PROGRAM_BUILDER_H_
#define PLANWRIGHT_BUILDER_ONNX_PROGRAM_BUILDER_H_

#include <vector>

#include "schemas/types/dtype.h"
#include "tactics/kernels/program.h"

namespace planwright::builder::importer {

// A register and the class it holds; written once.
struct Reg {
  uint8_t index = 0;
  PwClass type = PwClass::kFloat;
};

// Operands and outputs are numbered in the order in which they are loaded and stored.
class ProgramBuilder {
 public:
  Reg load(DType dtype);                     // the next operand, in its type's class
  Reg load_as(DType dtype, PwClass type);    // the same, converted
  Reg constant(PwClass type, double value);  // `value` must be an integer for the integer classes
  Reg constant_int(PwClass type, int64_t value);
  Reg accumulator();  // epilogues: what the contraction computed, in float

  Reg apply(PwOp op, Reg a);
  Reg apply(PwOp op, Reg a, Reg b);
  Reg apply(PwOp op, Reg a, Reg b, Reg c);

  Reg convert(Reg a, PwClass type);  // a itself where it is of that class already
  Reg narrow(Reg a, DType dtype);    // what storing as `dtype` and loading again in the same class gives
  // `a`, of a float class, held within the finite numbers of a minifloat; NaN stays NaN.
  Reg saturate(Reg a, DType dtype);
  Reg is_infinite(Reg a, bool positive, bool negative);
  // The next output, of type `dtype`: floats round once, integers wrap, floats truncate to integers, and anything that
  // is not 0 is true.
  void store(Reg a, DType dtype);

  const std::vector<PwInstr>& instructions() const { return instructions_; }

 private:
  Reg append(PwInstr instruction);
  Reg fit(Reg a, DType dtype);  // `a` in the type's class, so that storing it rounds or wraps right

  std::vector<PwInstr> instructions_;
  uint8_t registers_ = 0, operands_ = 0, outputs_ = 0;
};

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_PROGRAM_BUILDER_H_
