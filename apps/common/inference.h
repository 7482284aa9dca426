// Measuring an engine: contexts in threads, warm-up, at least N runs and D seconds.
#ifndef PLANWRIGHT_APPS_COMMON_INFERENCE_H_
#define PLANWRIGHT_APPS_COMMON_INFERENCE_H_

#include <map>
#include <planwright/planwright.hpp>
#include <string>
#include <vector>

#include "apps/common/input_shapes.h"
#include "builder/ir/interpret.h"

namespace planwright::apps {

struct InferenceOptions {
  int iterations = 10;       // at least so many queries a stream
  double warmup_ms = 200;    // queries begun in it are not counted
  double duration_s = 3;     // and at least so long
  int streams = 1;           // contexts at once, a thread each
  int threads = 0;           // of each context; 0: what the engine was tuned for
  int profile = -1;          // -1: the tightest that holds the shapes
  bool pin = false;          // stream i's calling thread to the i-th core it may use
  bool layer_times = false;  // collect them, at some cost
};

// One query; milliseconds since the measurement began. Bindings are the caller's own buffers, so nothing is copied in
// or out: both are 0 on a CPU.
struct Query {
  double start_ms = 0, end_ms = 0;
  double in_ms = 0, compute_ms = 0, out_ms = 0;
  double latency_ms() const { return in_ms + compute_ms + out_ms; }
};

struct LayerTime {
  std::string name;
  std::vector<double> ms;  // one a counted query
};

struct Measurement {
  std::vector<Query> queries;  // by start
  double walltime_s = 0;
  std::vector<LayerTime> layers;
  uint64_t arena_bytes = 0;    // of one context
  uint64_t binding_bytes = 0;  // of its inputs and outputs
  bool contended = false;      // the process was made to wait for a core during more than a few queries
};

// Input or output tensors by binding name.
using Tensors = std::map<std::string, ir::Tensor>;

// Seeded inputs of these shapes, one for each input: floats in [-1, 1), integers and bools 0 or 1 (indices into
// anything), shape inputs their values.
Tensors random_inputs(const pw::Engine& engine, const RunShapes& shapes);

// The dims of these inputs, and the values of those that are shape inputs of their own dims.
RunShapes shapes_of(const pw::Engine& engine, const Tensors& inputs);

// A context with its inputs bound and outputs allocated and bound. `inputs` must outlive it.
class BoundContext {
 public:
  BoundContext(const pw::Engine& engine, const pw_context_options& options, Tensors& inputs);
  void run() { context_.run(); }
  // What the last run wrote. Before it, outputs whose shapes are computed are missing.
  const Tensors& outputs();
  pw_context_info info() const { return context_.info(); }
  // Of inputs and outputs; the most there can be where a shape is known only after a run.
  uint64_t binding_bytes() const { return binding_bytes_; }

 private:
  // An output whose shape the run computes: room for the largest.
  struct Late {
    pw_binding binding;
    ir::Bytes room;
  };

  void bind_output(const pw_binding& binding);

  pw::Context context_;
  Tensors outputs_;
  std::vector<Late> late_;
  uint64_t binding_bytes_ = 0;
};

// The options that `options` mean for one context.
pw_context_options context_options(const InferenceOptions& options);

Measurement measure(const pw::Engine& engine, const InferenceOptions& options, Tensors& inputs);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_INFERENCE_H_
