// Writing an engine file.
#ifndef PLANWRIGHT_PLANFMT_WRITE_H_
#define PLANWRIGHT_PLANFMT_WRITE_H_

#include <string>

#include "planfmt/plan_model.h"
#include "schemas/types/status.h"

namespace planwright::planfmt {

// Whether write_engine could create `path`, tried before long work: the folder exists and is writable, and `path` is
// not a directory. Creates nothing that stays. Errors: kIo, with the path and why.
Status check_writable(const std::string& path);

// Writes the engine to a temporary name beside `path`, syncs it, renames it over `path`, syncs the folder. The same
// plan gives the same bytes. Errors: kIo (the old file, if any, is intact; the temporary is removed), kResource.
Status write_engine(const PlanModel& plan, const std::string& path);

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_WRITE_H_
