// What a Loop and a Scan have in common, once their nodes are read.
#ifndef PLANWRIGHT_BUILDER_ONNX_LOOP_PARTS_H_
#define PLANWRIGHT_BUILDER_ONNX_LOOP_PARTS_H_

#include <optional>
#include <string>
#include <vector>

#include "builder/onnx/emitter.h"
#include "onnx/onnx_pb.h"

namespace planwright::builder::importer {

struct LoopParts {
  const onnx::GraphProto* body = nullptr;

  ValueId trips = ir::kNone;                           // kNone: as long as the condition says
  std::optional<Dim> trip_count;                       // where it is known before the engine runs
  ValueId condition = ir::kNone;                       // before the first iteration; kNone: true
  std::string iteration, condition_in, condition_out;  // names in the body; empty: it has none

  // What an iteration hands to the next.
  struct Carried {
    ValueId first;
    std::string in, out;
  };
  std::vector<Carried> carried;

  // What iterations take slices of, along axis 0.
  struct Sliced {
    ValueId whole;
    std::string in;
    bool backwards;
  };
  std::vector<Sliced> sliced;

  // What iterations make slices of, along `axis`.
  struct Stacked {
    std::string out;
    int64_t axis;
    bool backwards;
  };
  std::vector<Stacked> stacked;
};

// The graph that is the attribute `name`. Throws Error(kInvalid).
const onnx::GraphProto& graph_attribute(const onnx::NodeProto& node, const std::string& name);

// Throw Error(kInvalid) for inputs, outputs and attributes that do not fit, Error(kUnsupported).
LoopParts read_loop(const onnx::NodeProto& node, Emitter& emitter, const std::vector<ValueId>& inputs);
LoopParts read_scan(const onnx::NodeProto& node, Emitter& emitter, const std::vector<ValueId>& inputs);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_LOOP_PARTS_H_
