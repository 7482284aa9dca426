#include "planfmt/verify.h"

#include "planfmt/header.h"
#include "planfmt/limits.h"
#include "planfmt/shapes.h"
#include "planfmt/verify_parts.h"

namespace planwright::planfmt {
namespace {

unsigned long long printable(uint64_t value) { return value; }

Status verify_counts(const plan::Plan& plan) {
  const struct {
    const char* what;
    uint32_t count, limit;
  } rows[] = {
      {"expressions", plan.expressions()->size(), kMaxExpressions},
      {"symbols", plan.symbols()->size(), kMaxSymbols},
      {"bindings", plan.bindings()->size(), kMaxBindings},
      {"profiles", plan.profiles()->size(), kMaxProfiles},
      {"kernels", plan.kernels()->size(), kMaxKernels},
      {"programs", plan.programs()->size(), kMaxPrograms},
      {"weight blobs", plan.weights()->size(), kMaxBlobs},
  };
  for (const auto& row : rows) {
    if (row.count > row.limit) {
      return error(StatusCode::kCorrupt, "the plan has %u %s, more than the %u allowed", row.count, row.what,
                   row.limit);
    }
  }
  if (!is_aligned(*plan.expressions(), alignof(plan::Expr)) || !is_aligned(*plan.symbols(), alignof(plan::Symbol)) ||
      !is_aligned(*plan.weights(), alignof(plan::Blob))) {
    return error(StatusCode::kCorrupt, "the plan's expressions, symbols or weights are not aligned");
  }
  if (plan.profiles()->size() == 0) return error(StatusCode::kCorrupt, "the plan has no profile");
  if (plan.threads() < 1 || plan.threads() > kMaxThreads) {
    return error(StatusCode::kCorrupt, "the plan was tuned for %d threads; 1 to %d are allowed", plan.threads(),
                 kMaxThreads);
  }
  if (plan.note() != nullptr && plan.note()->size() > kMaxNoteBytes) {
    return error(StatusCode::kCorrupt, "the plan's note has %u bytes, more than the %u allowed", plan.note()->size(),
                 kMaxNoteBytes);
  }
  return kOkStatus;
}

// Blobs fill the section exactly as the writer places them, so they can neither overlap nor leave unread bytes.
Status verify_weights(const plan::Plan& plan, uint64_t weights_bytes) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < plan.weights()->size(); ++i) {
    const plan::Blob& blob = *plan.weights()->Get(i);
    if (blob.offset() != align_up(end, kBlobAlignment) || !in_range(blob.offset(), blob.size(), weights_bytes)) {
      return error(StatusCode::kCorrupt, "weight blob %u (bytes %llu, size %llu) does not follow the one before it", i,
                   printable(blob.offset()), printable(blob.size()));
    }
    end = blob.offset() + blob.size();
  }
  if (end != weights_bytes) {
    return error(StatusCode::kCorrupt, "the weights section has %llu bytes, its blobs end at %llu",
                 printable(weights_bytes), printable(end));
  }
  return kOkStatus;
}

Status find_kernels(const plan::Plan& plan, const KernelCatalog& catalog, Array<const void*>* kernels) {
  PW_RETURN_IF_ERROR(kernels->allocate(plan.kernels()->size()));
  for (uint32_t i = 0; i < plan.kernels()->size(); ++i) {
    const plan::Kernel& kernel = *plan.kernels()->Get(i);
    PW_RETURN_IF_ERROR(catalog.find(kernel.name()->c_str(), kernel.revision(), &(*kernels)[i]));
  }
  return kOkStatus;
}

// That the CPU has what at least one program of the profile needs; the error is the catalog's about the last of them.
Status verify_runnable(const plan::Plan& plan, uint32_t profile, const KernelCatalog& catalog) {
  Status status = error(StatusCode::kCorrupt, "profile %u has no program", profile);
  for (uint32_t i = 0; i < plan.programs()->size(); ++i) {
    const plan::Program& program = *plan.programs()->Get(i);
    if (program.profile() != profile) continue;
    status = catalog.check_isa(program.isa());
    if (status.ok() || status.code() == StatusCode::kCorrupt) return status;
  }
  return status;
}

}  // namespace

Status verify_plan(const plan::Plan& plan, const PlanSizes& sizes, const KernelCatalog& catalog,
                   Array<const void*>* kernels) {
  PW_RETURN_IF_ERROR(verify_counts(plan));
  PW_RETURN_IF_ERROR(verify_weights(plan, sizes.weights_bytes));
  PW_RETURN_IF_ERROR(verify_shapes(plan));
  for (uint32_t i = 0; i < plan.profiles()->size(); ++i) PW_RETURN_IF_ERROR(verify_runnable(plan, i, catalog));
  // A list that no other table shares takes four bytes an element.
  uint64_t budget = sizes.plan_bytes / 4;
  for (uint32_t i = 0; i < plan.programs()->size(); ++i) {
    PW_RETURN_IF_ERROR(verify_program(plan, *plan.programs()->Get(i), &budget));
    PW_RETURN_IF_ERROR(verify_lifetimes(plan, *plan.programs()->Get(i)));
  }
  PW_RETURN_IF_ERROR(find_kernels(plan, catalog, kernels));
  for (uint32_t i = 0; i < plan.programs()->size(); ++i) {
    PW_RETURN_IF_ERROR(verify_tactics(plan, *plan.programs()->Get(i), catalog, *kernels));
  }
  return kOkStatus;
}

const plan::Program* program_of(const plan::Plan& plan, uint32_t profile, const KernelCatalog& catalog) {
  const plan::Program* best = nullptr;
  for (uint32_t i = 0; i < plan.programs()->size(); ++i) {
    const plan::Program* program = plan.programs()->Get(i);
    if (program->profile() != profile || !catalog.check_isa(program->isa()).ok()) continue;
    if (best == nullptr || program->isa() > best->isa()) best = program;
  }
  return best;
}

void opt_shapes(const plan::Profile& profile, Shape* inputs) {
  for (uint32_t i = 0; i < profile.inputs()->size(); ++i) {
    const auto& opt = *profile.inputs()->Get(i)->opt();
    inputs[i].rank = static_cast<int32_t>(opt.size());
    for (uint32_t axis = 0; axis < opt.size(); ++axis) inputs[i].dims[axis] = opt.Get(axis);
  }
}

}  // namespace planwright::planfmt
