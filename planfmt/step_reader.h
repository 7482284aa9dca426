// A step of a verified program at concrete shapes: its operands' dims, strides and place in memory, its scalars.
#ifndef PLANWRIGHT_PLANFMT_STEP_READER_H_
#define PLANWRIGHT_PLANFMT_STEP_READER_H_

#include "planfmt/arena_places.h"
#include "planfmt/catalog.h"
#include "planfmt/memory.h"
#include "schemas/plan_generated.h"

namespace planwright::planfmt {

class StepReader {
 public:
  // Room for the widest step of `program`. kResource.
  Status prepare(const plan::Plan& plan, const plan::Program& program);
  // Where the arena's storages lie from the next read() on; after prepare() where they do for all of the profile.
  void use(const ArenaPlaces& places) { places_ = places; }
  const ArenaPlaces& places() const { return places_; }

  // Fills `facts` from the expressions' `values`; what it points to is this object's until the next read(). Checks that
  // no dim or stride is negative and that every operand lies within its storage, whatever the values are: kCorrupt,
  // naming the tensor.
  Status read(const plan::Step& step, const int64_t* values, StepFacts* facts);

  // Compares what the kernel needs with what the plan gives the step. kCorrupt.
  Status check_needs(const plan::Step& step, const StepNeeds& needs) const;

 private:
  Status read_operands(const flatbuffers::Vector<int32_t>& tensors, const int64_t* values, OperandFacts* operands);
  Status read_tensor(const plan::Tensor& tensor, const int64_t* values, OperandFacts* operand) const;
  Status storage_bytes(uint32_t storage, const int64_t* values, uint64_t* bytes) const;

  const plan::Plan* plan_ = nullptr;
  const plan::Program* program_ = nullptr;
  ArenaPlaces places_;
  Array<OperandFacts> operands_;
  Array<int64_t> scalars_;
};

// Bytes of a binding at the shapes of `values`, dense. kInvalid, naming it, where the size overflows or a dim is
// negative.
Status binding_bytes(const plan::Binding& binding, const int64_t* values, uint64_t* bytes);

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_STEP_READER_H_
