// Pointwise programs over fp32 operands, whatever broadcasts.
//
// The views' axes are collapsed into as few as possible. A long inner axis is cut into strips; a short one (channels of
// an image, say) is taken with the axis outside it as a tile, so that the interpreter's start-up is paid once for up to
// 256 elements. The frequent small programs run as straight code.
#include <string.h>

#include "tactics/kernels/fast/pointwise_plan.h"
#include "tactics/kernels/fast/pointwise_straight_rows.h"
#include "tactics/kernels/fast/program_strip.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kLongAxis = 128;  // from here on strips of the inner axis alone
constexpr int kPitchUnit = 16;      // run_tile's
constexpr int kMaxTileRows = kStripLength / kPitchUnit;

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  for (int i = 0; i < args.input_count; ++i) {
    if (args.inputs[i].dtype != DType::kF32) return error(StatusCode::kUnsupported, "operand %d is not fp32", i);
  }
  for (int i = 0; i < args.output_count; ++i) {
    if (args.outputs[i].dtype != DType::kF32) return error(StatusCode::kUnsupported, "output %d is not fp32", i);
    if (!same_dims(args.outputs[i], args.outputs[0])) return error(StatusCode::kInvalid, "outputs differ in dims");
  }
  if (!is_strip_program(args.program, args.program_size)) {
    return error(StatusCode::kUnsupported, "an instruction is not of class float or not vectorised");
  }
  return kOkStatus;
}

size_t scratch_size(const KernelArgs&) { return kStripRegisterBytes; }

struct Job {
  const KernelArgs& args;
  StripProgram program;
  PointwisePlan plan;

  float* output(int i) const { return args.outputs[i].as<float>(); }
  const float* operand(int i) const { return args.inputs[i].as<const float>(); }
  int64_t inner_stride(int view) const { return plan.nest.strides[view][plan.nest.rank - 1]; }
};

// Elements of one row, a strip of them.
void run_strip_at(const Job& job, const OuterPosition& at, int64_t start, int count, float* registers) {
  const int outputs = job.args.output_count, operands = job.args.input_count;
  StripOutput to[kMaxPwOutputs];
  StripOperand from[kMaxPwOperands];
  for (int v = 0; v < outputs; ++v) {
    const int64_t stride = job.inner_stride(v);
    to[v] = {job.output(v) + at.offset(v) + start * stride, stride};
  }
  for (int v = 0; v < operands; ++v) {
    const int64_t stride = job.inner_stride(outputs + v);
    from[v] = {job.operand(v) + at.offset(outputs + v) + start * stride, stride};
  }
  run_strip(job.program, from, nullptr, to, count, registers);
}

// `count` rows of a short inner axis from row `first` on.
void run_tiles(const Job& job, int64_t first, int64_t count, float* registers) {
  const int outputs = job.args.output_count, operands = job.args.input_count;
  const int columns = static_cast<int>(job.plan.nest.inner());
  const int pitch = (columns + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
  float* to_rows[kMaxPwOutputs][kMaxTileRows];
  const float* from_rows[kMaxPwOperands][kMaxTileRows];
  StripOutput to[kMaxPwOutputs];
  StripOperand from[kMaxPwOperands];
  for (int v = 0; v < outputs; ++v) to[v] = {nullptr, job.inner_stride(v), to_rows[v], 0};
  for (int v = 0; v < operands; ++v) from[v] = {nullptr, job.inner_stride(outputs + v), from_rows[v], 0};
  OuterPosition at(job.plan.nest, first);
  while (count > 0) {
    const int most = kStripLength / pitch, rows = static_cast<int>(count < most ? count : most);
    for (int row = 0; row < rows; ++row, at.next()) {
      for (int v = 0; v < outputs; ++v) to_rows[v][row] = job.output(v) + at.offset(v);
      for (int v = 0; v < operands; ++v) from_rows[v][row] = job.operand(v) + at.offset(outputs + v);
    }
    run_tile(job.program, from, nullptr, to, {rows, columns, pitch}, registers);
    count -= rows;
  }
}

// The most elements of rows that are taken as one run.
constexpr int64_t kJoined = 1024;

// Whether rows of a short inner axis lie next to each other in every view, or are the same for all of the axis outside.
bool are_joined(const PointwisePlan& plan) {
  const LoopNest& nest = plan.nest;
  const int inner = nest.rank - 1, outer = inner - 1;
  if (outer < 0 || nest.inner() >= kLongAxis || nest.strides[0][outer] != nest.inner()) return false;
  for (int view = 1; view < nest.views; ++view) {
    const int64_t step = nest.strides[view][outer];
    if (step != 0 && (step != nest.inner() || nest.strides[view][inner] != 1)) return false;
  }
  return true;
}

// Rows [first, last) of a plan whose rows are joined. What is the same in each row (the scales of an image's channels)
// is repeated in L1: 8 channels of 1,152 pixels took 19 us row by row, each less than a vector.
void run_joined(const KernelArgs& args, const StraightProgram& program, StraightFunction function,
                const PointwisePlan& plan, int64_t first, int64_t last) {
  const LoopNest& nest = plan.nest;
  const int inner = nest.rank - 1, outer = inner - 1;
  const int64_t columns = nest.inner(), most = kJoined / columns < last - first ? kJoined / columns : last - first;
  alignas(64) float repeated[3][kJoined];
  const float* source[3] = {};
  while (first < last) {
    const int64_t left = nest.dims[outer] - first % nest.dims[outer], whole = left < last - first ? left : last - first;
    const int64_t rows = whole < most ? whole : most;
    const OuterPosition at(nest, first);
    StraightRun run = {{nullptr, nullptr, nullptr}, {false, false, false}, args.outputs[0].as<float>() + at.offset(0)};
    for (int i = 0; i < 3; ++i) {
      const int operand = program.operands[i];
      if (operand < 0) continue;
      run.from[i] = args.inputs[operand].as<const float>() + at.offset(1 + operand);
      run.splat[i] = nest.strides[1 + operand][inner] == 0;
      if (run.splat[i] || nest.strides[1 + operand][outer] != 0) continue;
      if (source[i] != run.from[i]) {
        source[i] = run.from[i];
        memcpy(repeated[i], source[i], static_cast<size_t>(columns) * sizeof(float));
        for (int64_t filled = columns, wanted = most * columns; filled < wanted;) {
          const int64_t count = filled < wanted - filled ? filled : wanted - filled;
          memcpy(repeated[i] + filled, repeated[i], static_cast<size_t>(count) * sizeof(float));
          filled += count;
        }
      }
      run.from[i] = repeated[i];
    }
    function(program, run, rows * columns);
    first += rows;
  }
}

// Runs the program as straight code if it is one and its operands are contiguous or one element along the innermost
// axis.
bool run_as_straight(const KernelArgs& args) {
  StraightProgram program;
  if (args.output_count != 1 || !match_straight_program(args.program, args.program_size, &program)) return false;
  const StraightFunction function = straight_function(program);
  if (function == nullptr) return false;
  const PointwisePlan plan = plan_pointwise(args, PointwisePlan::kUncut);
  const int inner = plan.nest.rank - 1;
  if (plan.nest.strides[0][inner] != 1) return false;
  for (int i = 0; i < args.input_count; ++i) {
    if (plan.nest.strides[1 + i][inner] > 1) return false;
  }
  const bool joined = are_joined(plan);
  parallel_for(*args.executor, plan.tasks, [&](int64_t task, int) {
    if (joined) {
      const PointwisePlan::Range range = plan.range_of(task);
      return run_joined(args, program, function, plan, range.first, range.last);
    }
    for_each_strip(plan, task, [&](const OuterPosition& at, int64_t start, int count) {
      StraightRun run = {{nullptr, nullptr, nullptr}, {false, false, false}, nullptr};
      run.to = args.outputs[0].as<float>() + at.offset(0) + start;
      for (int i = 0; i < 3; ++i) {
        const int operand = program.operands[i];
        if (operand < 0) continue;
        const int64_t stride = plan.nest.strides[1 + operand][inner];
        run.splat[i] = stride == 0;
        run.from[i] = args.inputs[operand].as<const float>() + at.offset(1 + operand) + start * stride;
      }
      function(program, run, count);
    });
  });
  return true;
}

Status run(const KernelArgs& args) {
  if (element_count(args.outputs[0]) == 0 || run_as_straight(args)) return kOkStatus;
  const Job job{args, strip_program(args.program, args.program_size), plan_pointwise(args, kStripLength)};
  const bool strips = job.plan.nest.inner() >= kLongAxis || job.plan.nest.outer_count() == 1;
  parallel_for(*args.executor, job.plan.tasks, [&](int64_t task, int worker) {
    float* registers = reinterpret_cast<float*>(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    if (strips) {
      for_each_strip(job.plan, task, [&](const OuterPosition& at, int64_t start, int count) {
        run_strip_at(job, at, start, count, registers);
      });
    } else {
      const PointwisePlan::Range range = job.plan.range_of(task);
      run_tiles(job, range.first, range.last - range.first, registers);
    }
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "pointwise_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kPointwise,
    .isa = PW_TIER_ISA,
    .validate = validate,
    .scratch_size = scratch_size,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(pointwise_f32)
