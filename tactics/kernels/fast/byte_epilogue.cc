#include "tactics/kernels/fast/byte_epilogue.h"

namespace planwright::fast {
namespace {

// What a register holds.
enum class Held : uint8_t { kFloat, kLoaded, kToStore };

// Sums that are stored as they are.
bool is_raw(const KernelArgs& args) {
  if (args.outputs[0].dtype != DType::kI32) return false;
  if (args.program_size == 0) return true;
  return args.program_size == 2 && args.program[0].op == PwOp::kAcc && args.program[0].type == PwClass::kInt &&
         args.program[1].op == PwOp::kStore;
}

bool is_stored_as_number(DType type) {
  return type == DType::kF32 || type == DType::kI8 || type == DType::kU8 || type == DType::kI32;
}

bool is_integer(PwClass type) { return type == PwClass::kInt || type == PwClass::kUint; }

// Whether an instruction is known, given what registers hold, of which it writes one.
bool follow(const KernelArgs& args, bool (*is_strip_program)(const PwInstr*, int), const PwInstr& instr, Held* held) {
  switch (instr.op) {
    case PwOp::kLoad:
      if (class_of(args.inputs[args.core_inputs + instr.operand].dtype) != instr.type) return false;
      held[instr.dst] = instr.type == PwClass::kFloat ? Held::kFloat : Held::kLoaded;
      return instr.type != PwClass::kDouble;
    case PwOp::kAcc:
      held[instr.dst] = instr.type == PwClass::kFloat ? Held::kFloat : Held::kLoaded;
      return instr.type == PwClass::kFloat || instr.type == PwClass::kInt;
    case PwOp::kConvert:
      if (instr.type == PwClass::kFloat) {
        const Held from = held[instr.a];
        held[instr.dst] = Held::kFloat;
        return from != Held::kToStore;
      }
      if (!is_integer(instr.type) || held[instr.a] != Held::kFloat) return false;
      held[instr.dst] = Held::kToStore;
      return true;
    case PwOp::kStore:
      return class_of(args.outputs[instr.operand].dtype) == instr.type &&
             held[instr.a] == (instr.type == PwClass::kFloat ? Held::kFloat : Held::kToStore);
    default: held[instr.dst] = Held::kFloat; return is_strip_program(&instr, 1);
  }
}

// The chain of operations from the sums to what is stored, each with a number for each column.
class Chain {
 public:
  Chain(const KernelArgs& args, const bool* columns) : args_(args), columns_(columns) {}

  bool match(ByteEpilogue* epilogue) {
    Node nodes[kMaxPwRegisters] = {};
    for (int i = 0; i < args_.program_size; ++i) {
      const PwInstr& instr = args_.program[i];
      switch (instr.op) {
        case PwOp::kAcc:
          // A second one would be the sums again.
          if (last_ != 0) return false;
          nodes[instr.dst] = {++last_, {}};
          continue;
        case PwOp::kLoad:
          if (!columns_[instr.operand]) return false;
          nodes[instr.dst] = {0, {instr.operand, 0.0f}};
          continue;
        case PwOp::kConst: nodes[instr.dst] = {0, {-1, static_cast<float>(instr.imm_f)}}; continue;
        case PwOp::kConvert: nodes[instr.dst] = nodes[instr.a]; continue;
        case PwOp::kNarrow:
          if (static_cast<DType>(instr.operand) != DType::kF32) return false;
          nodes[instr.dst] = nodes[instr.a];
          continue;
        case PwOp::kStore:
          return i + 1 == args_.program_size && nodes[instr.a].step == last_ && last_ != 0 && fits(epilogue);
        default: break;
      }
      const int reads = reads_of(instr.op);
      if (reads > 2) return false;
      Node chain = nodes[instr.a], other = reads == 2 ? nodes[instr.b] : Node{};
      const bool swapped = reads == 2 && chain.step == 0;
      if (swapped) {
        if (instr.op == PwOp::kSub || instr.op == PwOp::kDiv) return false;
        chain = nodes[instr.b];
        other = nodes[instr.a];
      }
      if (chain.step != last_ || last_ == 0 || other.step != 0 || !take(instr.op, other.number, epilogue)) return false;
      nodes[instr.dst] = {++last_, {}};
    }
    return false;
  }

 private:
  // A place in the chain, or if that is 0 a number.
  struct Node {
    int step = 0;
    ColumnNumber number = {};
  };
  // How far the operations so far have come in ByteFinish.
  enum class Stage : uint8_t {
    kSum,
    kBefore,
    kScale,
    kAfter,
    kLow,
    kHigh,
    kRounded,
    kZero,
    kLeast,
    kMost,
    kShift,
    kRescale
  };

  bool advance(Stage to) {
    if (stage_ >= to) return false;
    stage_ = to;
    return true;
  }

  bool take(PwOp op, ColumnNumber number, ByteEpilogue* to) {
    const bool is_constant = number.operand < 0;
    switch (op) {
      case PwOp::kSub:
        if (!is_constant) return false;
        number.constant = -number.constant;
        [[fallthrough]];
      case PwOp::kAdd:
        if (stage_ == Stage::kRounded) {
          to->activation.zero = number.constant;
          return is_constant && advance(Stage::kZero);
        }
        if (stage_ > Stage::kRounded) {
          to->activation.shift = number.constant;
          return is_constant && advance(Stage::kShift);
        }
        if (stage_ == Stage::kSum) {
          to->before = number;
          return advance(Stage::kBefore);
        }
        to->after = number;
        return advance(Stage::kAfter);
      case PwOp::kMul:
        if (stage_ >= Stage::kRounded) {
          to->activation.rescale = number.constant;
          return is_constant && advance(Stage::kRescale);
        }
        to->scale = number;
        return advance(Stage::kScale);
      case PwOp::kMax:
        (stage_ < Stage::kRounded ? to->activation.low : to->activation.least) = number.constant;
        return is_constant && number.constant == number.constant &&
               advance(stage_ < Stage::kRounded ? Stage::kLow : Stage::kLeast);
      case PwOp::kMin:
        (stage_ < Stage::kRounded ? to->activation.high : to->activation.most) = number.constant;
        return is_constant && number.constant == number.constant &&
               advance(stage_ < Stage::kRounded ? Stage::kHigh : Stage::kMost);
      case PwOp::kRoundEven: to->activation.rounds = true; return advance(Stage::kRounded);
      default: return false;
    }
  }

  // Whether the result is what the output can hold.
  bool fits(ByteEpilogue* epilogue) const {
    const ByteActivation& f = epilogue->activation;
    const bool is_level = stage_ < Stage::kShift;
    switch (args_.outputs[0].dtype) {
      case DType::kF32: return true;
      case DType::kU8: return is_level && f.rounds && f.least >= 0.0f && f.most <= 255.0f && f.least <= f.most;
      case DType::kI8: return is_level && f.rounds && f.least >= -128.0f && f.most <= 127.0f && f.least <= f.most;
      default: return false;
    }
  }

  const KernelArgs& args_;
  const bool* columns_;
  int last_ = 0;  // step of the chain
  Stage stage_ = Stage::kSum;
};

}  // namespace

Status validate_byte_program(const KernelArgs& args, const GemmTier& tier) {
  const DType type = args.outputs[0].dtype;
  if (is_raw(args) || (args.program_size == 0 && type == DType::kF32)) return kOkStatus;
  if (args.program_size == 0) {
    return error(StatusCode::kUnsupported, "sums of int32 are stored as %s", name_of(type));
  }
  Held held[kMaxPwRegisters] = {};
  for (int i = 0; i < args.program_size; ++i) {
    // Not every tier rounds a MulAdd once.
    if (args.program[i].op == PwOp::kMulAdd || !follow(args, tier.is_strip_program, args.program[i], held)) {
      return error(StatusCode::kUnsupported, "instruction %d of the epilogue does not compute in fp32", i);
    }
  }
  return kOkStatus;
}

bool computes_in_floats(const KernelArgs& args, bool (*is_strip_program)(const PwInstr*, int)) {
  for (int i = 0; i < args.input_count; ++i) {
    if (!is_stored_as_number(args.inputs[i].dtype)) return false;
  }
  for (int i = 0; i < args.output_count; ++i) {
    if (!is_stored_as_number(args.outputs[i].dtype)) return false;
  }
  Held held[kMaxPwRegisters] = {};
  for (int i = 0; i < args.program_size; ++i) {
    if (!follow(args, is_strip_program, args.program[i], held)) return false;
  }
  return true;
}

ByteEpilogue match_bytes(const KernelArgs& args, const bool* columns) {
  ByteEpilogue epilogue;
  if (is_raw(args)) return epilogue;
  epilogue.kind = ByteEpilogue::Kind::kStraight;
  if (args.program_size == 0 || Chain(args, columns).match(&epilogue)) return epilogue;
  epilogue.kind = ByteEpilogue::Kind::kInterpreted;
  return epilogue;
}

}  // namespace planwright::fast
