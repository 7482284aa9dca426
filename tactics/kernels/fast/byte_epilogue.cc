#include "tactics/kernels/fast/byte_epilogue.h"

#include <math.h>

#include "tactics/kernels/reference/evaluate.h"

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

// The part of a program that is a function of levels.
struct LevelFunction {
  int from = -1, to = -1;  // the instructions that compute its argument and its result; -1: there is none
  float base = 0;          // the least argument
  DType type = DType::kU8;
  bool inside[kMaxPwInstructions] =
      {};  // whether an instruction behind `from` computes with the argument and constants alone
};

// What is known of a register: what it depends on, and between what bounds it lies.
struct Known {
  enum class Of : uint8_t { kConstant, kLevel, kOther };
  Of of = Of::kOther;
  bool integral = false;
  float low = -INFINITY, high = INFINITY;
  int by = -1;  // the instruction that wrote it

  bool is_within(float least, float most) const { return integral && low >= least && high <= most; }
};

void bound(const PwInstr& instr, const Known& a, const Known& b, Known* result) {
  result->integral = a.integral && b.integral;
  switch (instr.op) {
    case PwOp::kRoundEven: result->integral = true; return;
    case PwOp::kAdd:
      result->low = a.low + b.low;
      result->high = a.high + b.high;
      return;
    case PwOp::kSub:
      result->low = a.low - b.high;
      result->high = a.high - b.low;
      return;
    case PwOp::kMin:
      result->low = a.low < b.low ? a.low : b.low;
      result->high = a.high < b.high ? a.high : b.high;
      return;
    case PwOp::kMax:
      result->low = a.low > b.low ? a.low : b.low;
      result->high = a.high > b.high ? a.high : b.high;
      return;
    default: result->integral = false;
  }
}

// Of the first levels behind instruction `after` that are no function of levels before; the instructions are -1 where
// there is none, `to` also where nothing is computed of them that is worth a table.
LevelFunction find_level_function(const KernelArgs& args, int after) {
  LevelFunction found;
  Known registers[kMaxPwRegisters], results[kMaxPwInstructions];
  // Levels that an instruction reads: of its up to three operands, by which instruction they were written.
  int read[kMaxPwInstructions][3];
  for (int i = 0; i < args.program_size; ++i) {
    const PwInstr& instr = args.program[i];
    Known result;
    const uint8_t sources[] = {instr.a, instr.b, instr.c};
    const int reads = reads_of(instr.op);
    bool is_function = found.from >= 0 && reads > 0 && instr.type == PwClass::kFloat && instr.op != PwOp::kStore &&
                       instr.op != PwOp::kConvert;
    bool has_level = false;
    for (int r = 0; r < 3; ++r) {
      const bool is_level = r < reads && registers[sources[r]].of == Known::Of::kLevel;
      read[i][r] = is_level ? registers[sources[r]].by : -1;
      has_level |= is_level;
      if (r < reads && registers[sources[r]].of == Known::Of::kOther) is_function = false;
    }
    if (instr.op == PwOp::kConst && instr.type == PwClass::kFloat) {
      const auto number = static_cast<float>(instr.imm_f);
      result = {Known::Of::kConstant, nearbyintf(number) == number, number, number, i};
    } else if (instr.type == PwClass::kFloat && reads > 0 && instr.op != PwOp::kStore) {
      bound(instr, registers[instr.a], reads > 1 ? registers[instr.b] : registers[instr.a], &result);
      if (is_function && has_level) result.of = Known::Of::kLevel;
    }
    result.by = i;
    if (found.from < 0 && i > after && result.of == Known::Of::kOther &&
        (result.is_within(0, 255) || result.is_within(-128, 127))) {
      found.from = i;
      found.base = result.low >= 0 ? 0.0f : -128.0f;
      result.of = Known::Of::kLevel;
    } else {
      found.inside[i] = result.of == Known::Of::kLevel;
    }
    results[i] = result;
    if (instr.op != PwOp::kStore) registers[instr.dst] = result;
  }
  // The last of its values that alone is read by what else there is.
  for (int to = args.program_size - 1; found.from >= 0 && to > found.from; --to) {
    const Known& result = results[to];
    if (!found.inside[to] || !(result.is_within(0, 255) || result.is_within(-128, 127))) continue;
    bool alone = true;
    for (int i = found.from + 1; i < args.program_size; ++i) {
      if (found.inside[i] && i <= to) continue;
      for (const int by : read[i]) alone = alone && (by < 0 || by >= to);
    }
    if (!alone) continue;
    found.to = to;
    found.type = result.low >= 0 ? DType::kU8 : DType::kI8;
    for (int i = to + 1; i < args.program_size; ++i) found.inside[i] = false;
    return found;
  }
  return found;
}

// All of a program, one behind the other: of what activations round to.
struct LevelFunctions {
  int count = 0;
  LevelFunction list[2];

  explicit LevelFunctions(const KernelArgs& args) {
    int after = -1;
    while (count < 2) {
      list[count] = find_level_function(args, after);
      if (list[count].from < 0) return;
      after = list[count].to >= 0 ? list[count].to : list[count].from;
      count += list[count].to >= 0 ? 1 : 0;
    }
  }
};

// The chain of operations from the sums to what is stored, each with a number for each column or with a residual.
class Chain {
 public:
  // `functions`: as many of them as are to be tables.
  Chain(const KernelArgs& args, const ByteRole* roles, const LevelFunction* functions, int count)
      : args_(args), roles_(roles), functions_(functions), count_(count) {}

  bool match(ByteEpilogue* epilogue) {
    Node nodes[kMaxPwRegisters] = {};
    for (int i = 0; i < args_.program_size; ++i) {
      const PwInstr& instr = args_.program[i];
      if (const LevelFunction* of = function_with(i)) {
        nodes[instr.dst] = {.step = i == of->to ? ++last_ : kInside};
        continue;
      }
      switch (instr.op) {
        case PwOp::kAcc:
          // A second one would be the sums again.
          if (last_ != 0) return false;
          nodes[instr.dst] = {.step = ++last_};
          continue;
        case PwOp::kLoad:
          if (roles_[instr.operand] == ByteRole::kOther) return false;
          nodes[instr.dst] = {.number = {instr.operand, 0.0f},
                              .is_residual = roles_[instr.operand] == ByteRole::kResidual};
          continue;
        case PwOp::kConst: nodes[instr.dst] = {.number = {-1, static_cast<float>(instr.imm_f)}}; continue;
        case PwOp::kConvert: nodes[instr.dst] = nodes[instr.a]; continue;
        case PwOp::kNarrow:
          if (static_cast<DType>(instr.operand) != DType::kF32) return false;
          nodes[instr.dst] = nodes[instr.a];
          continue;
        case PwOp::kStore:
          if (!settle_sigmoid(&nodes[instr.a], epilogue)) return false;
          return i + 1 == args_.program_size && nodes[instr.a].step == last_ && last_ != 0 && fits(epilogue);
        default: break;
      }
      const int reads = reads_of(instr.op);
      if (reads > 2) return false;
      Node main = nodes[instr.a], other = reads == 2 ? nodes[instr.b] : Node{};
      if (main.step == last_ && other.step == last_ && (main.is_gate() || other.is_gate())) {
        if (instr.op != PwOp::kMul ||
            !(main.is_gate() ? take_gate(main, other, epilogue) : take_gate(other, main, epilogue))) {
          return false;
        }
        nodes[instr.dst] = {.step = ++last_};
        continue;
      }
      // The chain, or else a residual, comes first.
      uint8_t source = instr.a;
      if (reads == 2 && (other.step != 0 || (main.step == 0 && other.is_residual))) {
        if (instr.op == PwOp::kSub || instr.op == PwOp::kDiv) return false;
        const Node swapped = main;
        main = other;
        other = swapped;
        source = instr.b;
      }
      // What is made of a place that is read again can only come to multiply it.
      if (main.is_gate() || (main.step > 0 && (is_gate_function(instr.op) || is_read_again(source, i)))) {
        Node gate = main;
        if (!main.is_gate()) gate.gate = Gate::kLine;
        if (shape_gate(instr.op, other, &gate)) {
          nodes[instr.dst] = gate;
          continue;
        }
        if (!settle_sigmoid(&main, epilogue)) return false;
      }
      if (other.step != 0) return false;
      if (main.step == 0) {
        if (!main.is_residual || other.is_residual || !shape_residual(instr.op, other.number, &main)) return false;
        nodes[instr.dst] = main;
        continue;
      }
      if (main.step != last_ ||
          !(other.is_residual ? add_residual(instr.op, other, epilogue) : take(instr.op, other.number, epilogue))) {
        return false;
      }
      nodes[instr.dst] = {.step = ++last_};
      for (int f = 0; f < count_; ++f) {
        if (i == functions_[f].from && !begin_table(f, epilogue)) return false;
      }
    }
    return false;
  }

 private:
  static constexpr int kInside = -1;  // a step that nothing else may read

  // What a place in the chain is multiplied by, a function of it: clamp(alpha * x + beta, low, high), or of alpha * x.
  enum class Gate : uint8_t { kNone, kLine, kSigmoid, kErf, kErfPlusOne };

  // A place in the chain, or a gate made of it, or if `step` is 0 a number or (residual + shift) * scale.
  struct Node {
    int step = 0;
    ColumnNumber number = {};
    bool is_residual = false, is_scaled = false;
    float shift = -0.0f, scale = 1.0f;
    Gate gate = Gate::kNone;
    TileActivation line = {.beta = -0.0f};
    bool is_divided = false;  // alpha is rounded, which erf and the like do not mind
    float factor = 1.0f;      // of erf plus 1

    bool is_gate() const { return gate != Gate::kNone; }
    bool is_clamped() const { return line.low != -INFINITY || line.high != INFINITY; }
    bool is_scaled_only() const { return gate == Gate::kLine && line.beta == 0.0f && !is_clamped(); }
  };
  // How far the operations so far have come: those before kLow only in the first activation.
  enum class Stage : uint8_t {
    kSum,
    kBefore,
    kScale,
    kAfter,
    kFunction,
    kFactor,
    kOffset,
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

  static bool is_gate_function(PwOp op) { return op == PwOp::kSigmoid || op == PwOp::kErf; }

  // Whether a register is read behind instruction `i`, as it is there.
  bool is_read_again(uint8_t source, int i) const {
    for (int j = i + 1; j < args_.program_size && args_.program[j - 1].dst != source; ++j) {
      const PwInstr& instr = args_.program[j];
      const uint8_t sources[] = {instr.a, instr.b, instr.c};
      for (int r = 0; r < reads_of(instr.op); ++r) {
        if (sources[r] == source) return true;
      }
    }
    return false;
  }

  // Does `op` to a gate, with a number if it takes one.
  static bool shape_gate(PwOp op, const Node& number, Node* gate) {
    const float x = number.number.constant;
    TileActivation& line = gate->line;
    const bool is_line = gate->gate == Gate::kLine;
    if (is_gate_function(op)) {
      if (!gate->is_scaled_only()) return false;
      gate->gate = op == PwOp::kSigmoid ? Gate::kSigmoid : Gate::kErf;
      return true;
    }
    if (reads_of(op) != 2 || number.is_residual || number.number.operand >= 0 || x != x) return false;
    switch (op) {
      case PwOp::kMul:
      case PwOp::kDiv:
        if (gate->gate == Gate::kErfPlusOne && op == PwOp::kMul) {
          gate->factor *= x;
          return true;
        }
        if (!gate->is_scaled_only() || line.alpha != 1.0f) return false;
        line.alpha = op == PwOp::kMul ? x : 1.0f / x;
        gate->is_divided = op == PwOp::kDiv;
        return true;
      case PwOp::kAdd:
      case PwOp::kSub:
        if (gate->gate == Gate::kErf && op == PwOp::kAdd && x == 1.0f) {
          gate->gate = Gate::kErfPlusOne;
          return true;
        }
        if (!gate->is_scaled_only()) return false;
        line.beta = op == PwOp::kAdd ? x : -x;
        return true;
      case PwOp::kMax:
        if (!is_line || line.low != -INFINITY || x > line.high) return false;
        line.low = x;
        return true;
      case PwOp::kMin:
        if (!is_line || line.high != INFINITY || x < line.low) return false;
        line.high = x;
        return true;
      default: return false;
    }
  }

  bool can_take_function(const ByteEpilogue& to) const {
    return stage_ <= Stage::kAfter && !to.end.twice && to.end.function.function == TileFunction::kIdentity;
  }

  // `x` times what is made of it; x is the chain's end, or that scaled.
  bool take_gate(Node gate, Node x, ByteEpilogue* to) {
    if (x.gate == Gate::kErfPlusOne) {
      const Node swapped = gate;
      gate = x;
      x = swapped;
    }
    if (!can_take_function(*to) || (x.is_gate() && !x.is_scaled_only())) return false;
    const float factor = x.is_gate() ? x.line.alpha : 1.0f;
    TileActivation& function = to->end.function;
    function = gate.line;
    switch (gate.gate) {
      case Gate::kLine:
        function.function = TileFunction::kHardSwish;
        if (factor != 1.0f || gate.is_divided) return false;
        break;
      case Gate::kSigmoid:
        function.function = TileFunction::kSilu;
        if (factor != 1.0f) return false;
        break;
      case Gate::kErfPlusOne:
        function.function = TileFunction::kGelu;
        function.beta = factor * gate.factor;
        break;
      default: return false;
    }
    return advance(Stage::kFunction);
  }

  // A sigmoid that multiplies nothing is the chain's next place.
  bool settle_sigmoid(Node* node, ByteEpilogue* to) {
    if (!node->is_gate()) return true;
    if (node->gate != Gate::kSigmoid || !can_take_function(*to) || node->step != last_) return false;
    to->end.function = node->line;
    to->end.function.function = TileFunction::kSigmoid;
    *node = {.step = ++last_};
    return advance(Stage::kFunction);
  }

  bool shape_residual(PwOp op, ColumnNumber number, Node* residual) const {
    if (number.operand >= 0 || residual->is_scaled) return false;
    if (op == PwOp::kMul) {
      residual->scale = number.constant;
      residual->is_scaled = true;
      return true;
    }
    if ((op != PwOp::kAdd && op != PwOp::kSub) || residual->shift != 0.0f) return false;
    residual->shift = op == PwOp::kSub ? -number.constant : number.constant;
    return true;
  }

  bool add_residual(PwOp op, const Node& residual, ByteEpilogue* to) {
    if (op != PwOp::kAdd || to->residual >= 0 || to->added.operand >= 0 || !begin_second(to)) return false;
    to->residual = residual.number.operand;
    to->end.residual_shift = residual.shift;
    to->end.residual_scale = residual.scale;
    return true;
  }

  // Levels, whose sums and differences are exact: kernels bound what they round.
  static bool is_integer_bound(float x) { return nearbyintf(x) == x && x > -0x1p20f && x < 0x1p20f; }

  const LevelFunction* function_with(int instruction) const {
    for (int f = 0; f < count_; ++f) {
      if (functions_[f].inside[instruction]) return &functions_[f];
    }
    return nullptr;
  }

  // The levels so far are a table's indices from now on.
  bool begin_table(int index, ByteEpilogue* to) {
    const int which = to->end.twice ? 1 : 0;
    const LevelFunction& function = functions_[index];
    ByteActivation& f = which == 0 ? to->end.first : to->end.second;
    if (stage_ != Stage::kMost || to->tables[which] >= 0) return false;
    f.zero -= function.base;
    f.least -= function.base;
    f.most -= function.base;
    to->tables[which] = index;
    to->end.table_types[which] = function.type;
    return f.least >= 0 && f.most < kByteTable && f.least <= f.most;
  }

  bool begin_second(ByteEpilogue* to) {
    if (to->end.twice) return false;
    to->end.twice = true;
    stage_ = Stage::kAfter;
    return true;
  }

  bool take(PwOp op, ColumnNumber number, ByteEpilogue* to) {
    const bool is_constant = number.operand < 0;
    const float constant = op == PwOp::kSub ? -number.constant : number.constant;
    // What follows rounded numbers that were scaled is the second activation's.
    const bool is_bound = op == PwOp::kMax || op == PwOp::kMin || op == PwOp::kRoundEven;
    if (is_bound && stage_ >= Stage::kShift && !begin_second(to)) return false;
    ByteActivation& f = to->end.twice ? to->end.second : to->end.first;
    switch (op) {
      case PwOp::kSub:
      case PwOp::kAdd:
        if (op == PwOp::kSub && !is_constant) return false;
        if (stage_ >= Stage::kFunction && stage_ < Stage::kLow) {
          number.constant = constant;
          to->offset = number;
          return advance(Stage::kOffset);
        }
        if (stage_ == Stage::kRounded) {
          f.zero = constant;
          return is_constant && is_integer_bound(constant) && advance(Stage::kZero);
        }
        if (stage_ > Stage::kRounded && !is_constant) {
          if (to->residual >= 0 || !begin_second(to)) return false;
          to->added = number;
          return true;
        }
        if (stage_ > Stage::kRounded) {
          f.shift = constant;
          return is_constant && advance(Stage::kShift);
        }
        number.constant = constant;
        (stage_ == Stage::kSum ? to->before : to->after) = number;
        return advance(stage_ == Stage::kSum ? Stage::kBefore : Stage::kAfter);
      case PwOp::kMul:
        if (stage_ >= Stage::kRounded) {
          f.rescale = constant;
          return is_constant && advance(Stage::kRescale);
        }
        if (stage_ >= Stage::kFunction) {
          to->factor = number;
          return advance(Stage::kFactor);
        }
        to->scale = number;
        return advance(Stage::kScale);
      case PwOp::kMax:
        (stage_ < Stage::kRounded ? f.low : f.least) = constant;
        if (stage_ >= Stage::kRounded && !is_integer_bound(constant)) return false;
        return is_constant && constant == constant && advance(stage_ < Stage::kRounded ? Stage::kLow : Stage::kLeast);
      case PwOp::kMin:
        (stage_ < Stage::kRounded ? f.high : f.most) = constant;
        if (stage_ >= Stage::kRounded && !is_integer_bound(constant)) return false;
        return is_constant && constant == constant && advance(stage_ < Stage::kRounded ? Stage::kHigh : Stage::kMost);
      case PwOp::kRoundEven: f.rounds = true; return advance(Stage::kRounded);
      default: return false;
    }
  }

  // Whether the result is what the output can hold.
  bool fits(ByteEpilogue* epilogue) const {
    const ByteEnd& end = epilogue->end;
    const ByteActivation& f = end.twice ? end.second : end.first;
    const bool is_level = stage_ < Stage::kShift && f.rounds && f.least <= f.most;
    const int last = end.twice ? 1 : 0;
    if (epilogue->tables[last] >= 0) {
      const DType type = args_.outputs[0].dtype;
      return (type == DType::kF32 && last == 0) || (is_level && type == end.table_types[last]);
    }
    switch (args_.outputs[0].dtype) {
      case DType::kF32: return true;
      case DType::kU8: return is_level && f.least >= 0.0f && f.most <= 255.0f;
      case DType::kI8: return is_level && f.least >= -128.0f && f.most <= 127.0f;
      default: return false;
    }
  }

  const KernelArgs& args_;
  const ByteRole* roles_;
  const LevelFunction* functions_;
  const int count_;
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

ByteEpilogue match_bytes(const KernelArgs& args, const ByteRole* roles) {
  if (is_raw(args)) return {};
  ByteEpilogue epilogue;
  epilogue.kind = ByteEpilogue::Kind::kStraight;
  if (args.program_size == 0 || Chain(args, roles, nullptr, 0).match(&epilogue)) return epilogue;
  const LevelFunctions functions(args);
  for (int count = functions.count; count > 0; --count) {
    epilogue = {};
    epilogue.kind = ByteEpilogue::Kind::kStraight;
    if (Chain(args, roles, functions.list, count).match(&epilogue)) return epilogue;
  }
  epilogue = {};
  epilogue.kind = ByteEpilogue::Kind::kInterpreted;
  return epilogue;
}

size_t byte_table_size(const KernelArgs& args) {
  return is_raw(args) ? 0 : static_cast<size_t>(LevelFunctions(args).count) * kByteTable;
}

namespace {

void make_table(const KernelArgs& args, const LevelFunction& function, std::byte* to) {
  // The program behind the argument, which is its accumulator.
  PwInstr program[kMaxPwInstructions + 1];
  int count = 0;
  for (int i = 0; i <= function.to; ++i) {
    const PwInstr& instr = args.program[i];
    if (i == function.from) {
      program[count] = {};
      program[count].op = PwOp::kAcc;
      program[count++].dst = instr.dst;
    } else if (function.inside[i] || (instr.op == PwOp::kConst && instr.type == PwClass::kFloat)) {
      program[count++] = instr;
    }
  }
  program[count] = {};
  program[count].op = PwOp::kStore;
  program[count++].a = args.program[function.to].dst;
  float results[kByteTable];
  TensorView view;
  view.data = results;
  view.dtype = DType::kF32;
  view.rank = 1;
  view.dims[0] = kByteTable;
  view.strides[0] = 1;
  KernelArgs of_levels;
  of_levels.op = OpKind::kMatMul;
  of_levels.inputs = &view;  // of which the type counts
  of_levels.input_count = of_levels.core_inputs = 1;
  of_levels.outputs = &view;
  of_levels.output_count = 1;
  of_levels.program = program;
  of_levels.program_size = count;
  const reference::Program run(of_levels);
  for (int i = 0; i < kByteTable; ++i) {
    reference::Position position;
    position.at[0] = i;
    run.run(position, static_cast<double>(function.base + static_cast<float>(i)));
    // It is within the type's range, or for arguments that do not occur NaN.
    const float level = results[i] == results[i] ? results[i] : 0.0f;
    to[i] = static_cast<std::byte>(static_cast<int>(level));
  }
}

}  // namespace

void pack_byte_table(const KernelArgs& args, std::byte* to) {
  if (is_raw(args)) return;
  const LevelFunctions functions(args);
  for (int f = 0; f < functions.count; ++f) make_table(args, functions.list[f], to + f * kByteTable);
}

}  // namespace planwright::fast
