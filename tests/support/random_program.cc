#include <algorithm>

#include "tests/support/random_cases.h"

namespace planwright::testing {

std::vector<PwInstr> random_program(Rng& rng, int length, int operands, int outputs, bool has_accumulator) {
  // Registers 0 to 7 of each class; the first of each is always written.
  const auto reg = [](PwClass type, int64_t index) { return static_cast<int>(type) * 8 + static_cast<int>(index); };
  std::vector<PwInstr> program;
  for (int t = 0; t < 4; ++t) {
    const auto type = static_cast<PwClass>(t);
    const bool load = operands > 0 && random_int(rng, 0, 1) == 1;
    program.push_back(load ? pw_load(reg(type, 0), static_cast<int>(random_int(rng, 0, operands - 1)), type)
                           : pw_const(reg(type, 0), static_cast<double>(random_int(rng, 0, 9)), type));
    if (has_accumulator) program.push_back(pw_acc(reg(type, 0), type));
  }
  int written[4] = {1, 1, 1, 1};
  while (static_cast<int>(program.size()) < length) {
    const auto type = static_cast<PwClass>(random_int(rng, 0, 3));
    const int t = static_cast<int>(type);
    const auto source = [&] { return reg(type, random_int(rng, 0, written[t] - 1)); };
    const int64_t to = std::min(written[t], 7);
    PwInstr instr =
        pw_compute(static_cast<PwOp>(random_int(rng, 0, 129)), reg(type, to), source(), source(), source(), type);
    if (instr.op == PwOp::kStore || instr.op == PwOp::kAcc) continue;
    if (instr.op == PwOp::kLoad) {
      if (operands == 0) continue;
      instr.operand = static_cast<uint8_t>(random_int(rng, 0, operands - 1));
    }
    if (instr.op == PwOp::kConst) instr = pw_const(instr.dst, static_cast<double>(random_int(rng, -9, 9)), type);
    if (instr.op == PwOp::kConvert) {
      instr.from = static_cast<PwClass>(random_int(rng, 0, 3));
      instr.a = static_cast<uint8_t>(reg(instr.from, random_int(rng, 0, written[static_cast<int>(instr.from)] - 1)));
    }
    if (instr.op == PwOp::kNarrow) instr.operand = static_cast<uint8_t>(random_int(rng, 0, kDTypeCount - 1));
    if (instr.op == PwOp::kIsInf) instr.operand = static_cast<uint8_t>(random_int(rng, 0, 3));
    // An operation not defined in its class is one that a program with only it would be refused for.
    std::vector<PwInstr> tried = program;
    tried.push_back(instr);
    tried.push_back(pw_store(0, reg(type, 0), type));
    if (!is_valid_program(tried.data(), static_cast<int>(tried.size()), operands, 1, has_accumulator)) continue;
    program.push_back(instr);
    written[t] = std::min(written[t] + 1, 8);
  }
  for (int i = 0; i < outputs; ++i) {
    const auto type = static_cast<PwClass>(random_int(rng, 0, 3));
    program.push_back(pw_store(i, reg(type, written[static_cast<int>(type)] - 1), type));
  }
  return program;
}

}  // namespace planwright::testing
