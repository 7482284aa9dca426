#include <fmt/format.h>

#include <array>

#include "builder/ir/graph.h"

namespace planwright::ir {
namespace {

const char* suffix_of(PwClass type) {
  switch (type) {
    case PwClass::kFloat: return "";
    case PwClass::kDouble: return ".d";
    case PwClass::kInt: return ".i";
    case PwClass::kUint: return ".u";
  }
  return "?";
}

std::string immediate(const PwInstr& instr) {
  if (instr.type == PwClass::kInt) return fmt::format("{}", instr.imm_i);
  if (instr.type == PwClass::kUint) return fmt::format("{}", instr.bits);
  if (instr.type == PwClass::kFloat) return fmt::format("{}", static_cast<float>(instr.imm_f));
  return fmt::format("{}", instr.imm_f);
}

class ProgramText {
 public:
  std::string of(const std::vector<PwInstr>& program) {
    count_uses(program);
    int stores = 0;
    for (const PwInstr& instr : program) stores += instr.op == PwOp::kStore ? 1 : 0;
    for (size_t i = 0; i < program.size(); ++i) {
      const PwInstr& instr = program[i];
      if (instr.op == PwOp::kStore) {
        append(stores == 1 ? value_[instr.a] : fmt::format("out{} = {}", instr.operand, value_[instr.a]));
        continue;
      }
      std::string text = expression(instr);
      if (uses_[i] > 1 && reads_of(instr.op) > 0) {
        append(fmt::format("t{} = {}", names_, text));
        text = fmt::format("t{}", names_++);
      }
      value_[instr.dst] = std::move(text);
    }
    return text_;
  }

 private:
  // How often the value that each instruction makes is read.
  void count_uses(const std::vector<PwInstr>& program) {
    uses_.assign(program.size(), 0);
    std::array<size_t, 256> writer{};
    for (size_t i = 0; i < program.size(); ++i) {
      const PwInstr& instr = program[i];
      const uint8_t read[] = {instr.a, instr.b, instr.c};
      for (int r = 0; r < reads_of(instr.op); ++r) ++uses_[writer[read[r]]];
      if (instr.op != PwOp::kStore) writer[instr.dst] = i;
    }
  }

  std::string expression(const PwInstr& instr) {
    const std::string type = suffix_of(instr.type);
    switch (instr.op) {
      case PwOp::kLoad: return fmt::format("in{}{}", instr.operand, type);
      case PwOp::kConst: return immediate(instr) + type;
      case PwOp::kAcc: return "acc";
      case PwOp::kConvert: return fmt::format("convert{}({})", type.empty() ? ".f" : type, value_[instr.a]);
      case PwOp::kNarrow:
        return fmt::format("narrow.{}({})", planwright::name_of(static_cast<DType>(instr.operand)), value_[instr.a]);
      default: break;
    }
    std::string text = fmt::format("{}{}({}", planwright::name_of(instr.op), type, value_[instr.a]);
    if (reads_of(instr.op) > 1) text += ", " + value_[instr.b];
    if (reads_of(instr.op) > 2) text += ", " + value_[instr.c];
    if (instr.op == PwOp::kIsInf) text += fmt::format(", {}", instr.operand);
    return text + ")";
  }

  void append(const std::string& statement) { text_ += (text_.empty() ? "" : "; ") + statement; }

  std::string text_;
  std::vector<int> uses_;
  std::array<std::string, 256> value_;  // of each register, as text
  int names_ = 0;
};

}  // namespace

std::string print_program(const std::vector<PwInstr>& program) { return ProgramText().of(program); }

}  // namespace planwright::ir
