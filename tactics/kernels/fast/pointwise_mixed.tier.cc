// Pointwise programs over fp32, integers and bools together: comparisons of tokens, masks, index arithmetic.
//
// Interpreted over strips as fp32 alone is. Registers hold 256 elements of their class, float or 64-bit integers; the
// loops over integers are plain C++ that the compiler vectorises for the tier, those over floats are run_strip's. What
// only loads and stores integers, as quantising does, is one program of floats.
#include "tactics/kernels/fast/byte_epilogue.h"
#include "tactics/kernels/fast/byte_strip.h"
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
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  const PointwisePlan plan = plan_pointwise(args, kStripLength);
  const bool in_floats = fast::computes_in_floats(args, is_strip_program);
  parallel_for(*args.executor, plan.tasks, [&](int64_t task, int worker) {
    const Registers registers(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    for_each_strip(plan, task, [&](const OuterPosition& at, int64_t start, int count) {
      if (in_floats) {
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
