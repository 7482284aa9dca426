#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

// 2: AttentionParams::zero_nan.
constexpr uint32_t revision_of(OpKind kind) { return kind == OpKind::kAttention ? 2 : 1; }

constexpr KernelDescriptor kKernels[] = {
#define PW_REFERENCE(kind, base)           \
  {.name = "reference_" #base,             \
   .revision = revision_of(OpKind::kind),  \
   .op = OpKind::kind,                     \
   .isa = Isa::kReference,                 \
   .validate = reference::validate_##base, \
   .run = reference::run_##base},
#define PW_REFERENCE_MEMORY(kind, base)           \
  {.name = "reference_" #base,                    \
   .revision = revision_of(OpKind::kind),         \
   .op = OpKind::kind,                            \
   .isa = Isa::kReference,                        \
   .validate = reference::validate_##base,        \
   .workspace_size = reference::base##_workspace, \
   .scratch_size = reference::base##_scratch,     \
   .run = reference::run_##base},
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
