// A program made ready to run: the arguments of every kernel, with their pointers.
#ifndef PLANWRIGHT_LOADER_SCHEDULE_H_
#define PLANWRIGHT_LOADER_SCHEDULE_H_

#include "loader/buffers.h"
#include "loader/engine.h"
#include "planfmt/step_reader.h"

namespace planwright::loader {

// Where a context's memory is.
struct ContextMemory {
  std::byte* arena = nullptr;
  std::byte* scratch = nullptr;  // of worker 0
  size_t scratch_stride = 0;
  Executor* executor = nullptr;
};

class Schedule {
 public:
  // Room for the program's steps; what was scheduled before is forgotten. kResource.
  Status prepare(const pw_engine& engine, const plan::Program& program);

  // Fills in every step for the expressions' values, having checked that each kernel may run it: kCorrupt, kInvalid,
  // naming the layer; then the schedule must not be run.
  Status place(const int64_t* values, const ContextMemory& memory);

  // Points what reads or writes bindings to the caller's buffers, one for each binding of the plan.
  void bind(const Buffer* buffers);

  size_t step_count() const { return steps_.size(); }
  // Runs a step. kPrecondition where the kernel refuses its data.
  Status run(size_t step) const {
    const Step& entry = steps_[step];
    return entry.empty ? kOkStatus : entry.run(entry.args);
  }
  const char* layer(size_t step) const;

 private:
  struct Step {
    Status (*run)(const KernelArgs& args);
    bool empty;  // has no elements to compute
    KernelArgs args;
  };
  // An operand that lies in a binding.
  struct Bound {
    TensorView* view;
    uint32_t binding;
    uint64_t begin;
  };

  Status place_step(const plan::Step& step, const int64_t* values, const ContextMemory& memory, TensorView* views,
                    int64_t* scalars, Step* entry);
  void point(const planfmt::OperandFacts& facts, const ContextMemory& memory, TensorView* view);

  const pw_engine* engine_ = nullptr;
  const plan::Program* program_ = nullptr;
  planfmt::StepReader reader_;
  planfmt::Array<Step> steps_;
  planfmt::Array<TensorView> views_;
  planfmt::Array<int64_t> scalars_;
  planfmt::Array<Bound> bound_;
  size_t bound_count_ = 0;
};

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_SCHEDULE_H_
