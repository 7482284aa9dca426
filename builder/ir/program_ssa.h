// Pointwise programs in single-assignment form: what passes read, join and rewrite.
//
// A program of registers (tactics/kernels/program.h) is hard to edit: a register may be written again. Here every
// instruction is a value of its own, named by its position, equal instructions are one value, and registers are dealt
// out only when the program is made.
#ifndef PLANWRIGHT_BUILDER_IR_PROGRAM_SSA_H_
#define PLANWRIGHT_BUILDER_IR_PROGRAM_SSA_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tactics/kernels/program.h"

namespace planwright::ir {

using PwValue = int32_t;  // the position of the instruction that computes it

struct SsaInstr {
  PwOp op = PwOp::kLoad;
  PwClass type = PwClass::kFloat;
  PwClass from = PwClass::kFloat;
  uint8_t operand = 0;
  PwValue read[3] = {-1, -1, -1};  // values the instruction reads: reads_of(op) of them
  uint64_t bits = 0;               // kConst
  friend bool operator==(const SsaInstr&, const SsaInstr&) = default;

  double as_double() const;  // a float or double constant's value
};

class SsaProgram {
 public:
  SsaProgram() = default;
  explicit SsaProgram(const std::vector<PwInstr>& program);

  // The program with registers; instructions nobody needs are left out. nullopt when it passes a limit of program.h.
  std::optional<std::vector<PwInstr>> to_program() const;

  const std::vector<SsaInstr>& instrs() const { return instrs_; }
  const SsaInstr& at(PwValue value) const { return instrs_[static_cast<size_t>(value)]; }

  // The value of an instruction: that of an equal one already there, where there is one. Never for stores.
  PwValue add(const SsaInstr& instr);

  PwValue load(int operand, PwClass type = PwClass::kFloat);
  PwValue constant(double value, PwClass type = PwClass::kFloat);  // float or double
  PwValue constant_int(int64_t value, PwClass type = PwClass::kInt);
  PwValue accumulator();
  PwValue convert(PwValue a, PwClass to);
  PwValue narrow(PwValue a, DType to);
  PwValue unary(PwOp op, PwValue a);
  PwValue binary(PwOp op, PwValue a, PwValue b);
  PwValue ternary(PwOp op, PwValue a, PwValue b, PwValue c);
  void store(PwValue a, int output = 0);

  // The value stored to an output; -1 if none is.
  PwValue stored(int output) const;
  // How often each value is read by instructions that matter to a store.
  std::vector<int> use_counts() const;

 private:
  std::vector<SsaInstr> instrs_;
};

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_PROGRAM_SSA_H_
