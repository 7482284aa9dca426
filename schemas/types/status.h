// Status codes and the calling thread's error text, shared by every room. Nothing here allocates or throws.
#ifndef PLANWRIGHT_SCHEMAS_TYPES_STATUS_H_
#define PLANWRIGHT_SCHEMAS_TYPES_STATUS_H_

#include <cstdint>

namespace planwright {

// The numbers are the C ABI's return values (planwright.h): only ever add to the end.
enum class StatusCode : int32_t {
  kOk = 0,
  // Use when what the caller or the model says is wrong in itself: a bad shape, a null buffer, a bad attribute.
  kInvalid = 1,
  // Use when the request makes sense but Planwright does not do it (yet): an operator, a type, a rank.
  kUnsupported = 2,
  // Use when the bytes of an engine file cannot be what a builder wrote.
  kCorrupt = 3,
  // Use when the file is sound but not for this loader or CPU: version, instruction set, kernel not registered.
  kIncompatible = 4,
  // Use when memory, address space or a cap ran out.
  kResource = 5,
  // Use when the operating system failed a file operation.
  kIo = 6,
  // Use when the user interrupted.
  kCancelled = 7,
  // Use when an object is not in the state the call needs, or run-time data breaks a kernel's precondition.
  kPrecondition = 8,
};

inline constexpr int kStatusCodeCount = 9;

// "OK", "INVALID", ... as FAULTS.md and every message spell them.
const char* name_of(StatusCode code);

// What a fallible function returns. Only the code travels; the words are the thread's last_error().
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr explicit Status(StatusCode code) : code_(code) {}
  constexpr bool ok() const { return code_ == StatusCode::kOk; }
  constexpr StatusCode code() const { return code_; }

 private:
  StatusCode code_ = StatusCode::kOk;
};

inline constexpr Status kOkStatus{};

// Sets the calling thread's error text (printf style, cut at 1,023 bytes) and returns the code, so that a failure
// is one line: `return error(StatusCode::kCorrupt, "tensor %u: ...", i);`
[[gnu::format(printf, 2, 3)]] Status error(StatusCode code, const char* format, ...);

// Puts words in front of the calling thread's error text ("layer conv1: " + text); returns `status` unchanged.
[[gnu::format(printf, 2, 3)]] Status error_context(Status status, const char* format, ...);

// The calling thread's last error text; never null, valid until its next error.
const char* last_error();

}  // namespace planwright

#define PW_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                       \
    if (::planwright::Status pw_failure = (expression); !pw_failure.ok()) return pw_failure; \
  } while (false)

#endif  // PLANWRIGHT_SCHEMAS_TYPES_STATUS_H_
