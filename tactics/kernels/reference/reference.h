// The reference kernels: one for every core operator, plain, scalar, for any strides and types the operator has. They
// fold constants, are the oracle of every other kernel's tests, and run what no faster kernel takes.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_REFERENCE_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_REFERENCE_H_

#include "tactics/kernels/kernel.h"

// For validate functions: the shapes, types or attributes cannot be right unless `condition`.
#define PW_REQUIRE(condition, ...)                                                   \
  do {                                                                               \
    if (!(condition)) return ::planwright::error(StatusCode::kInvalid, __VA_ARGS__); \
  } while (false)

namespace planwright::reference {

#define PW_REFERENCE(op, name)                    \
  Status validate_##name(const KernelArgs& args); \
  Status run_##name(const KernelArgs& args);
#define PW_REFERENCE_MEMORY(op, name)              \
  PW_REFERENCE(op, name)                           \
  size_t name##_workspace(const KernelArgs& args); \
  size_t name##_scratch(const KernelArgs& args);
#include "tactics/kernels/reference/kernels.inc"
#undef PW_REFERENCE
#undef PW_REFERENCE_MEMORY

// ---- Checks that validate functions share. Each begins with validate_common.

// Whether output 0 has input 0's type.
Status require_same_type(const KernelArgs& args);
// Whether output 0 has input 0's type and dims.
Status require_same(const KernelArgs& args);
// Whether `axis` is one of `view`'s.
Status require_axis(const KernelArgs& args, int axis, int rank);
// Whether output `index` has exactly these dims.
Status require_dims(const KernelArgs& args, int index, const int64_t* dims, int rank);
// Whether input `index` holds indices: int32 or int64.
Status require_indices(const KernelArgs& args, int index);

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_REFERENCE_H_
