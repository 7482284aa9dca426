// A step's constants in the form its kernel reads them.
#ifndef PLANWRIGHT_TACTICS_PACK_H_
#define PLANWRIGHT_TACTICS_PACK_H_

#include <cstddef>

#include "tactics/select.h"

namespace planwright::tactics {

// Bytes that pack() writes; 0 where the kernel packs nothing.
size_t packed_size(const StepSpec& spec, const Candidate& candidate);

// Bytes of a step's constants as they are; of those inputs only that are no bit of `packed_inputs`.
uint64_t constant_bytes(const StepSpec& spec, uint32_t packed_inputs);

// Bytes in which the candidate's kernel has them stored.
uint64_t stored_bytes(const StepSpec& spec, const Candidate& candidate);

// Writes the packed form of the constants that the candidate's kernel packs to `destination` (packed_size() bytes).
// Status as the kernel's pack().
Status pack(const StepSpec& spec, const Candidate& candidate, std::byte* destination);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_PACK_H_
