#include "planfmt/shapes.h"
#include "planfmt/step_reader.h"
#include "planfmt/verify_parts.h"

namespace planwright::planfmt {
namespace {

// Whatever a kernel or expression finds wrong at the shapes the engine was tuned for is the file's fault.
Status as_corrupt(Status status) {
  return status.ok() || status.code() == StatusCode::kResource ? status : Status(StatusCode::kCorrupt);
}

}  // namespace

Status verify_tactics(const plan::Plan& plan, const plan::Program& program, const KernelCatalog& catalog,
                      const Array<const void*>& kernels) {
  Array<Shape> inputs;
  PW_RETURN_IF_ERROR(inputs.allocate(input_count(plan)));
  opt_shapes(*plan.profiles()->Get(program.profile()), inputs.data());
  ShapeValues shapes;
  PW_RETURN_IF_ERROR(shapes.prepare(plan));
  if (const Status status = shapes.evaluate(plan, inputs.data()); !status.ok()) {
    return error_context(as_corrupt(status), "the opt shapes of profile %u: ", program.profile());
  }
  StepReader reader;
  PW_RETURN_IF_ERROR(reader.prepare(plan, program));
  const auto& steps = *program.regions()->Get(0)->steps();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const plan::Step& step = *steps.Get(i);
    StepFacts facts;
    StepNeeds needs;
    Status status = reader.read(step, shapes.values(), &facts);
    if (status.ok()) status = catalog.check(kernels[step.kernel()], facts, &needs);
    if (status.ok()) status = reader.check_needs(step, needs);
    if (!status.ok()) {
      return error_context(as_corrupt(status), "step %u (layer %s, kernel %s): ", i, step.name()->c_str(),
                           plan.kernels()->Get(step.kernel())->name()->c_str());
    }
  }
  return kOkStatus;
}

}  // namespace planwright::planfmt
