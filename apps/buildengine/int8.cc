#include "apps/buildengine/int8.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "apps/buildengine/calibrate.h"
#include "apps/buildengine/held_out.h"
#include "apps/buildengine/layer_info.h"
#include "apps/buildengine/temporary_cache.h"
#include "apps/common/interrupt.h"
#include "builder/onnx/import.h"
#include "calibrator/level_policy.h"
#include "calibrator/tensorrt_cache.h"
#include "planfmt/lifetimes.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

using builder::BuildOptions;
using builder::BuildResult;
using calibrator::LevelPolicy;
using Clock = std::chrono::steady_clock;
using LayerNames = std::set<std::string>;

constexpr uint64_t kMostHeldOut = 32;
// What another assignment must be faster by, of the whole engine: less may be noise, and builds would not repeat.
constexpr double kWorthChanging = 0.998;
// And int8 than floats.
constexpr double kWorthInt8 = 0.98;
// For trying assignments, where the user gave no --budget.
constexpr double kDefaultSeconds = 60;

// As its steps were timed one by one; conversions between precisions are steps of their own.
double time_of(const planfmt::PlanModel& plan) {
  double sum = 0;
  for (const planfmt::ProgramModel& program : plan.programs) {
    for (const planfmt::StepModel* step : sequence_of(program).steps) sum += static_cast<double>(step->time_us);
  }
  return sum;
}

// Whether the model's own quantisation has layers multiply bytes.
bool is_quantised(const planfmt::PlanModel& plan) {
  for (const planfmt::ProgramModel& program : plan.programs) {
    for (const planfmt::StepModel* step : sequence_of(program).steps) {
      if (multiplies_bytes(program, *step)) return true;
    }
  }
  return false;
}

std::vector<std::string> names_of(const std::vector<ir::QuantisableLayer>& layers) {
  std::vector<std::string> names;
  for (const ir::QuantisableLayer& layer : layers) names.push_back(layer.name);
  return names;
}

class Int8Builder {
 public:
  explicit Int8Builder(const Int8Request& request)
      : request_(request),
        options_(request.options),
        graph_(builder::prepare(builder::import_model(request.model, options_.profiles), options_)),
        tensorrt_(calibrator::read_tensorrt_cache(request.int8.calib)),
        cache_(tensorrt_ ? "" : request.int8.calib, request.warn),
        start_(Clock::now()) {
    if (options_.search.timing_cache_path.empty()) {
      own_cache_ = std::make_unique<TemporaryCache>();
      options_.search.timing_cache_path = own_cache_->path();
    }
  }

  Int8Result build() {
    BuildResult exact = untimed(nullptr, /*expose=*/true);
    if (exact.quantisable.empty()) return in_floats("no layer of the model could be int8");
    if (!request_.int8.perf_only) {
      if (!calibrate(exact)) return in_floats("the model's own quantisation is kept");
      find_pinned(exact);
      choose_levels();
    } else {
      layers_ = exact.quantisable;
      find_pinned(exact);
      policy_ = std::make_unique<LevelPolicy>(layers_);
    }
    choose_by_time();
    if (held_out_ && choose_by_accuracy()) leave_where_faster();
    return finish();
  }

 private:
  // A build of first candidates: which they are matters little to what they compute.
  BuildResult untimed(const ir::PrecisionPolicy* policy, bool expose = false) const {
    BuildOptions options = quiet_options();
    options.search.optimization_level = 0;
    options.search.bf16 = false;
    options.precisions = policy;
    options.expose_activations = expose;
    return builder::build_prepared(graph_.copy(), options);
  }

  BuildOptions quiet_options() const {
    BuildOptions options = options_;
    options.search.explain = false;
    options.search.warn = nullptr;
    options.search.progress = nullptr;
    options.begin_search = nullptr;
    return options;
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_out_of_time() const {
    const double budget = options_.search.budget_seconds;
    return seconds() > (std::isfinite(budget) ? budget : kDefaultSeconds);
  }

  // ---- Calibration

  // Fills in layers_, those that there are levels for, and held_out_. False where the model needs none, for it says
  // itself what is quantised.
  bool calibrate(BuildResult& exact) {
    const Int8Options& int8 = request_.int8;
    const bool is_known = std::all_of(exact.quantisable.begin(), exact.quantisable.end(),
                                      [&](const ir::QuantisableLayer& layer) { return knows(layer); });
    if (tensorrt_) warn_of_strangers();
    std::vector<Tensors> held;
    std::string labels;
    if (!int8.calib_data.empty()) {
      calibrator::SampleSource samples(int8.calib_data, sample_inputs(request_.model), request_.warn);
      SampleSurvey survey = survey_samples(request_.model, samples, int8.eval_data.empty() ? kMostHeldOut : 0);
      if (!is_known) run_samples(exact, samples, survey);
      held = std::move(survey.held_out);
    } else if (int8.calib.empty() || !has_some(exact.quantisable)) {
      if (is_quantised(exact.plan)) return false;
      refuse_uncalibrated();
    }
    for (const ir::QuantisableLayer& layer : exact.quantisable) {
      if (knows(layer)) layers_.push_back(layer);
    }
    if (const size_t lost = exact.quantisable.size() - layers_.size(); lost > 0) {
      request_.warn(
          fmt::format("{} of {} layers stay in floats: their calibration is not in {}; give --calibData to "
                      "calibrate them",
                      lost, exact.quantisable.size(), int8.calib));
    }
    if (!int8.eval_data.empty()) held = read_all(int8.eval_data, &labels);
    std::erase_if(held, [&](const Tensors& sample) { return !fits(sample); });
    if (held.empty()) {
      request_.warn(
          "how far int8 is from fp32 is not measured: there are no samples to hold out; give --evalData, or "
          "at least 4 samples with --calibData, of shapes that the engine is built for");
    } else {
      held_out_.emplace(std::move(held), untimed(nullptr).plan, labels);
    }
    return true;
  }

  bool has_some(const std::vector<ir::QuantisableLayer>& layers) const {
    return std::any_of(layers.begin(), layers.end(), [&](const ir::QuantisableLayer& layer) { return knows(layer); });
  }

  bool knows(const ir::QuantisableLayer& layer) const {
    const calibrator::TensorCalibration* known = cache_.find(layer.key);
    return is_of_tensorrt(layer) || (known != nullptr && calibrator::fits(*known, layer));
  }
  bool is_of_tensorrt(const ir::QuantisableLayer& layer) const {
    return tensorrt_ && tensorrt_->scales.contains(layer.activation);
  }

  // TensorRT's cache may be another model's, or name tensors by its own names of them.
  void warn_of_strangers() const {
    std::set<std::string> tensors;
    const ir::Graph graph = builder::import_model(request_.model, options_.profiles);
    for (const ir::ValueId input : graph.inputs) tensors.insert(graph.value(input).name);
    for (const ir::NodeId id : graph.order()) {
      for (const ir::ValueId output : graph.node(id).outputs) {
        if (output != ir::kNone) tensors.insert(graph.value(output).name);
      }
    }
    std::vector<std::string> strangers;
    for (const auto& [name, scale] : tensorrt_->scales) {
      if (!tensors.contains(name)) strangers.push_back(name);
    }
    if (strangers.empty()) return;
    request_.warn(fmt::format("{}: {} of {} names are of no tensor of this model (first: {})", request_.int8.calib,
                              strangers.size(), tensorrt_->scales.size(), strangers.front()));
  }

  [[noreturn]] void refuse_uncalibrated() const {
    const std::string& cache = request_.int8.calib;
    throw Error(
        StatusCode::kInvalid,
        fmt::format("--int8: {}, and ranges are not made up; give samples with --calibData=PATH (.npz, a folder "
                    "of .npy or .npz, or a list){}, or --int8=perfOnly to see how fast it would be",
                    cache.empty() ? "nothing says which ranges the model's tensors have"
                                  : "the calibration cache " + cache + " knows no tensor of this model",
                    cache.empty() ? ", or a calibration cache with --calib=FILE" : ""));
  }

  void run_samples(BuildResult& exact, calibrator::SampleSource& samples, const SampleSurvey& survey) {
    BuildResult wide;
    const BuildResult* exposed = &exact;
    if (!holds_shapes(survey.shapes)) {
      BuildOptions options = quiet_options();
      options.profiles = {survey.shapes};
      options.search.optimization_level = 0;
      options.search.bf16 = false;
      options.expose_activations = true;
      wide = builder::build(builder::import_model(request_.model, options.profiles), options);
      exposed = &wide;
    }
    const Clock::time_point start = Clock::now();
    apps::calibrate(
        exposed->plan, exposed->quantisable, samples, survey, cache_,
        [&](uint64_t done, uint64_t total) { request_.progress("calibrating", done, total); }, request_.warn);
    cache_.save();
    request_.say(fmt::format("calibrated {} layers on {} samples in {:.1f} s, {} held out", exposed->quantisable.size(),
                             survey.count - survey.held_out.size(),
                             std::chrono::duration<double>(Clock::now() - start).count(), survey.held_out.size()));
  }

  // Whether one of the build's own profiles has room for all of these.
  bool holds_shapes(const builder::Profile& shapes) const {
    return std::any_of(options_.profiles.begin(), options_.profiles.end(), [&](const builder::Profile& profile) {
      for (size_t i = 0; i < profile.inputs.size(); ++i) {
        const builder::ShapeRange &room = profile.inputs[i], &needed = shapes.inputs[i];
        for (size_t d = 0; d < room.min.size(); ++d) {
          if (needed.min[d] < room.min[d] || needed.max[d] > room.max[d]) return false;
        }
      }
      return true;
    });
  }
  bool fits(const Tensors& sample) const {
    builder::Profile shapes;
    for (const builder::ShapeRange& input : options_.profiles.front().inputs) {
      const std::vector<int64_t>& dims = sample.at(input.input).dims;
      shapes.inputs.push_back({input.input, dims, dims, dims});
    }
    return holds_shapes(shapes);
  }

  // `labels`: the name of the array of each sample that holds labels, where there is one.
  std::vector<Tensors> read_all(const std::string& path, std::string* labels) const {
    std::vector<calibrator::InputSpec> arrays = sample_inputs(request_.model);
    if (const auto found = calibrator::SampleSource(path, arrays).find_labels()) {
      *labels = found->name;
      arrays.push_back(*found);
    }
    calibrator::SampleSource samples(path, arrays, request_.warn);
    std::vector<Tensors> all;
    for (Tensors sample; samples.next(&sample);) all.push_back(std::move(sample));
    return all;
  }

  // ---- Levels

  void choose_levels() {
    std::vector<calibrator::Calibrator> candidates(std::begin(calibrator::kCalibrators),
                                                   std::end(calibrator::kCalibrators));
    if (request_.int8.calibrator) candidates = {*request_.int8.calibrator};
    const bool is_given = std::all_of(layers_.begin(), layers_.end(),
                                      [&](const ir::QuantisableLayer& layer) { return is_of_tensorrt(layer); });
    if (!held_out_ || is_given) candidates.resize(1);
    std::optional<double> least;
    for (const calibrator::Calibrator candidate : candidates) {
      auto policy = std::make_unique<LevelPolicy>(cache_, layers_, candidate);
      if (tensorrt_) policy->use(*tensorrt_, layers_);
      policy->keep_in_floats(pinned_floats_);
      double drop = 0;
      if (candidates.size() > 1) {
        drop = held_out_->drop_of(untimed(policy.get()).plan).value;
        request_.detail(fmt::format("calibrator {}: all of {} layers in int8 are off by {:.2g}",
                                    calibrator::name_of(candidate), layers_.size(), drop));
      }
      if (least && drop >= *least) continue;
      least = drop;
      policy_ = std::move(policy);
      if (!is_given) calibrator_ = candidate;
    }
  }

  // ---- Pins

  // Which layers are not to be chosen for.
  void find_pinned(const BuildResult& exact) {
    if (request_.pins.empty()) return;
    LayerPins::Quantised pinned = request_.pins.quantised(untimed(nullptr).plan, exact.quantisable);
    std::vector<UnheldPin> without_levels;
    for (const std::string& name : pinned.int8) {
      if (has_levels(name)) continue;
      without_levels.push_back({name, "is pinned to int8, and its calibration is not known: give --calibData"});
    }
    report_unheld(without_levels, request_.pins.obeys(), request_.warn);
    for (const UnheldPin& pin : without_levels) pinned.int8.erase(pin.layer);
    pinned_int8_ = std::move(pinned.int8);
    pinned_floats_ = std::move(pinned.floats);
  }

  bool has_levels(const std::string& name) const {
    return std::any_of(layers_.begin(), layers_.end(), [&](const auto& layer) { return layer.name == name; });
  }

  // The layers that may be int8 or not.
  LayerNames free_layers() const {
    LayerNames names;
    for (const ir::QuantisableLayer& layer : layers_) {
      if (!pinned_int8_.contains(layer.name) && !pinned_floats_.contains(layer.name)) names.insert(layer.name);
    }
    return names;
  }

  // Those of a choice, and those that are pinned there.
  LayerNames with_pinned(LayerNames in_floats) const {
    in_floats.insert(pinned_floats_.begin(), pinned_floats_.end());
    return in_floats;
  }

  size_t int8_count(const LayerNames& in_floats) const {
    const LayerNames all = with_pinned(in_floats);
    return static_cast<size_t>(std::count_if(
        layers_.begin(), layers_.end(), [&](const ir::QuantisableLayer& layer) { return !all.contains(layer.name); }));
  }

  // No assignment that keeps to the pins is close enough to fp32.
  void give_up_pins(double drop) {
    const std::string text =
        fmt::format("with the {} layer{} pinned to int8 alone outputs are off by {:.2g}, and --maxDrop allows {:.2g}",
                    pinned_int8_.size(), pinned_int8_.size() == 1 ? "" : "s", drop, request_.int8.max_drop);
    if (request_.pins.obeys()) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("--precisionConstraints=obey: {}; pin fewer layers, or allow more", text));
    }
    request_.warn(text + ": these pins are dropped");
    pinned_int8_.clear();
  }

  // ---- Choice

  struct Timed {
    BuildResult built;
    double us = 0;
  };

  Timed timed(const LayerNames& in_floats) {
    stop_if_interrupted();
    BuildOptions options = quiet_options();
    options.precisions = policy_.get();
    policy_->keep_in_floats(with_pinned(in_floats));
    Timed made{builder::build_prepared(graph_.copy(), options), 0};
    made.us = time_of(made.built.plan);
    tactics_timed_ += made.built.search.timed;
    return made;
  }

  // Which layers are in floats, and the time that the engine takes then.
  struct Assignment {
    LayerNames in_floats;
    double us = 0;
  };

  // Moves one layer after another of `candidates` into int8 or out of it where that makes the engine faster, until no
  // single one does.
  Assignment improved(Assignment now, const LayerNames& candidates) {
    constexpr int kRounds = 3;
    std::vector<std::string> free_in_order = names_of(layers_);
    std::erase_if(free_in_order, [&](const std::string& name) { return !candidates.contains(name); });
    for (int round = 0; round < kRounds; ++round) {
      const double before = now.us;
      size_t done = 0;
      for (const std::string& name : free_in_order) {
        if (is_out_of_time()) return now;
        request_.progress("choosing precisions", ++done, free_in_order.size());
        LayerNames changed = now.in_floats;
        const bool was_int8 = changed.insert(name).second;
        if (!was_int8) changed.erase(name);
        const double us = timed(changed).us;
        gain_us_[name] = was_int8 ? us - now.us : now.us - us;
        if (us < kWorthChanging * now.us) now = {std::move(changed), us};
      }
      if (now.us == before) break;
    }
    return now;
  }

  // From all layers in int8, and from none: in a chain neither the first layer to leave int8 nor the first to enter it
  // need pay for the conversions around it.
  void choose_by_time() {
    floats_ = builder::build_prepared(graph_.copy(), options_);
    tactics_timed_ += floats_.search.timed;
    floats_us_ = time_of(floats_.plan);
    if (options_.search.optimization_level == 0) return;  // nothing is timed
    const LayerNames all = free_layers();
    const double all_us = timed({}).us;
    request_.detail(fmt::format("in floats {:.0f} us; all {} layers that may be in int8 {:.0f} us", floats_us_,
                                int8_count({}), all_us));
    Assignment best = improved({{}, all_us}, all);
    const double least_us = pinned_int8_.empty() ? floats_us_ : timed(all).us;
    if (all_us > least_us) {
      Assignment other = improved({all, least_us}, all);
      if (other.us < best.us) best = std::move(other);
    }
    in_floats_ = std::move(best.in_floats);
    request_.detail(fmt::format("{} layers in int8 take {:.0f} us", int8_count(in_floats_), best.us));
  }

  // With these layers in floats, whatever is pinned.
  double drop_without(const LayerNames& in_floats) {
    policy_->keep_in_floats(in_floats);
    return held_out_->drop_of(untimed(policy_.get()).plan).value;
  }

  // Leaves those layers in int8 with which the outputs are close enough, and first those that gain most for what they
  // lose.
  // Whether any had to go.
  bool choose_by_accuracy() {
    const double allowed = request_.int8.max_drop;
    first_drop_ = drop_without(with_pinned(in_floats_));
    if (first_drop_ <= allowed) return false;
    if (!pinned_int8_.empty()) {
      const double least = drop_without(with_pinned(free_layers()));
      if (least > allowed) {
        give_up_pins(least);
        return choose_by_accuracy();
      }
    }
    LayerNames all = with_pinned({});
    for (const std::string& name : names_of(layers_)) all.insert(name);
    Order order;
    size_t done = 0;
    for (const std::string& name : all) {
      request_.progress("measuring layers", ++done, all.size());
      if (with_pinned(in_floats_).contains(name)) continue;
      LayerNames others = all;
      others.erase(name);
      drops_[name] = drop_without(others);
      if (pinned_int8_.contains(name)) continue;
      const auto gain = gain_us_.find(name);
      order.emplace_back(drops_[name] / std::max(gain == gain_us_.end() ? 1.0 : gain->second, 0.1), name);
    }
    std::sort(order.begin(), order.end());
    in_floats_ = free_layers();
    add_layers(order.begin(), order.end());
    return true;
  }

  // A layer whose neighbours had to leave int8 may not be worth its conversions any more.
  void leave_where_faster() {
    LayerNames in_int8 = free_layers();
    for (const std::string& name : in_floats_) in_int8.erase(name);
    if (options_.search.optimization_level == 0 || in_int8.empty()) return;
    if (!std::isfinite(options_.search.budget_seconds)) start_ = Clock::now();
    in_floats_ = improved({in_floats_, timed(in_floats_).us}, in_int8).in_floats;
  }

  using Order = std::vector<std::pair<double, std::string>>;

  // Moves those layers into int8 with which the outputs are close enough: all at once, or else by halves.
  void add_layers(Order::const_iterator begin, Order::const_iterator end) {
    if (begin == end) return;
    LayerNames names = in_floats_;
    for (auto it = begin; it != end; ++it) names.erase(it->second);
    if (drop_without(with_pinned(names)) <= request_.int8.max_drop) {
      in_floats_ = std::move(names);
    } else if (end - begin > 1) {
      const auto middle = begin + (end - begin) / 2;
      add_layers(begin, middle);
      add_layers(middle, end);
    }
  }

  // ---- The result

  Int8Result in_floats(const std::string& why) {
    request_.say(fmt::format("int8: {}", why));
    return {builder::build_prepared(graph_.copy(), request_.options), {}, 0};
  }

  Int8Result finish() {
    Int8Result result;
    for (const ir::QuantisableLayer& layer : layers_) {
      LayerSensitivity& one = result.layers.emplace_back();
      one.name = layer.name;
      if (const auto drop = drops_.find(layer.name); drop != drops_.end()) one.drop = drop->second;
      if (const auto gain = gain_us_.find(layer.name); gain != gain_us_.end()) one.gain_us = gain->second;
    }
    const bool is_timed = options_.search.optimization_level > 0;
    // What int8 layers in the middle of floats gain may be less than the conversions around them cost.
    while (int8_count(in_floats_) > 0) {
      BuildOptions options = options_;
      options.precisions = policy_.get();
      policy_->keep_in_floats(with_pinned(in_floats_));
      BuildResult made = builder::build_prepared(graph_.copy(), options);
      const double us = time_of(made.plan);
      if (is_timed && pinned_int8_.empty() && us > kWorthInt8 * floats_us_) break;
      const Drop drop = held_out_ ? held_out_->drop_of(made.plan) : Drop{};
      if (held_out_ && drop.value > request_.int8.max_drop) {
        take_out_worst(drop.value);
        continue;
      }
      for (LayerSensitivity& layer : result.layers) layer.is_int8 = !with_pinned(in_floats_).contains(layer.name);
      result.built = std::move(made);
      result.built.plan.note = note_of(drop);
      if (us > 0) result.speed_up = floats_us_ / us;
      result.built.search.timed += tactics_timed_;
      return result;
    }
    std::string why = "no layer is faster in int8";
    if (first_drop_ > request_.int8.max_drop) {
      why = fmt::format(
          "in int8 outputs are off by {:.2g}, --maxDrop allows {:.2g}, and what layers could stay in int8 "
          "is no faster",
          first_drop_, request_.int8.max_drop);
    }
    request_.warn(fmt::format("the engine computes in floats throughout: {}", why));
    result.built = std::move(floats_);
    result.built.search.timed = tactics_timed_;
    return result;
  }

  // Tactics other than those measured with round otherwise, which may just be too much.
  void take_out_worst(double drop) {
    std::string worst;
    double most = -1;
    for (const std::string& name : free_layers()) {
      if (in_floats_.contains(name)) continue;
      const auto measured = drops_.find(name);
      const double value = measured == drops_.end() ? 0 : measured->second;
      if (value > most) most = value, worst = name;
    }
    if (most < 0) return give_up_pins(drop);
    in_floats_.insert(worst);
  }

  // Nothing that was timed, for the engine is to be the same when it is built again.
  std::string note_of(const Drop& drop) const {
    std::string text = fmt::format("int8: {} of {} layers", int8_count(in_floats_), layers_.size());
    if (request_.int8.perf_only) return text + ", made-up ranges: outputs mean nothing (--int8=perfOnly)";
    if (tensorrt_) text += fmt::format(", levels of TensorRT's {}", tensorrt_->algorithm);
    if (calibrator_) text += fmt::format(", calibrator {}", calibrator::name_of(*calibrator_));
    return text + "; " + (held_out_ ? held_out_->words_for(drop) : "not measured");
  }

  const Int8Request& request_;
  BuildOptions options_;  // with a timing cache
  const ir::Graph graph_;
  std::unique_ptr<TemporaryCache> own_cache_;
  const std::optional<calibrator::TensorRtCache> tensorrt_;
  calibrator::CalibrationCache cache_;  // where there is TensorRT's, of this process
  Clock::time_point start_;             // of what the budget is for
  std::vector<ir::QuantisableLayer> layers_;
  std::optional<HeldOut> held_out_;
  std::unique_ptr<LevelPolicy> policy_;
  std::optional<calibrator::Calibrator> calibrator_;
  LayerNames pinned_int8_, pinned_floats_;
  LayerNames in_floats_;  // of those that are not pinned
  BuildResult floats_;
  double floats_us_ = 0, first_drop_ = 0;
  std::map<std::string, double> gain_us_, drops_;
  int tactics_timed_ = 0;
};

}  // namespace

Int8Result build_int8(const Int8Request& request) { return Int8Builder(request).build(); }

}  // namespace planwright::apps
