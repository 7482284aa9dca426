// How much a plan may hold: far above what a builder writes, low enough that a hostile plan is refused at once instead
// of keeping the verifier busy.
#ifndef PLANWRIGHT_PLANFMT_LIMITS_H_
#define PLANWRIGHT_PLANFMT_LIMITS_H_

#include <cstdint>

namespace planwright::planfmt {

inline constexpr uint32_t kMaxTables = 1u << 20;  // FlatBuffers tables; bounds steps, tensors, guards as well
inline constexpr uint32_t kMaxTableDepth = 8;     // Plan > Program > Region > Step is four
inline constexpr uint32_t kMaxProfiles = 256;
inline constexpr uint32_t kMaxPrograms = 1024;
// Evaluated once a profile when an engine is opened: 256 profiles x 2^18 is the most work the two allow.
inline constexpr uint32_t kMaxExpressions = 1u << 18;
inline constexpr uint32_t kMaxBindings = 4096;
inline constexpr uint32_t kMaxSymbols = 1u << 15;
inline constexpr uint32_t kMaxKernels = 1u << 16;
inline constexpr uint32_t kMaxBlobs = 1u << 20;
inline constexpr uint32_t kMaxStorages = 1u << 20;
inline constexpr uint32_t kMaxStepOperands = 1u << 14;  // a Concat of thousands of inputs exists
inline constexpr uint32_t kMaxStepScalars = 1u << 14;
inline constexpr uint32_t kMaxRegionDepth = 16;  // bodies of If and Loop within each other
inline constexpr uint32_t kMaxInputValues = 64;  // of one shape input
inline constexpr uint32_t kMaxNoteBytes = 4096;
inline constexpr int32_t kMaxThreads = 256;

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_LIMITS_H_
