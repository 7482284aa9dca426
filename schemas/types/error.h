// How the building side fails: an exception that carries a status code and one readable message (what, where in the
// model, what to do). Never used by the loader, planfmt's read side or kernels, which return Status.
#ifndef PLANWRIGHT_SCHEMAS_TYPES_ERROR_H_
#define PLANWRIGHT_SCHEMAS_TYPES_ERROR_H_

#include <stdexcept>
#include <string>

#include "schemas/types/status.h"

namespace planwright {

class Error : public std::runtime_error {
 public:
  Error(StatusCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  StatusCode code() const { return code_; }

 private:
  StatusCode code_;
};

// Turns a failed Status into an Error with the thread's error text, `context` in front of it ("writing x: ").
inline void throw_if_error(Status status, const std::string& context = "") {
  if (!status.ok()) throw Error(status.code(), context + last_error());
}

}  // namespace planwright

#endif  // PLANWRIGHT_SCHEMAS_TYPES_ERROR_H_
