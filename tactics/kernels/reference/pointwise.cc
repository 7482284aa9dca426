#include "tactics/kernels/reference/evaluate.h"
#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {

Status validate_pointwise(const KernelArgs& args) { return validate_common(args); }

Status run_pointwise(const KernelArgs& args) {
  const Program program(args);
  for_each_position(args, Box(args.outputs[0]), [&](const Position& at, int) { program.run(at); });
  return kOkStatus;
}

}  // namespace planwright::reference
