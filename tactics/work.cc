#include "tactics/work.h"

#include <algorithm>
#include <set>

namespace planwright::tactics {
namespace {

// Of a fast kernel on one core.
constexpr double kOperationsPerUs = 80e3, kElementsPerUs = 2e3;

double count_of(const TensorView& view) { return view.absent ? 0 : static_cast<double>(element_count(view)); }

double bytes_of(const TensorView& view) { return count_of(view) * static_cast<double>(size_of(view.dtype)); }

// Product of the dims from `axis` on.
double count_from(const TensorView& view, int axis) {
  double count = 1;
  for (; axis < view.rank; ++axis) count *= static_cast<double>(view.dims[axis]);
  return count;
}

template <typename T>
const T& params_of(const StepSpec& spec) {
  return *reinterpret_cast<const T*>(spec.params.data());
}

double core_work_of(const StepSpec& spec) {
  const double output = count_of(spec.outputs[0]);
  const auto input = [&](size_t i) -> const TensorView& { return spec.inputs[i].view; };
  switch (spec.op) {
    case OpKind::kMatMul:
    case OpKind::kBlockMatMul: return 2 * output * count_from(input(0), input(0).rank - 1);
    case OpKind::kConv: return 2 * output * count_from(input(1), 1);
    case OpKind::kConvTranspose: return 2 * count_of(input(0)) * count_from(input(1), 1);
    case OpKind::kAttention:
      return 2 * count_of(input(0)) * static_cast<double>(input(1).dims[2]) +
             2 * output * static_cast<double>(input(1).dims[2]);
    case OpKind::kPool: {
      const PoolParams& params = params_of<PoolParams>(spec);
      double window = 1;
      for (int axis = 0; axis < params.spatial; ++axis) window *= params.kernel[axis];
      return output * window;
    }
    case OpKind::kResize: return output * 16;
    case OpKind::kTreeEnsemble: return 16 * static_cast<double>(input(0).dims[0]) * count_of(input(1));
    case OpKind::kGridSample: return output * 16;
    case OpKind::kRoiAlign: return output * 64;
    case OpKind::kDeformConv: return 8 * output * count_from(input(1), 1);
    case OpKind::kDet: return count_of(input(0)) * static_cast<double>(input(0).dims[input(0).rank - 1]);
    case OpKind::kPairCoupling: return count_of(input(0)) * 64;
    case OpKind::kRandom: return output * 32;
    case OpKind::kLrn: return output * params_of<LrnParams>(spec).size;
    case OpKind::kTopK: return count_of(input(0)) * 16;
    case OpKind::kRnn:
      // At every time step, each row of the batch multiplies its state by all of R.
      return 2 * static_cast<double>(input(0).dims[0] * input(0).dims[1]) * count_of(input(1));
    default: return 0;
  }
}

double arithmetic_of(const StepSpec& spec) {
  return core_work_of(spec) + static_cast<double>(spec.program.size()) * count_of(spec.outputs[0]);
}

}  // namespace

double work_of(const StepSpec& spec) { return arithmetic_of(spec) + touched_by(spec); }

double touched_by(const StepSpec& spec) {
  double touched = 0;
  for (const Operand& operand : spec.inputs) touched += count_of(operand.view);
  for (const TensorView& output : spec.outputs) touched += count_of(output);
  return touched;
}

double fast_run_us(const StepSpec& spec) {
  return arithmetic_of(spec) / kOperationsPerUs + touched_by(spec) / kElementsPerUs;
}

double working_set_of(const std::vector<StepSpec>& specs) {
  std::set<const void*> counted;
  double constants = 0, most = 0;
  for (const StepSpec& spec : specs) {
    double computed = 0;
    for (const Operand& operand : spec.inputs) {
      if (operand.constant == nullptr) {
        computed += bytes_of(operand.view);
      } else if (counted.insert(operand.constant.get()).second) {
        constants += bytes_of(operand.view);
      }
    }
    for (const TensorView& output : spec.outputs) computed += bytes_of(output);
    most = std::max(most, computed);
  }
  return constants + most;
}

}  // namespace planwright::tactics
