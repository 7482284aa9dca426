// From a graph made in code to the answers of its engine: built, written, opened, run.
#ifndef PLANWRIGHT_TESTS_SUPPORT_BUILT_ENGINE_H_
#define PLANWRIGHT_TESTS_SUPPORT_BUILT_ENGINE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "builder/build.h"
#include "builder/ir/interpret.h"
#include "planfmt/write.h"
#include "planwright/planwright.hpp"
#include "schemas/types/error.h"
#include "tactics/kernels/cpu.h"
#include "tests/support/graph_builder.h"

namespace planwright::testing {

using MakeGraph = std::function<void(GraphBuilder&)>;

// The values of the graph's symbols -> the dims of its inputs.
inline std::vector<std::vector<int64_t>> input_dims(const ir::Graph& graph, const std::vector<int64_t>& symbols) {
  std::vector<std::vector<int64_t>> dims;
  for (const ir::ValueId id : graph.inputs) {
    std::vector<int64_t>& list = dims.emplace_back();
    for (const ir::Dim dim : graph.value(id).dims) {
      list.push_back(evaluate(dim, [&](int index) { return symbols[static_cast<size_t>(index)]; }));
    }
  }
  return dims;
}

// Every symbol from its min to its max, with opt between them.
inline builder::Profile profile_of(const ir::Graph& graph) {
  std::vector<int64_t> min, opt, max;
  for (const ir::Symbol& symbol : graph.expr_pool()->symbols()) {
    min.push_back(symbol.min);
    opt.push_back((symbol.min + symbol.max) / 2);
    max.push_back(symbol.max);
  }
  const auto lows = input_dims(graph, min), middles = input_dims(graph, opt), highs = input_dims(graph, max);
  builder::Profile profile;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    profile.inputs.push_back({graph.value(graph.inputs[i]).name, lows[i], middles[i], highs[i]});
  }
  return profile;
}

inline builder::BuildOptions untimed_options(const ir::Graph& graph, Isa isa = detect_isa()) {
  builder::BuildOptions options;
  options.profiles = {profile_of(graph)};
  options.search.isa = isa;
  options.search.optimization_level = 0;
  return options;
}

// An engine in a file of its own for as long as this lives.
class BuiltEngine {
 public:
  explicit BuiltEngine(const planfmt::PlanModel& plan) : path_(unique_path()) {
    throw_if_error(write_engine(plan, path_));
    engine_ = std::make_unique<pw::Engine>(path_);
  }
  ~BuiltEngine() { std::remove(path_.c_str()); }
  BuiltEngine(const BuiltEngine&) = delete;
  BuiltEngine& operator=(const BuiltEngine&) = delete;

  const pw::Engine& engine() const { return *engine_; }

  // One tensor per input -> one per output.
  std::vector<ir::Tensor> run(std::vector<ir::Tensor> inputs, int threads = 1) const {
    pw_context_options options{};
    options.struct_size = sizeof options;
    options.threads = threads;
    pw::Context context(*engine_, &options);
    const std::vector<pw_binding> bindings = engine_->bindings();
    for (size_t i = 0; i < inputs.size(); ++i) {
      context.set_input_shape(bindings[i].name, inputs[i].dims);
      context.bind(bindings[i].name, inputs[i].data.data(), inputs[i].data.size());
    }
    std::vector<ir::Tensor> outputs;
    for (size_t i = inputs.size(); i < bindings.size(); ++i) {
      ir::Tensor& output = outputs.emplace_back();
      output.dtype = static_cast<DType>(bindings[i].dtype);
      output.dims = context.shape(bindings[i].name);
      size_t bytes = size_of(output.dtype);
      for (const int64_t dim : output.dims) bytes *= static_cast<size_t>(dim);
      output.data.assign(bytes, std::byte{0xFF});  // NaN, so that an element nobody writes is seen
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      context.bind(bindings[inputs.size() + i].name, outputs[i].data.data(), outputs[i].data.size());
    }
    context.run();
    return outputs;
  }

 private:
  static std::string unique_path() {
    static int count = 0;
    return ::testing::TempDir() + "planwright_" + std::to_string(getpid()) + "_" + std::to_string(count++) + ".engine";
  }

  std::string path_;
  std::unique_ptr<pw::Engine> engine_;
};

inline void expect_near(const ir::Tensor& got, const ir::Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.dims, want.dims) << what;
  ASSERT_EQ(got.dtype, want.dtype) << what;
  if (got.dtype != DType::kF32) {
    EXPECT_EQ(got.data, want.data) << what;
    return;
  }
  const std::vector<float> a = elements_of<float>(got), b = elements_of<float>(want);
  size_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i] - b[i]) <= tolerance * (1 + std::fabs(b[i]))) continue;
    if (++wrong <= 3) ADD_FAILURE() << what << ": element " << i << " is " << a[i] << ", not " << b[i];
  }
  EXPECT_EQ(wrong, 0u) << what << ": of " << a.size() << " elements";
}

inline ir::Tensor random_input(const ir::Value& value, const std::vector<int64_t>& dims, unsigned seed) {
  ir::Tensor tensor = random_tensor(dims, seed);
  if (value.dtype != DType::kF32) throw std::logic_error("random inputs are fp32");
  return tensor;
}

// Builds the graph and compares its engine with the interpreter, at `shapes` random shapes of its symbols' box and at
// the box's two corners.
// Values of the graph's symbols that its guards let through: all at their least in round 0, at their most in round 1,
// anything later and where those are shut off.
inline std::vector<int64_t> draw_symbols(const ir::Graph& graph, int round, std::mt19937& random) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::vector<int64_t> symbols;
    for (const ir::Symbol& symbol : graph.expr_pool()->symbols()) {
      const int64_t drawn = std::uniform_int_distribution<int64_t>(symbol.min, symbol.max)(random);
      symbols.push_back(round == 0 && attempt == 0 ? symbol.min : round == 1 && attempt == 0 ? symbol.max : drawn);
    }
    const auto value_of = [&](int index) { return symbols[static_cast<size_t>(index)]; };
    const bool holds = std::all_of(graph.guards.begin(), graph.guards.end(), [&](const ir::Guard& guard) {
      const int64_t left = evaluate(guard.left, value_of), right = evaluate(guard.right, value_of);
      return guard.equal ? left == right : left <= right;
    });
    if (holds) return symbols;
  }
  throw std::logic_error("no shapes hold the graph's guards");
}

inline void expect_engine_matches(const MakeGraph& make, int shapes = 4, double tolerance = 1e-4) {
  GraphBuilder original, placed;
  make(original);
  make(placed);
  const ir::Graph& graph = original.graph;
  const builder::BuildResult built = builder::build(std::move(placed.graph), untimed_options(graph));
  const BuiltEngine engine(built.plan);

  std::mt19937 random(1);
  for (int round = 0; round < shapes + 2; ++round) {
    const std::vector<int64_t> symbols = draw_symbols(graph, round, random);
    const auto dims = input_dims(graph, symbols);
    std::vector<ir::Tensor> inputs;
    for (size_t i = 0; i < dims.size(); ++i) {
      inputs.push_back(random_input(graph.value(graph.inputs[i]), dims[i], static_cast<unsigned>(round * 10 + i)));
    }
    const std::vector<ir::Tensor> want = interpret(graph, inputs), got = engine.run(inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      expect_near(got[i], want[i], tolerance, graph.output_names[i] + " at round " + std::to_string(round));
    }
  }
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_BUILT_ENGINE_H_
