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
  Status prepare(const pw_engine& engine, const plan::Program& program, const planfmt::Stages& stages);

  // Fills in every step that can be at this stage and no earlier, having checked that its kernel may run it: kCorrupt,
  // kInvalid, naming the layer; then the schedule must not be run.
  Status place(const planfmt::ShapeValues& shapes, planfmt::Stage stage, const ContextMemory& memory);

  // Points what reads or writes bindings to the caller's buffers, one for each binding of the plan. Again after a
  // place().
  void bind(const Buffer* buffers);

  size_t step_count() const { return steps_.size(); }
  // Runs a step. kPrecondition where the kernel refuses its data.
  Status run(size_t step) const {
    const Step& entry = steps_[step];
    return entry.empty ? kOkStatus : entry.run(entry.args);
  }
  const char* layer(size_t step) const;

  // The symbols that the step gives their values; null: none.
  const flatbuffers::Vector<const plan::StepResult*>* results(size_t step) const {
    return program_->regions()->Get(0)->steps()->Get(static_cast<uint32_t>(step))->results();
  }
  // Reads one, after the step ran. kPrecondition where the output has no such element.
  Status read_result(size_t step, const plan::StepResult& result, int64_t* value) const;

 private:
  struct Step {
    Status (*run)(const KernelArgs& args);
    bool empty;           // has no elements to compute
    uint32_t first_view;  // its operands' in views_
    uint32_t first_scalar;
    KernelArgs args;
  };

  Status place_step(const plan::Step& step, const int64_t* values, const ContextMemory& memory, Step* entry);
  void point(const planfmt::OperandFacts& facts, const ContextMemory& memory, uint32_t view);
  void find_bound(const plan::Step& step, uint32_t first_view);

  const pw_engine* engine_ = nullptr;
  const plan::Program* program_ = nullptr;
  planfmt::StepReader reader_;
  planfmt::Array<Step> steps_;
  planfmt::Array<uint32_t> by_stage_;  // steps in the order of their stages
  planfmt::Array<planfmt::Stage> stages_;
  planfmt::Array<TensorView> views_;
  planfmt::Array<uint64_t> begins_;  // of each view in its storage
  planfmt::Array<int64_t> scalars_;
  // Views that lie in bindings.
  struct Bound {
    uint32_t view, binding;
  };
  planfmt::Array<Bound> bound_;
  size_t bound_count_ = 0;
};

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_SCHEDULE_H_
