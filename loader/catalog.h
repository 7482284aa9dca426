// The kernels of this library, as planfmt's verifier sees them; and steps of a plan as kernels see them.
#ifndef PLANWRIGHT_LOADER_CATALOG_H_
#define PLANWRIGHT_LOADER_CATALOG_H_

#include "planfmt/catalog.h"
#include "tactics/kernels/kernel.h"

namespace planwright::loader {

class RegistryCatalog final : public planfmt::KernelCatalog {
 public:
  // `highest`: what the CPU has.
  explicit RegistryCatalog(Isa highest) : highest_(highest) {}

  Status check_isa(uint8_t isa) const override;
  Status find(const char* name, uint32_t revision, const void** kernel) const override;
  Status check(const void* kernel, const planfmt::StepFacts& facts, planfmt::StepNeeds* needs) const override;

 private:
  Isa highest_;
};

// The kernel's arguments without data pointers. `views` has room for the inputs, then the outputs, and belongs to the
// arguments from then on, as do the facts' params, scalars and program.
void fill_args(const KernelDescriptor& kernel, const planfmt::StepFacts& facts, TensorView* views, KernelArgs* args);

// Whether `kernel` may run `args`, which fill_args() made of `facts`, and what memory it needs.
Status check_args(const KernelDescriptor& kernel, const planfmt::StepFacts& facts, const KernelArgs& args,
                  planfmt::StepNeeds* needs);

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_CATALOG_H_
