#include "planfmt/shapes.h"
#include "planfmt/step_reader.h"
#include "planfmt/verify_parts.h"

namespace planwright::planfmt {
namespace {

// Whatever a kernel or expression finds wrong at the shapes the engine was tuned for is the file's fault.
Status as_corrupt(Status status) {
  return status.ok() || status.code() == StatusCode::kResource ? status : Status(StatusCode::kCorrupt);
}

void set_opt_values(const plan::Plan& plan, const plan::Profile& profile, ShapeValues* shapes) {
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    const plan::Symbol& symbol = *plan.symbols()->Get(i);
    if (symbol.origin() != plan::SymbolOrigin::InputValue) continue;
    shapes->set_symbol(i, profile.inputs()->Get(symbol.source())->value_opt()->Get(symbol.element()));
  }
}

}  // namespace

Status verify_tactics(const plan::Plan& plan, const plan::Program& program, const KernelCatalog& catalog,
                      const Array<const void*>& kernels) {
  Array<Shape> inputs;
  PW_RETURN_IF_ERROR(inputs.allocate(input_count(plan)));
  opt_shapes(*plan.profiles()->Get(program.profile()), inputs.data());
  ShapeValues shapes;
  PW_RETURN_IF_ERROR(shapes.prepare(plan, program));
  Status status = shapes.set_dims(inputs.data());
  if (status.ok()) {
    set_opt_values(plan, *plan.profiles()->Get(program.profile()), &shapes);
    status = shapes.evaluate(kValuesStage);
  }
  if (!status.ok()) return error_context(as_corrupt(status), "the opt shapes of profile %u: ", program.profile());
  StepReader reader;
  PW_RETURN_IF_ERROR(reader.prepare(plan, program));
  reader.use(ArenaPlaces(program, true));
  const StepList& steps = shapes.stages().steps();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const plan::Step& step = steps[i];
    if (shapes.stages().of_step(step) > kValuesStage) continue;  // looked at when a run knows its shapes
    StepFacts facts;
    StepNeeds needs;
    status = reader.read(step, shapes.values(), &facts);
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
