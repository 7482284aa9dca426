#include <fmt/format.h>

#include <algorithm>

#include "schemas/types/checked.h"
#include "schemas/types/error.h"
#include "tactics/kernels/custom.h"
#include "tactics/kernels/registry.h"
#include "tactics/select.h"
#include "tactics/tactic_memory.h"

namespace planwright::tactics {
namespace {

// Parameter sets a kernel may offer at each optimisation level. At the default level eight of each leave most
// steps some twenty candidates, a 3x3 convolution some fifty; the race (race.cc) drops most of them after a run or two.
constexpr int kTacticsPerKernel[] = {1, 1, 4, 8, 16, 64};
constexpr int kMaxTacticsPerKernel = 64;
// How many tiers below the best one that can run a step are tried besides it. AVX2 beats AVX-512 now and then (short
// rows, a lower clock); vectors of a quarter of the length never do.
constexpr int kLowerTiers[] = {kIsaCount, 0, 1, 1, kIsaCount, kIsaCount};

int by_level(const int (&table)[6], int optimization_level) { return table[std::clamp(optimization_level, 0, 5)]; }

bool is_excluded(const char* kernel, const std::vector<std::string>& sources) {
  return std::find(sources.begin(), sources.end(), tactic_source(kernel)) != sources.end();
}

// The first packed input that is no constant, so that it cannot be packed; -1 if all can.
int unpackable_input(const KernelDescriptor& kernel, const StepSpec& spec) {
  for (size_t i = 0; i < spec.inputs.size() && i < 32; ++i) {
    const Operand& operand = spec.inputs[i];
    if ((kernel.packed_inputs >> i & 1) != 0 && !operand.view.absent && operand.constant == nullptr) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Why `kernel` with `tactic` cannot run the step at the dims of `spec`; empty when it can.
std::string refusal_at(const KernelDescriptor& kernel, const TacticParams& tactic, const StepSpec& spec,
                       const SearchOptions& options) {
  std::vector<TensorView> views;
  const KernelArgs args = args_of(spec, tactic, &views);
  if (!kernel.validate(args).ok()) return last_error();
  const uint64_t needed = memory_needed(kernel, args, options.threads);
  if (needed > options.workspace_limit) {
    return fmt::format("needs {} bytes of workspace, {} are allowed (--memPoolSize=workspace)", needed,
                       options.workspace_limit);
  }
  return "";
}

std::string refusal_anywhere(const KernelDescriptor& kernel, const TacticParams& tactic, const StepSpec& spec,
                             const std::vector<const StepSpec*>& corners, const SearchOptions& options) {
  std::string reason = refusal_at(kernel, tactic, spec, options);
  for (size_t i = 0; i < corners.size() && reason.empty(); ++i) {
    reason = refusal_at(kernel, tactic, *corners[i], options);
  }
  return reason;
}

class CandidateList {
 public:
  CandidateList(const StepSpec& spec, const std::vector<const StepSpec*>& corners, const SearchOptions& options,
                std::vector<Refusal>* refusals)
      : spec_(spec), corners_(corners), options_(options), refusals_(refusals) {}

  void consider(const KernelDescriptor& kernel) {
    if (kernel.isa > options_.isa) {
      return refuse(kernel, fmt::format("needs {}; --isa allows {}", name_of(kernel.isa), name_of(options_.isa)));
    }
    if (is_excluded(kernel.name, options_.excluded_sources)) return refuse(kernel, "excluded by --tacticSources");
    if (const int input = unpackable_input(kernel, spec_); input >= 0) {
      return refuse(kernel, fmt::format("wants input {} packed, which is not a constant", input));
    }
    // The default must hold: a tactic's parameters refine it.
    if (std::string reason = refusal_anywhere(kernel, {}, spec_, corners_, options_); !reason.empty()) {
      return refuse(kernel, std::move(reason));
    }
    if (kernel.precision == Precision::kBf16 && !options_.bf16) {
      return refuse(kernel, "computes in bf16; --bf16 allows it");
    }
    if (kernel.precision == Precision::kBf16 && spec_.full_precision) {
      return refuse(
          kernel, "computes in bf16, and the layer stays in fp32: a logarithm follows, or --maxDrop or a pin says so");
    }
    for (const TacticParams& tactic : tactics_of(kernel)) {
      if (std::string reason = refusal_anywhere(kernel, tactic, spec_, corners_, options_); reason.empty()) {
        list_.push_back({&kernel, tactic});
      } else {
        refuse(kernel, "with other parameters: " + std::move(reason));
      }
    }
  }

  // Leaves out tiers that cannot win against others of their precision. Kernels without vectors (kReference) are no
  // such tier: theirs is not the CPU's arithmetic but moving memory, or being the last resort.
  void drop_low_tiers() {
    int best[kPrecisionCount] = {};
    for (const Candidate& candidate : list_) {
      int& of_precision = best[static_cast<int>(candidate.kernel->precision)];
      of_precision = std::max(of_precision, static_cast<int>(candidate.kernel->isa));
    }
    const int tiers = by_level(kLowerTiers, options_.optimization_level);
    const KernelDescriptor* last = nullptr;
    std::erase_if(list_, [&](const Candidate& candidate) {
      const KernelDescriptor& kernel = *candidate.kernel;
      if (kernel.isa == Isa::kReference ||
          static_cast<int>(kernel.isa) >= best[static_cast<int>(kernel.precision)] - tiers)
        return false;
      if (&kernel != last) refuse(kernel, "of a lower instruction set; tried from --builderOptimizationLevel=4 on");
      last = &kernel;
      return true;
    });
  }

  // Where there are any in bf16.
  void drop_others_than_bf16(const KernelDescriptor& reference) {
    const auto is_bf16 = [](const Candidate& candidate) { return candidate.kernel->precision == Precision::kBf16; };
    if (std::none_of(list_.begin(), list_.end(), is_bf16)) return;
    const KernelDescriptor* last = nullptr;
    std::erase_if(list_, [&](const Candidate& candidate) {
      if (is_bf16(candidate) || candidate.kernel == &reference) return false;
      if (candidate.kernel != last) refuse(*candidate.kernel, "does not compute in bf16, to which the layer is pinned");
      last = candidate.kernel;
      return true;
    });
  }

  std::vector<Candidate> take() { return std::move(list_); }

 private:
  std::vector<TacticParams> tactics_of(const KernelDescriptor& kernel) {
    TacticParams list[kMaxTacticsPerKernel];
    int count = 0;
    if (kernel.tactics != nullptr) {
      std::vector<TensorView> views;
      count = kernel.tactics(args_of(spec_, {}, &views), list, kMaxTacticsPerKernel);
    }
    if (count == 0) return {TacticParams{}};
    const int most = by_level(kTacticsPerKernel, options_.optimization_level);
    if (count > most) refuse(kernel, "with more parameters: tried at a higher --builderOptimizationLevel");
    return {list, list + std::min(count, most)};
  }

  void refuse(const KernelDescriptor& kernel, std::string reason) {
    if (refusals_ != nullptr) refusals_->push_back({&kernel, std::move(reason)});
  }

  const StepSpec& spec_;
  const std::vector<const StepSpec*>& corners_;
  const SearchOptions& options_;
  std::vector<Refusal>* refusals_;
  std::vector<Candidate> list_;
};

}  // namespace

std::string tactic_source(const std::string& kernel) {
  const size_t type = std::min({kernel.find("_f32"), kernel.find("_bf16"), kernel.find("_s8")});
  return kernel.substr(0, type == std::string::npos ? kernel.find('_') : type);
}

std::vector<Candidate> candidates(const StepSpec& spec, const std::vector<const StepSpec*>& corners,
                                  const SearchOptions& options, std::vector<Refusal>* refusals) {
  CandidateList list(spec, corners, options, refusals);
  if (spec.custom != nullptr) {
    list.consider(spec.custom->kernel);
    return list.take();
  }
  int count = 0;
  const KernelTable* const* tables = kernel_tables(&count);
  const KernelDescriptor& reference = reference_kernel(spec.op);
  for (int table = 0; table < count; ++table) {
    for (int i = 0; i < tables[table]->count; ++i) {
      const KernelDescriptor& kernel = tables[table]->kernels[i];
      if (kernel.op == spec.op && &kernel != &reference) list.consider(kernel);
    }
  }
  list.consider(reference);
  list.drop_low_tiers();
  if (spec.only_bf16) list.drop_others_than_bf16(reference);
  return list.take();
}

}  // namespace planwright::tactics
