// Structs that grow: struct_size says how much of one the caller was compiled with.
#ifndef PLANWRIGHT_LOADER_OPTIONS_H_
#define PLANWRIGHT_LOADER_OPTIONS_H_

#include <cstddef>
#include <cstring>

#include "schemas/types/status.h"

namespace planwright::loader {

// Copies what the caller gave over the defaults that *options holds; `given` may be null. kInvalid for a struct_size
// that was never set.
template <typename Options>
Status take_options(const Options* given, Options* options) {
  if (given == nullptr) return kOkStatus;
  if (given->struct_size < sizeof given->struct_size) {
    return error(StatusCode::kInvalid, "the options' struct_size is %zu: set it to their sizeof", given->struct_size);
  }
  const size_t known = sizeof(Options);
  memcpy(options, given, given->struct_size < known ? given->struct_size : known);
  options->struct_size = known;
  return kOkStatus;
}

// The other way: writes as much of `answer` as the caller's struct holds.
template <typename Info>
Status give_info(const Info& answer, Info* info) {
  if (info == nullptr || info->struct_size < sizeof info->struct_size) {
    return error(StatusCode::kInvalid, "the info struct is NULL or its struct_size not set");
  }
  const size_t size = info->struct_size < sizeof answer ? info->struct_size : sizeof answer;
  memcpy(reinterpret_cast<char*>(info) + sizeof info->struct_size,
         reinterpret_cast<const char*>(&answer) + sizeof answer.struct_size, size - sizeof answer.struct_size);
  return kOkStatus;
}

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_OPTIONS_H_
