// What pw_context is: an engine's state at run time, for one caller at a time.
#ifndef PLANWRIGHT_LOADER_CONTEXT_H_
#define PLANWRIGHT_LOADER_CONTEXT_H_

#include <atomic>

#include "loader/input_shapes.h"
#include "loader/input_values.h"
#include "loader/schedule.h"
#include "tactics/kernels/thread_pool.h"

namespace planwright::loader {

// The caller's parallel-for as kernels see one.
class CallerExecutor final : public Executor {
 public:
  void set(pw_parallel_for function, void* user, int workers) {
    function_ = function;
    user_ = user;
    workers_ = workers;
  }
  void parallel_for(int64_t tasks, Task task, void* context) override { function_(user_, tasks, task, context); }
  int workers() const override { return workers_; }

 private:
  pw_parallel_for function_ = nullptr;
  void* user_ = nullptr;
  int workers_ = 1;
};

}  // namespace planwright::loader

struct pw_context {
  pw_context() = default;
  pw_context(const pw_context&) = delete;
  pw_context& operator=(const pw_context&) = delete;
  ~pw_context();

  // Called once, first. On failure the context must be destroyed.
  planwright::Status create(pw_engine* engine, const pw_context_options& options);

  planwright::Status set_input_shape(const char* name, const int64_t* dims, size_t rank);
  planwright::Status shape_of(const char* name, int64_t* dims, size_t* rank);
  planwright::Status output_limit(const char* name, size_t* bytes);
  planwright::Status bind(const char* name, void* data, size_t bytes);
  planwright::Status run();
  planwright::Status get_info(pw_context_info* info);

  // Set while a call is in progress.
  std::atomic<bool> busy{false};

 private:
  planwright::Status make_executor();
  // Makes the schedule for the shapes that are set. kPrecondition while one is missing.
  planwright::Status resolve();
  planwright::Status enter_profile(uint32_t profile);
  planwright::Status allocate_memory(const planwright::plan::Program& program);
  // Reads the values of shape inputs and places what depends on them, where they are new.
  planwright::Status take_values();
  // Makes what depends on the step's results known and places it.
  planwright::Status take_results(uint32_t step);
  // Evaluates a later stage, checks the buffers of the outputs it makes known and places its steps.
  planwright::Status enter_stage(planwright::planfmt::Stage stage);
  // Runs a step, its bodies and what its results make known.
  planwright::Status run_step(uint32_t step);
  // The steps of one body. Bodies within bodies: planfmt's kMaxRegionDepth deep.
  planwright::Status run_body(uint32_t step, uint32_t body);
  planwright::Status run_loop(uint32_t step);

  pw_engine* engine_ = nullptr;
  pw_context_options options_ = {};

  planwright::Executor* executor_ = nullptr;  // one of the three below
  planwright::InlineExecutor inline_executor_;
  planwright::loader::CallerExecutor caller_executor_;
  planwright::ThreadPool* pool_ = nullptr;

  planwright::loader::InputShapes inputs_;
  planwright::planfmt::ShapeValues shapes_;
  planwright::planfmt::Array<planwright::loader::Buffer> buffers_;  // one for each binding
  int64_t profile_ = -1;                                            // which memory and schedule have room for
  bool resolved_ = false;                                           // schedule_ is for inputs_
  bool bound_ = false;  // buffers_ have been checked and schedule_ points to them
  planwright::loader::InputValues values_;
  bool valued_ = false;  // what depends on input values has been placed
  bool ran_ = false;     // every symbol has its value

  // Counts what has been made known. A step's results are made known again where they change, and where something they
  // may be combined with has become known since.
  uint64_t known_ = 0;
  uint64_t known_before_ = 0;                      // any step ran
  uint64_t newest_known_ = 0;                      // of what this run has come by
  planwright::planfmt::Array<uint64_t> known_at_;  // of each step's results; 0: never

  planwright::planfmt::AlignedBytes owned_;
  planwright::loader::ContextMemory memory_;
  uint64_t memory_bytes_ = 0;
  planwright::loader::Schedule schedule_;
};

#endif  // PLANWRIGHT_LOADER_CONTEXT_H_
