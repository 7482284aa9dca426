// The bytes of constants as steps read them.
#ifndef PLANWRIGHT_BUILDER_WEIGHTS_H_
#define PLANWRIGHT_BUILDER_WEIGHTS_H_

#include <memory>

#include "builder/ir/graph.h"
#include "tactics/select.h"

namespace planwright::builder {

using SharedBytes = std::shared_ptr<const ir::Bytes>;

// A constant's elements in its layout's order; the constant's own bytes where that is row-major.
SharedBytes placed_elements(const ir::Value& constant);

// What the candidate's kernel makes of its packed inputs; null where it packs none. Throws Error, naming the layer.
SharedBytes packed_weights(const tactics::StepSpec& spec, const tactics::Candidate& candidate);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_WEIGHTS_H_
