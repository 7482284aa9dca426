#include "builder/ir/program_ssa.h"

#include <algorithm>
#include <array>
#include <bit>

namespace planwright::ir {
namespace {

// Puts the instructions of an SsaProgram in order and deals out registers.
class Emitter {
 public:
  explicit Emitter(const SsaProgram& program)
      : program_(program), uses_(program.use_counts()), registers_(program.instrs().size(), -1) {
    std::fill(free_.begin(), free_.end(), true);
  }

  std::optional<std::vector<PwInstr>> run() {
    for (const SsaInstr& instr : program_.instrs()) {
      if (instr.op == PwOp::kStore && !emit(instr, -1)) return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  // Operands first, so that a load or constant stands right before its first use and holds a register no longer than
  // it must.
  bool visit(PwValue value) { return registers_[static_cast<size_t>(value)] >= 0 || emit(program_.at(value), value); }

  bool emit(const SsaInstr& instr, PwValue value) {
    const int reads = reads_of(instr.op);
    for (int i = 0; i < reads; ++i) {
      if (!visit(instr.read[i])) return false;
    }
    if (out_.size() >= static_cast<size_t>(kMaxPwInstructions)) return false;
    PwInstr result;
    result.op = instr.op;
    result.type = instr.type;
    result.from = instr.from;
    result.operand = instr.operand;
    result.bits = instr.bits;
    uint8_t* const fields[] = {&result.a, &result.b, &result.c};
    for (int i = 0; i < reads; ++i) *fields[i] = static_cast<uint8_t>(registers_[static_cast<size_t>(instr.read[i])]);
    // Registers of a strip are as wide as their class: a conversion never writes over what it reads.
    if (instr.op != PwOp::kConvert) release(instr);
    if (value >= 0) {
      const int dst = take();
      if (dst < 0) return false;
      registers_[static_cast<size_t>(value)] = dst;
      result.dst = static_cast<uint8_t>(dst);
    }
    if (instr.op == PwOp::kConvert) release(instr);
    out_.push_back(result);
    return true;
  }

  void release(const SsaInstr& instr) {
    for (int i = 0; i < reads_of(instr.op); ++i) {
      const auto read = static_cast<size_t>(instr.read[i]);
      if (--uses_[read] == 0) free_[static_cast<size_t>(registers_[read])] = true;
    }
  }

  int take() {
    const auto at = std::find(free_.begin(), free_.end(), true);
    if (at == free_.end()) return -1;
    *at = false;
    return static_cast<int>(at - free_.begin());
  }

  const SsaProgram& program_;
  std::vector<int> uses_;       // reads still to come
  std::vector<int> registers_;  // of each value, -1 before it is computed
  std::array<bool, kMaxPwRegisters> free_{};
  std::vector<PwInstr> out_;
};

}  // namespace

double SsaInstr::as_double() const { return std::bit_cast<double>(bits); }

SsaProgram::SsaProgram(const std::vector<PwInstr>& program) {
  std::array<PwValue, 256> holds{};
  for (const PwInstr& instr : program) {
    SsaInstr value;
    value.op = instr.op;
    value.type = instr.type;
    value.from = instr.op == PwOp::kConvert ? instr.from : PwClass::kFloat;
    value.operand = instr.operand;
    value.bits = instr.op == PwOp::kConst ? instr.bits : 0;
    const uint8_t registers[] = {instr.a, instr.b, instr.c};
    for (int i = 0; i < reads_of(instr.op); ++i) value.read[i] = holds[registers[i]];
    const PwValue result = add(value);
    if (instr.op != PwOp::kStore) holds[instr.dst] = result;
  }
}

std::optional<std::vector<PwInstr>> SsaProgram::to_program() const { return Emitter(*this).run(); }

PwValue SsaProgram::add(const SsaInstr& instr) {
  if (instr.op != PwOp::kStore) {
    const auto at = std::find(instrs_.begin(), instrs_.end(), instr);
    if (at != instrs_.end()) return static_cast<PwValue>(at - instrs_.begin());
  }
  instrs_.push_back(instr);
  return static_cast<PwValue>(instrs_.size() - 1);
}

PwValue SsaProgram::load(int operand, PwClass type) {
  SsaInstr instr;
  instr.op = PwOp::kLoad;
  instr.type = type;
  instr.operand = static_cast<uint8_t>(operand);
  return add(instr);
}

PwValue SsaProgram::constant(double value, PwClass type) {
  SsaInstr instr;
  instr.op = PwOp::kConst;
  instr.type = type;
  instr.bits = std::bit_cast<uint64_t>(value);
  return add(instr);
}

PwValue SsaProgram::constant_int(int64_t value, PwClass type) {
  SsaInstr instr;
  instr.op = PwOp::kConst;
  instr.type = type;
  instr.bits = static_cast<uint64_t>(value);
  return add(instr);
}

PwValue SsaProgram::accumulator() {
  SsaInstr instr;
  instr.op = PwOp::kAcc;
  return add(instr);
}

PwValue SsaProgram::convert(PwValue a, PwClass to) {
  if (at(a).type == to) return a;
  SsaInstr instr;
  instr.op = PwOp::kConvert;
  instr.type = to;
  instr.from = at(a).type;
  instr.read[0] = a;
  return add(instr);
}

PwValue SsaProgram::narrow(PwValue a, DType to) {
  SsaInstr instr;
  instr.op = PwOp::kNarrow;
  instr.type = at(a).type;
  instr.operand = static_cast<uint8_t>(to);
  instr.read[0] = a;
  return add(instr);
}

PwValue SsaProgram::unary(PwOp op, PwValue a) { return ternary(op, a, -1, -1); }

PwValue SsaProgram::binary(PwOp op, PwValue a, PwValue b) { return ternary(op, a, b, -1); }

PwValue SsaProgram::ternary(PwOp op, PwValue a, PwValue b, PwValue c) {
  SsaInstr instr;
  instr.op = op;
  instr.type = at(a).type;
  instr.read[0] = a;
  instr.read[1] = b;
  instr.read[2] = c;
  return add(instr);
}

void SsaProgram::store(PwValue a, int output) {
  SsaInstr instr;
  instr.op = PwOp::kStore;
  instr.type = at(a).type;
  instr.operand = static_cast<uint8_t>(output);
  instr.read[0] = a;
  add(instr);
}

PwValue SsaProgram::stored(int output) const {
  for (const SsaInstr& instr : instrs_) {
    if (instr.op == PwOp::kStore && instr.operand == output) return instr.read[0];
  }
  return -1;
}

std::vector<int> SsaProgram::use_counts() const {
  std::vector<int> uses(instrs_.size(), 0);
  // An instruction stands after what it reads, so one pass backwards sees all reads of a value before the value.
  for (size_t i = instrs_.size(); i-- > 0;) {
    const SsaInstr& instr = instrs_[i];
    if (instr.op != PwOp::kStore && uses[i] == 0) continue;
    for (int r = 0; r < reads_of(instr.op); ++r) ++uses[static_cast<size_t>(instr.read[r])];
  }
  return uses;
}

}  // namespace planwright::ir
