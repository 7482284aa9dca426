// Included first by every *.tier.cc, which is compiled once per instruction set tier (tactics/kernels/CMakeLists.txt).
//
// A tier file puts everything into namespace planwright::PW_TIER_NAMESPACE and exports one symbol, the table of its
// kKernels: its last line is PW_EXPORT_KERNELS(gemm_f32).
//
// It uses no inline code of the standard library and nothing else that the linker could merge with another tier's copy
// (tests/install/tiers.sh reads the objects: one table each, no weak symbols).
#ifndef PLANWRIGHT_TACTICS_KERNELS_TIER_H_
#define PLANWRIGHT_TACTICS_KERNELS_TIER_H_

#include "hwy/highway.h"
#include "tactics/kernels/kernel.h"
#include "tactics/kernels/registry.h"

static_assert(HWY_TARGET == PW_TIER_TARGET, "the flags of this tier do not give the Highway target it is named for");

#define PW_CONCAT_INNER(a, b) a##b
#define PW_CONCAT(a, b) PW_CONCAT_INNER(a, b)
#define PW_STRING_INNER(a) #a
#define PW_STRING(a) PW_STRING_INNER(a)

#define PW_TIER_NAMESPACE PW_CONCAT(tier_, PW_TIER)
#define PW_TIER_TABLE(family) PW_CONCAT(family##_table_, PW_TIER)
// "avx2": the end of every kernel's name in this file.
#define PW_TIER_STRING PW_STRING(PW_TIER)

#define PW_EXPORT_KERNELS(family)                                                                             \
  namespace planwright {                                                                                      \
  extern const KernelTable PW_TIER_TABLE(family);                                                             \
  const KernelTable PW_TIER_TABLE(family) = {PW_TIER_NAMESPACE::kKernels,                                     \
                                             sizeof(PW_TIER_NAMESPACE::kKernels) / sizeof(KernelDescriptor)}; \
  }  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_TIER_H_
