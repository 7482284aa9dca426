#include "schemas/types/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace planwright {
namespace {

constexpr int kTextBytes = 1024;
thread_local char error_text[kTextBytes] = "";

}  // namespace

const char* name_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kInvalid: return "INVALID";
    case StatusCode::kUnsupported: return "UNSUPPORTED";
    case StatusCode::kCorrupt: return "CORRUPT";
    case StatusCode::kIncompatible: return "INCOMPATIBLE";
    case StatusCode::kResource: return "RESOURCE";
    case StatusCode::kIo: return "IO";
    case StatusCode::kCancelled: return "CANCELLED";
    case StatusCode::kPrecondition: return "PRECONDITION";
  }
  return "?";
}

Status error(StatusCode code, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error_text, kTextBytes, format, list);
  va_end(list);
  return Status(code);
}

Status error_context(Status status, const char* format, ...) {
  char old_text[kTextBytes];
  memcpy(old_text, error_text, kTextBytes);
  va_list list;
  va_start(list, format);
  const int used = vsnprintf(error_text, kTextBytes, format, list);
  va_end(list);
  if (used >= 0 && used < kTextBytes)
    snprintf(error_text + used, static_cast<size_t>(kTextBytes - used), "%s", old_text);
  return status;
}

const char* last_error() { return error_text; }

}  // namespace planwright
