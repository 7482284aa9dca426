#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

constexpr KernelDescriptor kKernels[] = {
#define PW_REFERENCE(op, name)                                                \
  {"reference_" #name,         1,       OpKind::op, Isa::kReference, 0,       \
   reference::validate_##name, nullptr, nullptr,    nullptr,         nullptr, \
   reference::run_##name,      nullptr},
#define PW_REFERENCE_MEMORY(op, name) \
  {"reference_" #name,                \
   1,                                 \
   OpKind::op,                        \
   Isa::kReference,                   \
   0,                                 \
   reference::validate_##name,        \
   nullptr,                           \
   reference::name##_workspace,       \
   reference::name##_scratch,         \
   nullptr,                           \
   reference::run_##name,             \
   nullptr},
#include "tactics/kernels/reference/kernels.inc"
#undef PW_REFERENCE
#undef PW_REFERENCE_MEMORY
};
constexpr int kCount = sizeof(kKernels) / sizeof(kKernels[0]);
static_assert(kCount == kOpKindCount);

}  // namespace

extern const KernelTable reference_table;
const KernelTable reference_table = {kKernels, kCount};

}  // namespace planwright
