#include "planfmt/step_list.h"

#include "planfmt/limits.h"

namespace planwright::planfmt {
namespace {

uint32_t region_count(const plan::Step& step) { return step.regions() == nullptr ? 0 : step.regions()->size(); }

// That the regions are a tree: each but the first is the body of one step, in a region before it.
Status check_regions(const plan::Program& program) {
  const uint32_t count = program.regions()->size();
  if (count == 0) return error(StatusCode::kCorrupt, "a program has no region");
  Array<uint32_t> depth;  // 0: not seen to be a body yet
  PW_RETURN_IF_ERROR(depth.allocate(count));
  for (uint32_t region = 0; region < count; ++region) {
    if (region > 0 && depth[region] == 0) {
      return error(StatusCode::kCorrupt, "region %u is the body of no step before it", region);
    }
    for (const plan::Step* step : *program.regions()->Get(region)->steps()) {
      if (region_count(*step) > 2) {
        return error(StatusCode::kIncompatible, "layer %s has %u bodies; this library runs one or two",
                     step->name()->c_str(), region_count(*step));
      }
      for (uint32_t body = 0; body < region_count(*step); ++body) {
        const uint32_t index = step->regions()->Get(body);
        if (index <= region || index >= count || depth[index] != 0) {
          return error(StatusCode::kCorrupt,
                       "layer %s: its body is region %u, which is not there, not after its own "
                       "or another's",
                       step->name()->c_str(), index);
        }
        depth[index] = depth[region] + 1;
        if (depth[index] > kMaxRegionDepth) {
          return error(StatusCode::kCorrupt, "layer %s: bodies are nested more than %u deep", step->name()->c_str(),
                       kMaxRegionDepth);
        }
      }
    }
  }
  return kOkStatus;
}

}  // namespace

Status StepList::prepare(const plan::Program& program) {
  PW_RETURN_IF_ERROR(check_regions(program));
  size_t total = 0;
  for (const plan::Region* region : *program.regions()) total += region->steps()->size();
  PW_RETURN_IF_ERROR(entries_.allocate(total));
  PW_RETURN_IF_ERROR(nesting_.allocate(total));
  uint32_t count = 0;
  append(program, 0, kNoStep, &count);
  return kOkStatus;
}

// Calls itself at most kMaxRegionDepth deep.
void StepList::append(const plan::Program& program, uint32_t region, uint32_t owner, uint32_t* count) {
  for (const plan::Step* step : *program.regions()->Get(region)->steps()) {
    const uint32_t index = (*count)++, bodies = region_count(*step);
    if (bodies > 0) append(program, step->regions()->Get(0), index, count);
    entries_[index] = {step, bodies, *count};
    if (bodies > 1) append(program, step->regions()->Get(1), index, count);
    nesting_[index] = {owner, *count, bodies == 1};
  }
}

bool StepList::follows(uint32_t step, uint32_t earlier) const {
  if (earlier >= step) return false;
  const uint32_t region = nesting_[earlier].owner;
  uint32_t at = step;
  while (at != kNoStep && at != earlier && nesting_[at].owner != region) at = nesting_[at].owner;
  if (at == kNoStep || at == earlier || bodies(earlier) > 0) return at == earlier;
  // Both are in bodies of one step: an If runs one of its two.
  return region == kNoStep || (at < entries_[region].second) == (earlier < entries_[region].second);
}

}  // namespace planwright::planfmt
