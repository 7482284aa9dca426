// Writing an engine file.
#ifndef PLANWRIGHT_PLANFMT_WRITE_H_
#define PLANWRIGHT_PLANFMT_WRITE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "planfmt/plan_model.h"
#include "schemas/types/status.h"

namespace planwright::planfmt {

// Whether write_engine could create `path`, tried before long work: the folder exists and is writable, and `path` is
// not a directory. Creates nothing that stays. Errors: kIo, with the path and why.
Status check_writable(const std::string& path);

// Writes the engine to a temporary name beside `path`, syncs it, renames it over `path`, syncs the folder. The same
// plan gives the same bytes. Errors: kIo (the old file, if any, is intact; the temporary is removed), kResource.
//
// `check`, where given, sees the whole temporary before it takes the place of `path`: an engine that it refuses never
// replaces a good one.
using EngineCheck = std::function<Status(const std::string& temporary)>;
Status write_engine(const PlanModel& plan, const std::string& path, const EngineCheck& check = nullptr);

// The bytes that such a file has, for an engine that is opened from memory. Errors: kResource.
Status engine_bytes(const PlanModel& plan, std::vector<std::byte>* bytes);

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_WRITE_H_
