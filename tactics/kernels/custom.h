// Custom operators: those that plugins have registered (planwright/plugin.h), as kernels.
//
// Each is one descriptor of kind kCustom, whose functions call the plugin's. A plan names it like any kernel:
// "plugin:DOMAIN::NAME" at the operator's version as revision.
#ifndef PLANWRIGHT_TACTICS_KERNELS_CUSTOM_H_
#define PLANWRIGHT_TACTICS_KERNELS_CUSTOM_H_

#include <planwright/plugin.h>

#include "tactics/kernels/kernel.h"

namespace planwright {

struct CustomOperator {
  KernelDescriptor kernel;
  pw_operator functions;  // its texts are copies
  const char* title;      // "DOMAIN::NAME"
  const CustomOperator* next;
};

// Registers all of a plugin's operators, or none; they stay for the process's life. Any thread. kInvalid, kIncompatible
// for another ABI, kResource.
Status register_plugin(const pw_plugin* plugin);

// The newest version that is registered; null: none.
const CustomOperator* find_custom_operator(const char* domain, const char* name);

// Whether a plan's kernel is a custom operator's.
bool is_custom_kernel(const char* kernel);
// The kernel at that version. kIncompatible, saying what there is, where it is not registered.
Status find_custom_kernel(const char* kernel, uint32_t version, const KernelDescriptor** found);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_CUSTOM_H_
