// All kernels that are linked in.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REGISTRY_H_
#define PLANWRIGHT_TACTICS_KERNELS_REGISTRY_H_

#include "tactics/kernels/kernel.h"

namespace planwright {

// One family's descriptors for one instruction set, fastest guess first. Each kernel source file exports one.
struct KernelTable {
  const KernelDescriptor* kernels;
  int count;
};

// Every table, in the order in which candidates are tried: higher instruction sets first, reference kernels last.
const KernelTable* const* kernel_tables(int* count);

// The kernel of that name, the descriptors of control flow included; null if there is none.
const KernelDescriptor* find_kernel(const char* name);

// The operator's reference kernel: always there, validates whatever the operator means.
const KernelDescriptor& reference_kernel(OpKind op);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_REGISTRY_H_
