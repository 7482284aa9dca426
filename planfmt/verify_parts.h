// The verifier's parts, in the order in which they run; each relies on those before it.
#ifndef PLANWRIGHT_PLANFMT_VERIFY_PARTS_H_
#define PLANWRIGHT_PLANFMT_VERIFY_PARTS_H_

#include "planfmt/verify.h"

namespace planwright::planfmt {

// Expressions, symbols, bindings, guards, profiles: indices, enums, ranks, ranges, names.
Status verify_shapes(const plan::Plan& plan);

// One program's storages, tensors and steps: indices, enums, ranks, alignment, ranges; what a step may write.
// `budget` counts down the list elements visited, so that lists shared by many tables are refused, not followed.
Status verify_program(const plan::Plan& plan, const plan::Program& program, uint64_t* budget);

// That every storage is written before it is read, every output is written, and no two buffers alive at one step share
// bytes of the arena.
Status verify_lifetimes(const plan::Plan& plan, const plan::Program& program);

// That every kernel takes its step at the opt of the program's profile with the memory the plan gives it.
Status verify_tactics(const plan::Plan& plan, const plan::Program& program, const KernelCatalog& catalog,
                      const Array<const void*>& kernels);

// Whether a list may be read in place. FlatBuffers' verifier looks only at the four bytes of its length; an empty list
// is never read.
template <typename T>
bool is_aligned(const flatbuffers::Vector<T>& list, size_t alignment) {
  return list.size() == 0 || reinterpret_cast<uintptr_t>(list.Data()) % alignment == 0;
}

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_VERIFY_PARTS_H_
