// The graph's inputs: a symbol for each dim and value that the profiles leave open.
#ifndef PLANWRIGHT_BUILDER_ONNX_INPUT_SYMBOLS_H_
#define PLANWRIGHT_BUILDER_ONNX_INPUT_SYMBOLS_H_

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/onnx/model.h"
#include "builder/profile.h"

namespace planwright::builder::importer {

struct ModelInputs {
  std::unordered_map<std::string, ir::Dim> named;  // dims that have names
  // What the model's nodes read for each input: the input itself, or a constant where the profiles say that it always
  // has the same contents (the loader checks that it does); kNone for one whose type is not supported.
  std::vector<ir::ValueId> values;
};

// Adds a value for every model input to `graph`, in order. Dims that share a name share a symbol; the range is what all
// profiles take together, any size from 1 where there are none; a dim that is the same throughout is a constant.
// An input whose values the profiles give has these as elements, symbols where they have a range; an int64 input of few
// elements in `shape_inputs` has symbols that may be anything.
// Throws Error(kInvalid) where a profile contradicts the model or itself.
ModelInputs add_model_inputs(ir::Graph& graph, const OnnxModel& model, const std::vector<Profile>& profiles,
                             const std::unordered_set<std::string>& shape_inputs);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_INPUT_SYMBOLS_H_
