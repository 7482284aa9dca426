// The passes, each in a file of its own name, and the pipeline that runs them in order.
#ifndef PLANWRIGHT_BUILDER_PASSES_PASSES_H_
#define PLANWRIGHT_BUILDER_PASSES_PASSES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/ir/precision_policy.h"

namespace planwright::builder {

// A pass changes the graph and says whether it did. It leaves the graph valid (ir::verify).
using Pass = bool (*)(ir::Graph&);

// ---- Simplify
bool keep_bytes(ir::Graph& graph);          // what lies between quantised layers stays bytes
bool multiply_quantized(ir::Graph& graph);  // products of dequantised bytes multiply the bytes; before constants fold
bool fold_constants(ir::Graph& graph);      // nodes whose inputs are constants run on reference kernels now
bool remove_dead_code(ir::Graph& graph);
bool simplify_algebra(ir::Graph& graph);      // x*1, x+0, reshape of reshape, transpose of transpose, no-op casts ...
bool sink_expands(ir::Graph& graph);          // an Expand behind what does the same to every copy
bool sink_reshapes(ir::Graph& graph);         // a Reshape behind the Pointwise that could join what is before it
bool fold_batch_norm(ir::Graph& graph);       // per-channel scale and shift after a contraction go into its weights
bool fold_input_scales(ir::Graph& graph);     // the same before a contraction, from the end of its input's program
bool share_subexpressions(ir::Graph& graph);  // equal nodes on equal inputs

// ---- Fuse
bool match_normalisations(ir::Graph& graph);  // LayerNorm, Softmax from the parts exporters break them into
bool match_attention(ir::Graph& graph);       // MatMul, scale, mask, Softmax, MatMul
bool match_one_hot(ir::Graph& graph);         // a product with one-hot rows is a Gather
bool multiply_bytes(ir::Graph& graph);        // products of bytes less a zero point multiply bytes, not int32
bool narrow_constants(ir::Graph& graph);      // weights that are integers times scales are kept as integers
bool fuse_pointwise(ir::Graph& graph);        // Pointwise into Pointwise: one program
bool fuse_epilogues(ir::Graph& graph);        // Pointwise into the contraction before it
bool simplify_programs(ir::Graph& graph);  // inside a program: constants, GELU/SiLU/HardSwish forms, unused registers

// ---- Bodies of If and Loop, which have been through all of these themselves (bodies.cc)
bool give_constants(ir::Graph& graph);        // what bodies take from outside that is a constant becomes their own
bool drop_unread_operands(ir::Graph& graph);  // and what they do not read is not handed to them
bool return_states(ir::Graph& graph);         // adds the Copy from what an iteration makes to what the next one reads

// ---- Place
bool choose_layouts(ir::Graph& graph);  // sets Value::layout, adds Copy where a kernel family wants another
bool make_views(ir::Graph& graph);      // sets Value::view, adds Copy where elements must move; builder/storage.h
bool order_nodes(ir::Graph& graph);     // an order with a low memory peak
bool reuse_inputs(ir::Graph& graph);    // pointwise results over inputs that nothing reads afterwards; runs last

// ---- Only with leave to
// To what the weights of products are rounded; those that a Gather looks up, to int8 with a scale for each row.
struct WeightRounding {
  int bits = 8;       // or 4
  int64_t block = 0;  // rows that share a scale; 0: a column's all
};
bool round_weights(ir::Graph& graph, const WeightRounding& rounding);
bool quantise_layers(ir::Graph& graph, const ir::PrecisionPolicy& policy);  // layers that it has levels for are int8
bool expose_activations(ir::Graph& graph);  // those that it would have to know, as outputs

struct PassOptions {
  // Sees every pass that changed something; may be empty.
  std::function<void(const std::string& pass, const ir::Graph&)> observe;
  std::optional<WeightRounding> rounding;           // leave to round weights
  const ir::PrecisionPolicy* precisions = nullptr;  // leave for int8
  bool expose_activations = false;                  // to calibrate
};

// Runs all of them in order (pipeline.cc is that list) on the graph and, inside out, on its bodies, the verifier after
// each. Throws std::logic_error naming the guilty pass if the verifier finds a broken rule. Returns the layers that
// could be int8, where any leave was given for that.
std::vector<ir::QuantisableLayer> run_passes(ir::Graph& graph, const PassOptions& options = {});
// The same in two parts, of which only the second depends on leave for anything.
void run_first_passes(ir::Graph& graph, const PassOptions& options = {});
std::vector<ir::QuantisableLayer> run_last_passes(ir::Graph& graph, const PassOptions& options);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_PASSES_H_
