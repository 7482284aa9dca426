// The semantic verifier: whether a plan that FlatBuffers' verifier passed means something that can be run safely.
//
// After it, code may follow every index of the plan without looking. What depends on shapes (whether a tensor lies
// within its storage, whether a kernel takes its operands) is checked here at each profile's opt, and again by the
// loader for the shapes that are set (StepReader, KernelCatalog::check).
#ifndef PLANWRIGHT_PLANFMT_VERIFY_H_
#define PLANWRIGHT_PLANFMT_VERIFY_H_

#include <cstdint>

#include "planfmt/catalog.h"
#include "planfmt/memory.h"
#include "schemas/plan_generated.h"
#include "schemas/types/status.h"

namespace planwright::planfmt {

struct PlanSizes {
  uint64_t plan_bytes = 0;     // of the FlatBuffer
  uint64_t weights_bytes = 0;  // of the weights section
};

// Fills `kernels` with the catalog's handle of each of Plan.kernels.
// Errors: kCorrupt, naming the field or the layer; kIncompatible for a kernel that is not in the catalog, for a profile
// all of whose programs need an instruction set that the CPU lacks, for what the schema allows and this version does
// not run; kResource for sizes that no address space holds, and where there is no memory.
Status verify_plan(const plan::Plan& plan, const PlanSizes& sizes, const KernelCatalog& catalog,
                   Array<const void*>* kernels);

// The program to run a profile with: that of the highest instruction set the CPU has, the first of equals. Null where
// there is none; verify_plan() made sure of one for each profile.
const plan::Program* program_of(const plan::Plan& plan, uint32_t profile, const KernelCatalog& catalog);

// The profile's opt of each input, in the plan's order, into room for input_count(plan).
struct Shape;
void opt_shapes(const plan::Profile& profile, Shape* inputs);

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_VERIFY_H_
