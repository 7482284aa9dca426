#include "apps/buildengine/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <planwright/planwright.hpp>
#include <utility>
#include <vector>

#include "apps/buildengine/drop.h"
#include "apps/buildengine/loose_engine.h"
#include "apps/common/inference.h"
#include "schemas/types/error.h"
#include "tactics/kernels/registry.h"

namespace planwright::apps {
namespace {

// Floats in [-2, 2): what networks are given mostly has a deviation of 1, and random inputs have 0.58.
void widen(Tensors& inputs) {
  for (auto& [name, tensor] : inputs) {
    if (tensor.dtype != DType::kF32) continue;
    for (size_t at = 0; at < tensor.data.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, &tensor.data[at], sizeof value);
      value *= 2;
      std::memcpy(&tensor.data[at], &value, sizeof value);
    }
  }
}

// Each profile's outputs, of random inputs at its opt.
std::vector<Tensors> run_profiles(const planfmt::PlanModel& plan) {
  const LooseEngine engine(plan);
  std::vector<Tensors> outputs;
  for (size_t profile = 0; profile < plan.programs.size(); ++profile) {
    RunShapes wanted;
    wanted.profile = static_cast<int>(profile);
    const RunShapes shapes = complete_shapes(*engine, wanted);
    Tensors inputs = random_inputs(*engine, shapes);
    widen(inputs);
    InferenceOptions options;
    options.profile = shapes.profile;
    BoundContext context(*engine, context_options(options), inputs);
    context.run();
    outputs.push_back(context.outputs());
  }
  return outputs;
}

// Of the profile and output that are furthest off.
Drop worst_drop(const std::vector<Tensors>& got, const std::vector<Tensors>& want) {
  Drop worst;
  for (size_t profile = 0; profile < want.size(); ++profile) {
    worst = worse(worst, drop_between(got[profile], want[profile]));
  }
  return worst;
}

// A build of first candidates: which they are matters little to what they compute.
builder::BuildOptions untimed(const AccuracyRequest& request) {
  builder::BuildOptions options = request.options;
  options.search.optimization_level = 0;
  options.search.explain = false;
  options.search.warn = nullptr;
  options.search.progress = nullptr;
  options.begin_search = nullptr;
  return options;
}

std::string words_for(const Drop& drop) { return fmt::format("{} is off by {:.2g}", drop.output, drop.value); }

class Keeper {
 public:
  explicit Keeper(const AccuracyRequest& request) : request_(request) {
    builder::BuildOptions exact = untimed(request_);
    exact.search.bf16 = false;
    want_ = run_profiles(builder::build(request_.import(), exact).plan);
  }

  Drop drop_of(const planfmt::PlanModel& plan) const { return worst_drop(run_profiles(plan), want_); }

  // How many of the first `count` contractions have to stay exact: found by halving, to within an eighth of them, in
  // engines whose every contraction that can multiplies in bf16.
  int exact_contractions(int count) const {
    int too_few = 0, enough = count;
    while (enough - too_few > std::max(1, count / 8)) {
      builder::BuildOptions options = untimed(request_);
      options.exact_contractions = (too_few + enough) / 2;
      const bool is_enough = drop_of(builder::build(request_.import(), options).plan).value <= request_.max_drop;
      (is_enough ? enough : too_few) = options.exact_contractions;
    }
    return enough;
  }

 private:
  const AccuracyRequest& request_;
  std::vector<Tensors> want_;
};

builder::BuildResult rebuild(const AccuracyRequest& request, int exact_contractions, int contractions) {
  builder::BuildOptions options = request.options;
  options.exact_contractions = exact_contractions;
  options.search.bf16 = exact_contractions < contractions || !options.pins.bf16.empty();
  return builder::build(request.import(), options);
}

}  // namespace

bool multiplies_in_bf16(const planfmt::PlanModel& plan) {
  return std::any_of(plan.kernels.begin(), plan.kernels.end(), [](const planfmt::KernelModel& used) {
    const KernelDescriptor* kernel = find_kernel(used.name.c_str());
    return kernel != nullptr && kernel->precision == Precision::kBf16;
  });
}

void report_rounding(const AccuracyRequest& request, const builder::BuildResult& built) try {
  builder::BuildOptions exact = untimed(request);
  exact.search.bf16 = false;
  exact.weight_only.reset();
  const Drop drop = worst_drop(run_profiles(built.plan), run_profiles(builder::build(request.import(), exact).plan));
  if (!drop.output.empty()) {
    request.say(fmt::format("rounded weights against fp32, on random inputs: {}", words_for(drop)));
  }
} catch (const pw::Failure& failure) {
  request.warn(
      fmt::format("what rounding the weights costs is not known, for random inputs do not run: {}", failure.what()));
}

builder::BuildResult keep_accuracy(const AccuracyRequest& request, builder::BuildResult built) try {
  const Keeper keeper(request);
  const auto note = [](const Drop& drop) { return fmt::format("bf16: on random inputs {}", words_for(drop)); };
  const Drop first = keeper.drop_of(built.plan);
  if (first.output.empty()) return built;
  if (first.value <= request.max_drop) {
    built.plan.note = note(first);
    request.say(fmt::format("bf16 against fp32, on random inputs: {}", words_for(first)));
    return built;
  }
  const int count = built.contractions;
  int exact = keeper.exact_contractions(count);
  builder::BuildResult mended = rebuild(request, exact, count);
  Drop drop = keeper.drop_of(mended.plan);
  if (exact < count && drop.value > request.max_drop) {
    exact = count;
    mended = rebuild(request, exact, count);
    drop = keeper.drop_of(mended.plan);
  }
  if (drop.value > request.max_drop && multiplies_in_bf16(mended.plan)) {
    const std::string text =
        fmt::format("with the layers pinned to bf16 alone {}, on random inputs, and --maxDrop allows {:g}",
                    words_for(drop), request.max_drop);
    if (request.obeys_pins) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("--precisionConstraints=obey: {}; pin fewer layers, or allow more", text));
    }
    request.warn(text + ": these pins are dropped");
    AccuracyRequest free = request;
    free.options.pins.bf16.clear();
    return keep_accuracy(free, std::move(built));
  }
  request.warn(
      fmt::format("in bf16 {}, on random inputs, and --maxDrop allows {:g}: {} of {} contractions stay in fp32, "
                  "which leaves {:.2g}",
                  words_for(first), request.max_drop, exact == count ? "all" : fmt::format("the first {}", exact),
                  count, drop.value));
  if (multiplies_in_bf16(mended.plan)) mended.plan.note = note(drop);
  return mended;
} catch (const pw::Failure& failure) {
  request.warn(fmt::format("how far bf16 is from fp32 is not known, for random inputs do not run: {}", failure.what()));
  return built;
}

}  // namespace planwright::apps
