// What pw_engine is: an engine file whose plan has been verified. Immutable, so any number of threads may use it.
#ifndef PLANWRIGHT_LOADER_ENGINE_H_
#define PLANWRIGHT_LOADER_ENGINE_H_

#include <atomic>
#include <cstdint>

#include "loader/catalog.h"
#include "planfmt/engine_file.h"
#include "planfmt/memory.h"
#include "planwright/planwright.h"

struct pw_engine {
  // Verifies what open_file or open_memory has opened in `file`.
  planwright::Status verify();

  const planwright::plan::Plan& plan() const { return file.plan(); }
  const planwright::KernelDescriptor& kernel(const planwright::plan::Step& step) const {
    return *static_cast<const planwright::KernelDescriptor*>(kernels[step.kernel()]);
  }
  // kInvalid, naming the bindings there are, where there is none of that name.
  planwright::Status find_binding(const char* name, uint32_t* index) const;

  // The steps that a profile's program runs itself, not those of their bodies: what reports count.
  const flatbuffers::Vector<flatbuffers::Offset<planwright::plan::Step>>& own_steps(uint32_t profile) const;

  planwright::planfmt::EngineFile file;
  planwright::loader::RegistryCatalog catalog{planwright::Isa::kReference};
  planwright::planfmt::Array<const void*> kernels;  // one of each of the plan's
  uint32_t input_count = 0;
  double open_ms = 0;
  std::atomic<int64_t> references{1};
};

namespace planwright::loader {

void keep(pw_engine* engine);
// Ends the engine with its last reference.
void release(pw_engine* engine);

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_ENGINE_H_
