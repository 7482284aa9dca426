#include "tactics/kernels/fast/rnn_plan.h"

#include "schemas/types/checked.h"
#include "tactics/kernels/registry.h"

namespace planwright::fast {
namespace {

// Packed weights that a group of units reads at each step: a fraction of the smallest L2 there is with each tier's
// registers, where they stay from step to step.
constexpr int64_t kGroupBytes = 256 * 1024;
// More tasks than this hardly keep more cores busy.
constexpr int64_t kEnoughTasks = 8;
constexpr int64_t kMostGroups = 64;

int64_t ceil_div(int64_t a, int64_t b) { return a == 0 ? 0 : (a - 1) / b + 1; }
int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// The most sequences for which a tier has micro kernels with all of these numbers of vectors.
int tile_rows_of(const GemmTier& gemm, const RnnPlan& plan, int vectors_per_gate) {
  for (int rows = kMaxTileRows; rows > 1; --rows) {
    bool all = true;
    for (int panel = 0; panel < plan.panels; ++panel) {
      const int vectors = (plan.first_gate[panel + 1] - plan.first_gate[panel]) * vectors_per_gate;
      all = all && gemm.kernels[rows][vectors] != nullptr;
    }
    if (all) return rows;
  }
  return 1;
}

bool has_contiguous_rows(const TensorView& view) {
  return view.dims[view.rank - 1] <= 1 || view.strides[view.rank - 1] == 1;
}

}  // namespace

const TensorView* rnn_input(const KernelArgs& args, int index) {
  return index < args.core_inputs && !args.inputs[index].absent ? &args.inputs[index] : nullptr;
}
const TensorView* rnn_output(const KernelArgs& args, int index) {
  return index < args.output_count && !args.outputs[index].absent ? &args.outputs[index] : nullptr;
}

RnnPlan rnn_plan(const KernelArgs& args, const RnnTier& tier) {
  const auto& params = args.params_as<RnnParams>();
  const TensorView& gates = args.inputs[kGates];
  const int time_axis = params.batch_first != 0 ? 1 : 0;
  RnnPlan plan = {};
  plan.directions = params.directions;
  plan.times = gates.dims[time_axis];
  plan.batch = gates.dims[1 - time_axis];
  plan.hidden = params.hidden;
  plan.two_phases = params.kind == RnnKind::kGru && params.linear_before_reset == 0;
  // Two vectors of the plain cell's one gate, so that fewer of the loads are of the state.
  int vectors_per_gate = 1;
  switch (params.kind) {
    case RnnKind::kRnn:
      plan.gates = 1;
      vectors_per_gate = 2;
      break;
    case RnnKind::kGru: plan.gates = 3; break;
    case RnnKind::kLstm: plan.gates = 4; break;
  }
  const bool halves = plan.two_phases || tier.gemm->kernels[1][plan.gates] == nullptr;
  plan.panels = halves ? 2 : 1;
  plan.first_gate[1] = halves ? 2 : plan.gates;
  plan.first_gate[plan.panels] = plan.gates;
  plan.block_units = vectors_per_gate * tier.gemm->lanes;
  plan.blocks = ceil_div(plan.hidden, plan.block_units);
  plan.tile_rows = tile_rows_of(*tier.gemm, plan, vectors_per_gate);
  return plan;
}

RnnSplit split_rnn(const RnnPlan& plan, const TacticParams& tactic) {
  RnnSplit split;
  split.row_groups = tactic.v[1] > 0 ? smaller(tactic.v[1], plan.batch) : ceil_div(plan.batch, plan.tile_rows);
  const int64_t tasks = plan.directions * split.row_groups;
  const int64_t bytes = plan.packed_floats() * static_cast<int64_t>(sizeof(float));
  int64_t wanted = tasks == 0 ? 1 : smaller(ceil_div(bytes, kGroupBytes), ceil_div(kEnoughTasks, tasks));
  if (tactic.v[0] > 0) wanted = tactic.v[0];
  split.unit_groups = smaller(wanted, plan.blocks);
  return split;
}

int64_t part_begin(int64_t count, int64_t parts, int64_t index) {
  const int64_t least = count / parts, more = count % parts;
  return index * least + smaller(index, more);
}

Status validate_rnn(const KernelArgs& args, const RnnTier& tier) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kRnn).validate(args));
  const auto& params = args.params_as<RnnParams>();
  for (int i = 0; i < args.core_inputs; ++i) {
    const TensorView& view = args.inputs[i];
    if (view.absent || i == kLengths) continue;
    if (view.dtype != DType::kF32) {
      return error(StatusCode::kUnsupported, "input %d is %s, the kernel reads fp32", i, name_of(view.dtype));
    }
    if ((i == kGates || i == kBias || i == kPeephole) && !has_contiguous_rows(view)) {
      return error(StatusCode::kUnsupported, "the rows of input %d are not contiguous", i);
    }
  }
  for (int i = 0; i < args.output_count; ++i) {
    const TensorView& view = args.outputs[i];
    if (view.absent) continue;
    if (view.dtype != DType::kF32) {
      return error(StatusCode::kUnsupported, "output %d is %s, the kernel writes fp32", i, name_of(view.dtype));
    }
    if (i == kY && !has_contiguous_rows(view)) {
      return error(StatusCode::kUnsupported, "the output's rows are not contiguous");
    }
  }
  if (params.kind != RnnKind::kLstm && rnn_output(args, kLastC) != nullptr) {
    return error(StatusCode::kUnsupported, "a last cell of a kind that has none");
  }
  if (args.tactic.v[0] < 0 || args.tactic.v[1] < 0) {
    return error(StatusCode::kInvalid, "tactic of %d groups of units, %d of sequences", args.tactic.v[0],
                 args.tactic.v[1]);
  }
  // Below 2^34 with padding and all gates, so that no partial product overflows.
  const RnnPlan plan = rnn_plan(args, tier);
  int64_t packed, memory, sequences;
  if (!checked_mul(plan.hidden, plan.padded_units() * plan.gates, &packed) ||
      !checked_mul<int64_t>(packed, plan.directions * sizeof(float), &packed) ||
      !checked_mul(plan.batch, plan.directions, &sequences) ||
      !checked_mul(sequences, plan.padded_units() * kMaxGates * static_cast<int64_t>(sizeof(float)), &memory) ||
      !checked_add<int64_t>(memory, plan.batch * static_cast<int64_t>(sizeof(int64_t)) + 64, &memory)) {
    return error(StatusCode::kInvalid, "the packed weights or the states are larger than memory can be");
  }
  return kOkStatus;
}

size_t rnn_packed_size(const KernelArgs& args, const RnnTier& tier) {
  const RnnPlan plan = rnn_plan(args, tier);
  return static_cast<size_t>(plan.directions * plan.packed_floats()) * sizeof(float);
}

size_t rnn_workspace_size(const KernelArgs& args, const RnnTier& tier) {
  const RnnPlan plan = rnn_plan(args, tier);
  const int rows = plan.rows(args.params_as<RnnParams>().kind);
  return plan.lengths_bytes() +
         static_cast<size_t>(plan.directions * plan.batch * rows * plan.padded_units()) * sizeof(float);
}

size_t rnn_scratch_size(const KernelArgs& args, const RnnTier& tier) {
  const RnnPlan plan = rnn_plan(args, tier);
  return static_cast<size_t>(plan.tile_rows * plan.gates * plan.block_units) * sizeof(float);
}

Status pack_rnn(const KernelArgs& args, const RnnTier& tier, std::byte* destination) {
  const RnnPlan plan = rnn_plan(args, tier);
  const TensorView& r = args.inputs[kR];
  auto* to = reinterpret_cast<float*>(destination);
  for (int64_t direction = 0; direction < plan.directions; ++direction) {
    const float* from = r.as<const float>() + direction * r.strides[0];
    for (int64_t block = 0; block < plan.blocks; ++block) {
      for (int panel = 0; panel < plan.panels; ++panel) {
        for (int64_t k = 0; k < plan.hidden; ++k) {
          for (int gate = plan.first_gate[panel]; gate < plan.first_gate[panel + 1]; ++gate) {
            for (int i = 0; i < plan.block_units; ++i) {
              const int64_t unit = block * plan.block_units + i;
              *to++ = unit < plan.hidden ? from[(gate * plan.hidden + unit) * r.strides[1] + k * r.strides[2]] : 0.0f;
            }
          }
        }
      }
    }
  }
  return kOkStatus;
}

int rnn_tactics(const KernelArgs& args, const RnnTier& tier, TacticParams* list, int capacity) {
  const RnnPlan plan = rnn_plan(args, tier);
  const RnnSplit guess = split_rnn(plan, {});
  int count = 0;
  if (count < capacity) list[count++] = {};
  for (int64_t groups = 1; groups <= smaller(plan.blocks, kMostGroups); groups *= 2) {
    if (groups != guess.unit_groups && count < capacity) list[count++] = {{static_cast<int32_t>(groups)}};
  }
  // Each sequence a task of its own.
  if (plan.batch > guess.row_groups && plan.batch <= kMostGroups && count < capacity) {
    list[count++] = {{1, static_cast<int32_t>(plan.batch)}};
  }
  return count;
}

}  // namespace planwright::fast
