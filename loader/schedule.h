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
  // Room for the program's steps; what was scheduled before is forgotten. `stages` must outlive its use. kResource.
  Status prepare(const pw_engine& engine, const plan::Program& program, const planfmt::Stages& stages);

  // Where the arena's storages lie from the next place() on, of the stage of dims.
  void use(const planfmt::ArenaPlaces& places) { reader_.use(places); }

  // Fills in every step that can be at this stage and no earlier, having checked that its kernel may run it: kCorrupt,
  // kInvalid, naming the layer; then the schedule must not be run. A step of a branch of an If, which may not be taken,
  // is left out instead.
  Status place(const planfmt::ShapeValues& shapes, planfmt::Stage stage, const ContextMemory& memory);
  // Whether a step was left out; place_again() says why.
  bool is_left_out(size_t step) const { return steps_[step].left_out; }
  Status place_again(size_t step, const planfmt::ShapeValues& shapes, const ContextMemory& memory);

  // Points what reads or writes bindings to the caller's buffers, one for each binding of the plan. Again after a
  // place().
  void bind(const Buffer* buffers);

  const planfmt::StepList& steps() const { return *list_; }
  // Runs a step that has no bodies. kPrecondition where the kernel refuses its data.
  Status run(size_t step) const {
    const Step& entry = steps_[step];
    return entry.empty ? kOkStatus : entry.run(entry.args);
  }
  const char* layer(size_t step) const { return (*list_)[static_cast<uint32_t>(step)].name()->c_str(); }

  // ---- Of steps with bodies
  // Which body an If runs.
  uint32_t branch(size_t step) const { return *steps_[step].args.inputs[0].as<const uint8_t>() != 0 ? 0 : 1; }
  // How often a Loop's body runs at most.
  int64_t trip_count(size_t step) const;
  // Whether a Loop goes on after `done` iterations, as its condition says.
  bool goes_on(size_t step) const;
  // Tells a Loop's body which iteration it is in, and after the last what comes behind how many there were.
  void set_iteration(size_t step, int64_t iteration) const { *steps_[step].args.outputs[0].as<int64_t>() = iteration; }

  // The symbols that the step gives their values; null: none.
  const flatbuffers::Vector<const plan::StepResult*>* results(size_t step) const {
    return (*list_)[static_cast<uint32_t>(step)].results();
  }
  // Reads one, after the step ran. kPrecondition where the output has no such element.
  Status read_result(size_t step, const plan::StepResult& result, int64_t* value) const;

 private:
  struct Step {
    Status (*run)(const KernelArgs& args);
    bool empty;           // has no elements to compute
    bool left_out;        // cannot run at these shapes
    uint32_t first_view;  // its operands' in views_
    uint32_t first_scalar;
    KernelArgs args;
  };

  bool is_in_branch(uint32_t step) const;
  Status place_step(const plan::Step& step, const int64_t* values, const ContextMemory& memory, Step* entry);
  void point(const planfmt::OperandFacts& facts, const ContextMemory& memory, uint32_t view);
  void find_bound(const plan::Step& step, uint32_t first_view);

  const pw_engine* engine_ = nullptr;
  const plan::Program* program_ = nullptr;
  const planfmt::StepList* list_ = nullptr;
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
