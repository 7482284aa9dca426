// The plan as a FlatBuffer.
#ifndef PLANWRIGHT_PLANFMT_ENCODE_H_
#define PLANWRIGHT_PLANFMT_ENCODE_H_

#include <flatbuffers/flatbuffers.h>

#include <vector>

#include "planfmt/plan_model.h"

namespace planwright::planfmt {

// Bytes [offset, offset + size) of the weights section, one of each blob of the store, in its order, without overlap.
struct BlobPlace {
  uint64_t offset, size;
};
// Where the blobs lie when each begins at the next multiple of kBlobAlignment; *total is the section's size.
std::vector<BlobPlace> place_blobs(const WeightStore& weights, uint64_t* total);

// Equal models give equal bytes. The result begins 16-byte aligned.
flatbuffers::DetachedBuffer encode_plan(const PlanModel& plan, const std::vector<BlobPlace>& blobs);

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_ENCODE_H_
