// Pointwise programs over fp32, integers and bools together: comparisons of tokens, masks, index arithmetic.
//
// Interpreted over strips as fp32 alone is. Registers hold 256 elements of their class, float or 64-bit integers; the
// loops over integers are plain C++ that the compiler vectorises for the tier, those over floats are run_strip's. What
// only loads and stores integers, as quantising does, is one program of floats; short rows share a strip then, and a
// function of bytes whose results are bytes is a table that is made by one strip of all 256.
#include "tactics/kernels/fast/byte_epilogue.h"
#include "tactics/kernels/fast/byte_strip.h"
#include "tactics/kernels/fast/byte_tile.h"
#include "tactics/kernels/fast/pointwise_plan.h"
#include "tactics/kernels/fast/program_strip.h"
#include "tactics/kernels/tier.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr size_t kRegisterBytes = size_t{kStripLength} * sizeof(int64_t);
// Each instruction of class float runs as a program of its own.
constexpr size_t kFloatBytes = kStripRegisterBytes;

// Types whose elements are C++ numbers.
bool is_loaded_as(DType dtype, PwClass type) {
  return class_of(dtype) == type && (type == PwClass::kFloat ? dtype == DType::kF32 : !is_sub_byte_int(dtype));
}

bool is_known(const KernelArgs& args, const PwInstr& instr) {
  if (instr.type == PwClass::kDouble || (instr.op == PwOp::kConvert && instr.from == PwClass::kDouble)) return false;
  switch (instr.op) {
    case PwOp::kLoad: return is_loaded_as(args.inputs[instr.operand].dtype, instr.type);
    case PwOp::kStore: return is_loaded_as(args.outputs[instr.operand].dtype, instr.type);
    case PwOp::kConst:
    case PwOp::kConvert: return true;
    default: break;
  }
  if (instr.type == PwClass::kFloat) return is_strip_program(&instr, 1);
  if (instr.op == PwOp::kNarrow) {
    const DType dtype = static_cast<DType>(instr.operand);
    return dtype == DType::kBool || is_loaded_as(dtype, instr.type);
  }
  return instr.op != PwOp::kPow;
}

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  bool only_float = true;
  for (int i = 0; i < args.program_size; ++i) {
    const PwInstr& instr = args.program[i];
    only_float = only_float && instr.type == PwClass::kFloat;
    if (!is_known(args, instr)) return error(StatusCode::kUnsupported, "instruction %d is not vectorised", i);
  }
  if (only_float) return error(StatusCode::kUnsupported, "all is fp32: pointwise_f32 does it");
  return kOkStatus;
}

size_t scratch_size(const KernelArgs&) { return kMaxPwRegisters * kRegisterBytes + kFloatBytes; }

// The registers of one worker.
class Registers {
 public:
  explicit Registers(std::byte* memory) : memory_(memory) {}

  float* floats(int i) const { return reinterpret_cast<float*>(at(i)); }
  int64_t* ints(int i) const { return reinterpret_cast<int64_t*>(at(i)); }
  uint64_t* uints(int i) const { return reinterpret_cast<uint64_t*>(at(i)); }
  float* for_run_strip() const { return reinterpret_cast<float*>(at(kMaxPwRegisters)); }

 private:
  std::byte* at(int i) const { return memory_ + static_cast<size_t>(i) * kRegisterBytes; }
  std::byte* memory_;
};

void compute_float(const PwInstr& instr, const Registers& registers, int n) {
  const int reads = reads_of(instr.op);
  const int sources[] = {instr.a, instr.b, instr.c};
  PwInstr program[5];
  StripOperand operands[3];
  for (int i = 0; i < reads; ++i) {
    program[i].dst = program[i].operand = static_cast<uint8_t>(i);
    operands[i] = {registers.floats(sources[i]), 1};
  }
  program[reads] = instr;
  program[reads].a = 0;
  program[reads].b = 1;
  program[reads].c = 2;
  program[reads].dst = 3;
  program[reads + 1].op = PwOp::kStore;
  program[reads + 1].a = 3;
  const StripOutput output = {registers.floats(instr.dst), 1};
  run_strip(strip_program(program, reads + 2), operands, nullptr, &output, n, registers.for_run_strip());
}

void convert(const PwInstr& instr, const Registers& registers, int n) {
  const int a = instr.a, dst = instr.dst;
  const auto copy = [](auto x) { return x; };
  if (instr.from == PwClass::kFloat) {
    // In place, the wider results would overtake what is still to be read.
    float* from = registers.for_run_strip();
    map(registers.floats(a), from, n, copy);
    switch (instr.type) {
      case PwClass::kInt: return map(from, registers.ints(dst), n, saturated<int64_t>);
      case PwClass::kUint: return map(from, registers.uints(dst), n, saturated<uint64_t>);
      default: return map(from, registers.floats(dst), n, copy);
    }
  }
  if (instr.type != PwClass::kFloat) {
    return map(registers.uints(a), registers.uints(dst), n, copy);
  }
  if (instr.from == PwClass::kInt) {
    return map(registers.ints(a), registers.floats(dst), n, [](int64_t x) { return static_cast<float>(x); });
  }
  map(registers.uints(a), registers.floats(dst), n, [](uint64_t x) { return static_cast<float>(x); });
}

void compute(const PwInstr& instr, const Registers& registers, int n) {
  const int a = instr.a, b = instr.b, c = instr.c, dst = instr.dst;
  if (instr.op == PwOp::kConst) {
    if (instr.type == PwClass::kFloat) return fill(registers.floats(dst), n, static_cast<float>(instr.imm_f));
    return fill(registers.ints(dst), n, instr.imm_i);
  }
  if (instr.op == PwOp::kConvert) return convert(instr, registers, n);
  if (instr.type == PwClass::kFloat) return compute_float(instr, registers, n);
  if (instr.op == PwOp::kNarrow)
    return narrow(static_cast<DType>(instr.operand), registers.ints(a), registers.ints(dst), n);
  const bool is_signed = instr.type == PwClass::kInt;
  if (is_signed && compute_ordered(instr.op, registers.ints(a), registers.ints(b), registers.ints(dst), n)) return;
  if (!is_signed && compute_ordered(instr.op, registers.uints(a), registers.uints(b), registers.uints(dst), n)) return;
  compute_bits(instr.op, registers.uints(a), registers.uints(b), registers.uints(c), registers.uints(dst), n);
}

// As run_strip_at, of what computes_in_floats.
void run_floats_at(const KernelArgs& args, const PointwisePlan& plan, const OuterPosition& at, int64_t start, int count,
                   const Registers& registers) {
  const int inner = plan.nest.rank - 1;
  const auto stride_of = [&](int view) { return plan.nest.strides[view][inner]; };
  const auto address = [&](const TensorView& view, int index) {
    const int64_t offset = at.offset(index) + start * stride_of(index);
    return view.as<std::byte>() + offset * static_cast<int64_t>(size_of(view.dtype));
  };
  static_assert(kMaxPwOperands + kMaxPwOutputs <= kMaxPwRegisters);
  StripOperand operands[kMaxPwOperands];
  for (int i = 0; i < args.input_count; ++i) {
    const int index = args.output_count + i;
    const std::byte* from = address(args.inputs[i], index);
    const int64_t stride = stride_of(index);
    operands[i] = {reinterpret_cast<const float*>(from), stride};
    if (args.inputs[i].dtype == DType::kF32) continue;
    widen_strip(args.inputs[i].dtype, from, stride, stride == 0 ? 1 : count, registers.floats(i));
    operands[i] = {registers.floats(i), stride == 0 ? 0 : 1};
  }
  StripOutput outputs[kMaxPwOutputs];
  for (int i = 0; i < args.output_count; ++i) {
    const bool is_float = args.outputs[i].dtype == DType::kF32;
    outputs[i] = {
        is_float ? reinterpret_cast<float*>(address(args.outputs[i], i)) : registers.floats(kMaxPwOperands + i),
        is_float ? stride_of(i) : 1};
  }
  run_strip(strip_program(args.program, args.program_size), operands, nullptr, outputs, count,
            registers.for_run_strip());
  for (int i = 0; i < args.output_count; ++i) {
    if (args.outputs[i].dtype == DType::kF32) continue;
    narrow_strip(args.outputs[i].dtype, outputs[i].data, count, address(args.outputs[i], i), stride_of(i));
  }
}

// Whether a view is one number.
bool is_one(const LoopNest& nest, int view) {
  for (int axis = 0; axis < nest.rank; ++axis) {
    if (nest.strides[view][axis] != 0) return false;
  }
  return true;
}

// Rows that share a strip; 1: none do.
int rows_of_strip(const PointwisePlan& plan) {
  const int64_t pitch = (plan.nest.inner() + kVectorUnit - 1) / kVectorUnit * kVectorUnit;
  return plan.blocks > 1 || pitch > kStripLength / 2 ? 1 : static_cast<int>(kStripLength / pitch);
}

HWY_INLINE void copy_floats(const float* from, int64_t stride, int count, float* to) {
  if (stride == 1) {
    __builtin_memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  } else {
    for (int j = 0; j < count; ++j) to[j] = from[j * stride];
  }
}

// As run_floats_at, of short rows that are computed as one long one.
class RowRunner {
 public:
  RowRunner(const KernelArgs& args, const RowStrips& plan, const Registers& registers)
      : args_(args), plan_(plan), registers_(registers), program_(strip_program(args.program, args.program_size)) {}

  void run(int64_t task) {
    bool is_first = true;
    plan_.for_each(task, [&](const OuterPosition& at, int64_t first, int rows) {
      for (int i = 0; i < args_.input_count; ++i) {
        const auto kind = plan_.kinds[args_.output_count + i];
        if (kind == RowStrips::Kind::kRows) load_rows(i, at, first, rows);
        if (kind != RowStrips::Kind::kRows && is_first) load_run(i, at);
      }
      is_first = false;
      compute(at, first, rows);
    });
  }

 private:
  template <typename View>
  std::byte* address(const View& view, int index, const OuterPosition& at, int64_t first) const {
    const int64_t offset = at.offset(index) + first * plan_.stride(index);
    return view.template as<std::byte>() + offset * static_cast<int64_t>(size_of(view.dtype));
  }

  static void widen(const TensorView& view, const std::byte* from, int64_t count, float* to) {
    if (view.dtype != DType::kF32) return widen_strip(view.dtype, from, 1, count, to);
    __builtin_memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }

  void load_rows(int i, const OuterPosition& at, int64_t first, int rows) {
    const TensorView& view = args_.inputs[i];
    const int index = args_.output_count + i;
    const std::byte* from = address(view, index, at, first);
    operands_[i] = {registers_.floats(i), 1};
    if (plan_.is_dense(index)) {
      if (view.dtype == DType::kF32) operands_[i].data = reinterpret_cast<const float*>(from);
      if (view.dtype != DType::kF32) widen(view, from, rows * plan_.row, registers_.floats(i));
      return;
    }
    const int64_t step = plan_.stride(index) * static_cast<int64_t>(size_of(view.dtype));
    for (int r = 0; r < rows; ++r) widen(view, from + r * step, plan_.row, registers_.floats(i) + r * plan_.row);
  }

  void load_run(int i, const OuterPosition& at) {
    const int index = args_.output_count + i;
    const bool is_one = plan_.kinds[index] == RowStrips::Kind::kOne;
    const int64_t count = is_one ? 1 : plan_.row;
    float* to = registers_.floats(i);
    widen(args_.inputs[i], address(args_.inputs[i], index, at, 0), count, to);
    operands_[i] = {to, is_one ? 0 : 1};
    for (int64_t r = 1; r < (is_one ? 1 : plan_.strip); ++r) {
      __builtin_memcpy(to + r * plan_.row, to, static_cast<size_t>(plan_.row) * sizeof(float));
    }
  }

  void compute(const OuterPosition& at, int64_t first, int rows) {
    StripOutput outputs[kMaxPwOutputs];
    const auto is_in_place = [&](int i) { return args_.outputs[i].dtype == DType::kF32 && plan_.is_dense(i); };
    for (int i = 0; i < args_.output_count; ++i) {
      outputs[i] = {is_in_place(i) ? reinterpret_cast<float*>(address(args_.outputs[i], i, at, first))
                                   : registers_.floats(kMaxPwOperands + i),
                    1};
    }
    const auto count = static_cast<int>(rows * plan_.row);
    run_strip(program_, operands_, nullptr, outputs, count, registers_.for_run_strip());
    for (int i = 0; i < args_.output_count; ++i) {
      if (is_in_place(i)) continue;
      const TensorView& view = args_.outputs[i];
      std::byte* to = address(view, i, at, first);
      const int64_t length = plan_.is_dense(i) ? count : plan_.row;
      const int64_t step = plan_.stride(i) * static_cast<int64_t>(size_of(view.dtype));
      for (int64_t done = 0; done < count; done += length, to += step) {
        const float* from = outputs[i].data + done;
        if (view.dtype != DType::kF32) narrow_strip(view.dtype, from, length, to, 1);
        if (view.dtype == DType::kF32) __builtin_memcpy(to, from, static_cast<size_t>(length) * sizeof(float));
      }
    }
  }

  const KernelArgs& args_;
  const RowStrips& plan_;
  const Registers& registers_;
  const StripProgram program_;
  StripOperand operands_[kMaxPwOperands];
};

// The same of rows that lie otherwise.
void run_rows(const KernelArgs& args, const PointwisePlan& plan, const PointwisePlan::Range& range,
              const Registers& registers) {
  const LoopNest& nest = plan.nest;
  const int count = static_cast<int>(nest.inner());
  const int pitch = (count + kVectorUnit - 1) / kVectorUnit * kVectorUnit;
  const int most = rows_of_strip(plan), inner = nest.rank - 1;
  OuterPosition at(nest, range.first);
  for (int64_t first = range.first; first < range.last; first += most) {
    const int rows = static_cast<int>(range.last - first < most ? range.last - first : most);
    std::byte* results[kMaxPwOutputs][kStripLength / kVectorUnit];
    for (int r = 0; r < rows; ++r, at.next()) {
      const auto address = [&](const TensorView& view, int index) {
        return view.as<std::byte>() + at.offset(index) * static_cast<int64_t>(size_of(view.dtype));
      };
      for (int i = 0; i < args.output_count; ++i) results[i][r] = address(args.outputs[i], i);
      for (int i = 0; i < args.input_count; ++i) {
        const int index = args.output_count + i;
        const int64_t stride = nest.strides[index][inner];
        const std::byte* from = address(args.inputs[i], index);
        float* to = registers.floats(i) + r * pitch;
        if (args.inputs[i].dtype != DType::kF32) {
          widen_strip(args.inputs[i].dtype, from, stride, count, to);
        } else {
          copy_floats(reinterpret_cast<const float*>(from), stride, count, to);
        }
        for (int j = count; j < pitch; ++j) to[j] = 0.0f;
      }
    }
    StripOperand operands[kMaxPwOperands];
    for (int i = 0; i < args.input_count; ++i) {
      operands[i] = {registers.floats(i), is_one(nest, args.output_count + i) ? 0 : 1};
    }
    StripOutput outputs[kMaxPwOutputs];
    for (int i = 0; i < args.output_count; ++i) outputs[i] = {registers.floats(kMaxPwOperands + i), 1};
    run_strip(strip_program(args.program, args.program_size), operands, nullptr, outputs, rows * pitch,
              registers.for_run_strip());
    for (int i = 0; i < args.output_count; ++i) {
      const int64_t stride = nest.strides[i][inner];
      for (int r = 0; r < rows; ++r) {
        const float* from = outputs[i].data + r * pitch;
        if (args.outputs[i].dtype != DType::kF32) {
          narrow_strip(args.outputs[i].dtype, from, count, results[i][r], stride);
          continue;
        }
        auto* to = reinterpret_cast<float*>(results[i][r]);
        for (int j = 0; j < count; ++j) to[j * stride] = from[j];
      }
    }
  }
}

bool is_byte(DType type) { return type == DType::kU8 || type == DType::kI8; }

// The operand that a program computes bytes of alone, its elements next to each other as those of the result are; -1:
// there is none.
int operand_of_table(const KernelArgs& args, const PointwisePlan& plan) {
  const int inner = plan.nest.rank - 1;
  if (args.output_count != 1 || !is_byte(args.outputs[0].dtype) || plan.nest.strides[0][inner] != 1) return -1;
  int found = -1;
  for (int i = 0; i < args.input_count; ++i) {
    if (is_one(plan.nest, 1 + i)) continue;
    if (found >= 0 || !is_byte(args.inputs[i].dtype) || plan.nest.strides[1 + i][inner] != 1) return -1;
    found = i;
  }
  return found;
}

void make_table(const KernelArgs& args, int operand, const Registers& registers, uint8_t* table) {
  static_assert(kByteTable == kStripLength);
  StripOperand operands[kMaxPwOperands];
  for (int i = 0; i < args.input_count; ++i) {
    const TensorView& view = args.inputs[i];
    float* to = registers.floats(i);
    operands[i] = {to, i == operand ? 1 : 0};
    if (i != operand) {
      if (view.dtype == DType::kF32) *to = *view.as<const float>();
      if (view.dtype != DType::kF32) widen_strip(view.dtype, view.data, 0, 1, to);
      continue;
    }
    // As int8 the upper half is negative.
    for (int j = 0; j < kByteTable; ++j) to[j] = static_cast<float>(view.dtype == DType::kI8 && j > 127 ? j - 256 : j);
  }
  const StripOutput output = {registers.floats(kMaxPwOperands), 1};
  run_strip(strip_program(args.program, args.program_size), operands, nullptr, &output, kByteTable,
            registers.for_run_strip());
  narrow_strip(args.outputs[0].dtype, output.data, kByteTable, table, 1);
}

void run_strip_at(const KernelArgs& args, const PointwisePlan& plan, const OuterPosition& at, int64_t start, int count,
                  const Registers& registers) {
  const int inner = plan.nest.rank - 1;
  const int padded = (count + kVectorUnit - 1) / kVectorUnit * kVectorUnit;
  const auto offset = [&](int view) { return at.offset(view) + start * plan.nest.strides[view][inner]; };
  for (int i = 0; i < args.program_size; ++i) {
    const PwInstr& instr = args.program[i];
    if (instr.op == PwOp::kLoad) {
      const TensorView& view = args.inputs[instr.operand];
      const int index = args.output_count + instr.operand;
      const int64_t stride = plan.nest.strides[index][inner];
      if (instr.type == PwClass::kFloat) {
        load_strip(view.as<const float>() + offset(index), stride, count, registers.floats(instr.dst), padded);
      } else {
        load_integers(view.dtype, view.data, offset(index), stride, count, registers.ints(instr.dst), padded);
      }
    } else if (instr.op == PwOp::kStore) {
      const TensorView& view = args.outputs[instr.operand];
      const int64_t stride = plan.nest.strides[instr.operand][inner];
      if (instr.type == PwClass::kFloat) {
        store_strip(registers.floats(instr.a), count, view.as<float>() + offset(instr.operand), stride);
      } else {
        store_integers(view.dtype, registers.ints(instr.a), count, view.data, offset(instr.operand), stride);
      }
    } else {
      compute(instr, registers, padded);
    }
  }
}

Status run(const KernelArgs& args) {
  const int64_t elements = element_count(args.outputs[0]);
  if (elements == 0) return kOkStatus;
  const PointwisePlan plan = plan_pointwise(args, kStripLength);
  const bool in_floats = fast::computes_in_floats(args, is_strip_program);
  const int of_table = in_floats && elements > 2 * kByteTable ? operand_of_table(args, plan) : -1;
  if (RowStrips strips; in_floats && of_table < 0 && plan_row_strips(args, kStripLength, &strips)) {
    parallel_for(*args.executor, strips.tasks, [&](int64_t task, int worker) {
      const Registers registers(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
      RowRunner(args, strips, registers).run(task);
    });
    return kOkStatus;
  }
  uint8_t table[kByteTable];
  if (of_table >= 0) make_table(args, of_table, Registers(args.scratch), table);
  parallel_for(*args.executor, plan.tasks, [&](int64_t task, int worker) {
    const Registers registers(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    if (of_table < 0 && in_floats && rows_of_strip(plan) > 1) {
      return run_rows(args, plan, plan.range_of(task), registers);
    }
    for_each_strip(plan, task, [&](const OuterPosition& at, int64_t start, int count) {
      if (of_table >= 0) {
        byte_support.translate(table, args.inputs[of_table].as<const uint8_t>() + at.offset(1 + of_table) + start,
                               count, args.outputs[0].as<uint8_t>() + at.offset(0) + start);
      } else if (in_floats) {
        run_floats_at(args, plan, at, start, count, registers);
      } else {
        run_strip_at(args, plan, at, start, count, registers);
      }
    });
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "pointwise_mixed_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kPointwise,
    .isa = PW_TIER_ISA,
    .validate = validate,
    .scratch_size = scratch_size,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(pointwise_mixed)
