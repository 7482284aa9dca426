// The order in which passes run.
#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/quantisable_layers.h"

namespace planwright::builder {
namespace {

struct NamedPass {
  const char* name;
  Pass run;
};

#define PW_PASS(function) \
  { #function, function }

// What one of these does may open a way for another: they run again until none changes anything.
constexpr NamedPass kSimplify[] = {
    PW_PASS(remove_dead_code),     PW_PASS(keep_bytes),       PW_PASS(multiply_quantized), PW_PASS(fold_constants),
    PW_PASS(simplify_programs),    PW_PASS(simplify_algebra), PW_PASS(sink_expands),       PW_PASS(sink_reshapes),
    PW_PASS(share_subexpressions), PW_PASS(fold_batch_norm),
};

// Patterns are matched on the exporter's small nodes, so before these are fused.
constexpr NamedPass kMatch[] = {
    PW_PASS(match_normalisations),
    PW_PASS(match_attention),
    PW_PASS(multiply_bytes),
};

// Again until nothing changes: a one-hot and an activation are several nodes, so they are seen once these are one.
constexpr NamedPass kFuse[] = {
    PW_PASS(simplify_algebra),  PW_PASS(fuse_pointwise), PW_PASS(keep_bytes),     PW_PASS(sink_reshapes),
    PW_PASS(simplify_programs), PW_PASS(match_one_hot),  PW_PASS(fold_constants), PW_PASS(narrow_constants),
};

constexpr NamedPass kEpilogues[] = {
    PW_PASS(fuse_epilogues),   PW_PASS(fold_input_scales), PW_PASS(simplify_programs),
    PW_PASS(simplify_algebra), PW_PASS(remove_dead_code),
};

constexpr NamedPass kBeforeBodies[] = {
    PW_PASS(give_constants),
};

// Once: a state that is returned twice is copied twice.
constexpr NamedPass kAfterBodies[] = {
    PW_PASS(drop_unread_operands),
    PW_PASS(return_states),
    PW_PASS(remove_dead_code),
};

constexpr NamedPass kPlace[] = {
    PW_PASS(choose_layouts),
    PW_PASS(make_views),
    PW_PASS(order_nodes),
    PW_PASS(reuse_inputs),
};

#undef PW_PASS

// Enough for the longest chain seen (three rounds in text recognisers), and an end where two rules undo each other.
constexpr int kMaxRounds = 8;

class Runner {
 public:
  // Of `graph`, which is `root` or a body in it.
  Runner(ir::Graph& root, ir::Graph& graph, const PassOptions& options)
      : root_(root), graph_(graph), options_(options) {}

  void run_first() {
    run_until_stable(kSimplify);
    run_bodies();
    run(kMatch);
  }

  void run_last() {
    // Once folding has made weights what they are.
    if (options_.rounding) check("round_weights", round_weights(graph_, *options_.rounding));
    if (&graph_ == &root_) choose_precisions();
    run_until_stable(kFuse);
    run(kEpilogues);
    run(kPlace);
  }

  const std::vector<ir::QuantisableLayer>& layers() const { return layers_; }

 private:
  // Once patterns are matched, for no attention's own products are to be calibrated, and before products have programs.
  void choose_precisions() {
    if (options_.precisions == nullptr && !options_.expose_activations) return;
    std::vector<QuantisableNode> nodes = quantisable_nodes(graph_);
    if (options_.expose_activations) measure_channel_weights(graph_, nodes);
    for (QuantisableNode& one : nodes) layers_.push_back(std::move(one.layer));
    if (options_.expose_activations) check("expose_activations", expose_activations(graph_));
    if (options_.precisions != nullptr) check("quantise_layers", quantise_layers(graph_, *options_.precisions));
  }

  void run_bodies() {
    run(kBeforeBodies);
    for (const ir::NodeId id : graph_.order()) {
      for (const auto& body : graph_.node(id).bodies) {
        Runner runner(root_, *body, options_);
        runner.run_first();
        runner.run_last();
      }
    }
    run(kAfterBodies);
  }

  template <size_t kCount>
  bool run(const NamedPass (&passes)[kCount]) {
    bool changed = false;
    for (const NamedPass& pass : passes) changed |= run(pass);
    return changed;
  }

  template <size_t kCount>
  void run_until_stable(const NamedPass (&passes)[kCount]) {
    for (int round = 0; round < kMaxRounds && run(passes); ++round) {
    }
  }

  bool run(const NamedPass& pass) { return check(pass.name, pass.run(graph_)); }

  bool check(const char* pass, bool has_changed) {
    if (!has_changed) return false;
    if (const std::string broken = ir::verify(graph_); !broken.empty()) {
      throw std::logic_error(fmt::format("pass {} left a broken graph: {}", pass, broken));
    }
    if (options_.observe) options_.observe(pass, root_);
    return true;
  }

  ir::Graph& root_;
  ir::Graph& graph_;
  const PassOptions& options_;
  std::vector<ir::QuantisableLayer> layers_;
};

}  // namespace

void run_first_passes(ir::Graph& graph, const PassOptions& options) {
  if (const std::string broken = ir::verify(graph); !broken.empty()) {
    throw std::logic_error("the imported graph is broken: " + broken);
  }
  Runner(graph, graph, options).run_first();
}

std::vector<ir::QuantisableLayer> run_last_passes(ir::Graph& graph, const PassOptions& options) {
  Runner runner(graph, graph, options);
  runner.run_last();
  return runner.layers();
}

std::vector<ir::QuantisableLayer> run_passes(ir::Graph& graph, const PassOptions& options) {
  run_first_passes(graph, options);
  return run_last_passes(graph, options);
}

}  // namespace planwright::builder
