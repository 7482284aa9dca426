#include <algorithm>

#include "planfmt/arena_places.h"
#include "planfmt/step_list.h"
#include "planfmt/verify_parts.h"

namespace planwright::planfmt {
namespace {

unsigned long long printable(uint64_t value) { return value; }

// Steps [first, last] in which bytes [begin, end) of the arena are one buffer's.
struct Life {
  uint64_t begin, end;
  uint32_t first, last;
  uint32_t storage;
};

// When each storage is written and read, in the order of the steps. What only one branch of an If has written is not
// there for the other one, nor after it.
class Uses {
 public:
  Status prepare(const plan::Plan& plan, const plan::Program& program, const StepList& steps) {
    plan_ = &plan;
    program_ = &program;
    size_t writes = 0;
    for (uint32_t i = 0; i < steps.size(); ++i) writes += steps[i].outputs()->size();
    PW_RETURN_IF_ERROR(log_.allocate(writes));
    return uses_.allocate(program.storages()->size());
  }

  Status read(int32_t tensor, uint32_t step) {
    if (tensor < 0) return kOkStatus;
    Use& use = of(tensor);
    if (!use.written && is_computed(tensor)) {
      return error(StatusCode::kCorrupt, "reads tensor %d, which no step before it wrote", tensor);
    }
    extend(use, step);
    return kOkStatus;
  }

  void write(int32_t tensor, uint32_t step) {
    if (tensor < 0) return;
    Use& use = of(tensor);
    if (!use.written) {
      log_[log_size_++] = storage_of(tensor);
      use.written = true;
    }
    extend(use, step);
  }

  // Kept for that step too.
  void keep(int32_t tensor, uint32_t step) {
    if (tensor >= 0) extend(of(tensor), step);
  }

  // How much has been written by now.
  size_t mark() const { return log_size_; }
  // Before the second branch of an If: what was written since `begin` is not there.
  void hide_since(size_t begin) {
    for (size_t i = begin; i < log_size_; ++i) uses_[log_[i]].written = false;
  }
  // After both: what the first wrote from `begin` to `middle` and the second since then is there.
  void join(size_t begin, size_t middle) {
    for (size_t i = begin; i < middle; ++i) uses_[log_[i]].in_first = true;
    size_t kept = begin;
    for (size_t i = middle; i < log_size_; ++i) uses_[log_[i]].written = uses_[log_[i]].in_first;
    for (size_t i = begin; i < middle; ++i) {
      Use& use = uses_[log_[i]];
      use.in_first = false;
      if (use.written) log_[kept++] = log_[i];
    }
    log_size_ = kept;
  }

  struct Use {
    bool used, written, in_first;
    uint32_t first, last;
  };
  const Use& operator[](uint32_t storage) const { return uses_[storage]; }

 private:
  // Outputs may be read once written, as the arena is; inputs and weights are there from the start.
  bool is_computed(int32_t tensor) const {
    const plan::Storage& storage = *program_->storages()->Get(storage_of(tensor));
    return storage.kind() == plan::StorageKind::Arena ||
           (storage.kind() == plan::StorageKind::Binding &&
            plan_->bindings()->Get(storage.index())->kind() == plan::BindingKind::Output);
  }
  uint32_t storage_of(int32_t tensor) const {
    return program_->tensors()->Get(static_cast<uint32_t>(tensor))->storage();
  }
  Use& of(int32_t tensor) { return uses_[storage_of(tensor)]; }
  static void extend(Use& use, uint32_t step) {
    if (!use.used) use.first = step;
    use.used = true;
    use.last = step;
  }

  const plan::Plan* plan_ = nullptr;
  const plan::Program* program_ = nullptr;
  Array<Use> uses_;
  Array<uint32_t> log_;  // storages in the order in which they were written
  size_t log_size_ = 0;
};

// Which bytes of the arena are taken, over the places where a buffer begins or ends: a segment tree in an array, so
// that n buffers cost n log n however they lie.
class TakenBytes {
 public:
  Status prepare(const Array<Life>& lives) {
    PW_RETURN_IF_ERROR(bounds_.allocate(2 * lives.size()));
    for (size_t i = 0; i < lives.size(); ++i) {
      bounds_[2 * i] = lives[i].begin;
      bounds_[2 * i + 1] = lives[i].end;
    }
    std::sort(bounds_.begin(), bounds_.end());
    count_ = static_cast<size_t>(std::unique(bounds_.begin(), bounds_.end()) - bounds_.begin());
    return nodes_.allocate(4 * count_);
  }

  bool any(const Life& life) const { return any(1, 0, count_, index(life.begin), index(life.end)); }
  void take(const Life& life) { add(1, 0, count_, index(life.begin), index(life.end), 1); }
  void give(const Life& life) { add(1, 0, count_, index(life.begin), index(life.end), -1); }

 private:
  // `all`: buffers that cover the node's whole range; `most`: the most buffers over any place in it.
  struct Node {
    int32_t all, most;
  };

  size_t index(uint64_t bound) const {
    return static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.begin() + count_, bound) - bounds_.begin());
  }

  bool any(size_t node, size_t low, size_t high, size_t begin, size_t end) const {
    if (end <= low || high <= begin) return false;
    if (begin <= low && high <= end) return nodes_[node].most > 0;
    if (nodes_[node].all > 0) return true;
    const size_t middle = low + (high - low) / 2;
    return any(2 * node, low, middle, begin, end) || any(2 * node + 1, middle, high, begin, end);
  }

  void add(size_t node, size_t low, size_t high, size_t begin, size_t end, int32_t amount) {
    if (end <= low || high <= begin) return;
    if (begin <= low && high <= end) {
      nodes_[node].all += amount;
      nodes_[node].most += amount;
      return;
    }
    const size_t middle = low + (high - low) / 2;
    add(2 * node, low, middle, begin, end, amount);
    add(2 * node + 1, middle, high, begin, end, amount);
    nodes_[node].most = nodes_[node].all + std::max(nodes_[2 * node].most, nodes_[2 * node + 1].most);
  }

  Array<uint64_t> bounds_;
  size_t count_ = 0;
  Array<Node> nodes_;
};

// Takes buffers in the order in which they come alive, having given up those that have ended.
Status verify_no_overlap(Array<Life>& lives) {
  TakenBytes taken;
  PW_RETURN_IF_ERROR(taken.prepare(lives));
  Array<uint32_t> by_end;
  PW_RETURN_IF_ERROR(by_end.allocate(lives.size()));
  std::sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.first < b.first; });
  for (uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  std::sort(by_end.begin(), by_end.end(), [&](uint32_t a, uint32_t b) { return lives[a].last < lives[b].last; });
  size_t ended = 0;
  for (const Life& life : lives) {
    for (; ended < by_end.size() && lives[by_end[ended]].last < life.first; ++ended) taken.give(lives[by_end[ended]]);
    if (taken.any(life)) {
      return error(StatusCode::kCorrupt,
                   "storage %u (bytes %llu to %llu of the arena, steps %u to %u) overlaps another that is alive",
                   life.storage, printable(life.begin), printable(life.end), life.first, life.last);
    }
    taken.take(life);
  }
  return kOkStatus;
}

Status follow_steps(const StepList& steps, uint32_t begin, uint32_t end, Uses* uses);

// Calls follow_steps() for the bodies: kMaxRegionDepth deep at most.
Status follow_bodies(const StepList& steps, uint32_t step, Uses* uses) {
  const size_t begin = uses->mark();
  PW_RETURN_IF_ERROR(follow_steps(steps, steps.body_begin(step, 0), steps.body_end(step, 0), uses));
  if (steps.bodies(step) == 2) {
    const size_t middle = uses->mark();
    uses->hide_since(begin);
    PW_RETURN_IF_ERROR(follow_steps(steps, steps.body_begin(step, 1), steps.body_end(step, 1), uses));
    uses->join(begin, middle);
  }
  // The loader looks at the step's own operands until the last body has run.
  for (const auto* tensors : {steps[step].inputs(), steps[step].outputs()}) {
    for (const int32_t tensor : *tensors) uses->keep(tensor, steps.end(step) - 1);
  }
  return kOkStatus;
}

Status follow_steps(const StepList& steps, uint32_t begin, uint32_t end, Uses* uses) {
  for (uint32_t i = begin; i < end; i = steps.end(i)) {
    const plan::Step& step = steps[i];
    for (const int32_t input : *step.inputs()) {
      const Status status = uses->read(input, i);
      if (!status.ok()) return error_context(status, "step %u (layer %s): ", i, step.name()->c_str());
    }
    for (const int32_t output : *step.outputs()) uses->write(output, i);
    if (steps.bodies(i) > 0) PW_RETURN_IF_ERROR(follow_bodies(steps, i, uses));
  }
  return kOkStatus;
}

Status verify_outputs_written(const plan::Plan& plan, const plan::Program& program, const Uses& uses) {
  Array<uint8_t> written;
  PW_RETURN_IF_ERROR(written.allocate(plan.bindings()->size()));
  for (uint32_t i = 0; i < program.storages()->size(); ++i) {
    const plan::Storage& storage = *program.storages()->Get(i);
    if (storage.kind() == plan::StorageKind::Binding && uses[i].written) written[storage.index()] = 1;
  }
  for (uint32_t i = 0; i < plan.bindings()->size(); ++i) {
    const plan::Binding& binding = *plan.bindings()->Get(i);
    if (binding.kind() == plan::BindingKind::Output && written[i] == 0) {
      return error(StatusCode::kCorrupt, "no step writes output %s", binding.name()->c_str());
    }
  }
  return kOkStatus;
}

// A workspace is alive for its step alone, whichever storage it is.
Status collect_lives(const plan::Program& program, const ArenaPlaces& places, const StepList& steps, const Uses& uses,
                     Array<Life>* lives) {
  PW_RETURN_IF_ERROR(lives->allocate(size_t{program.storages()->size()} + steps.size()));
  size_t count = 0;
  const auto add = [&](uint32_t storage, uint32_t first, uint32_t last) {
    const uint64_t begin = places.offset(storage), size = places.size(storage);
    if (size > 0) (*lives)[count++] = {begin, begin + size, first, last, storage};
  };
  for (uint32_t i = 0; i < program.storages()->size(); ++i) {
    if (program.storages()->Get(i)->kind() != plan::StorageKind::Arena || !uses[i].used) continue;
    uint32_t first = uses[i].first, last = uses[i].last;
    widen_life(steps.nestings(), &first, &last);
    add(i, first, last);
  }
  for (uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[i].workspace() >= 0) add(static_cast<uint32_t>(steps[i].workspace()), i, i);
  }
  lives->truncate(count);
  return kOkStatus;
}

}  // namespace

Status verify_lifetimes(const plan::Plan& plan, const plan::Program& program) {
  StepList steps;
  PW_RETURN_IF_ERROR(steps.prepare(program));
  Uses uses;
  PW_RETURN_IF_ERROR(uses.prepare(plan, program, steps));
  PW_RETURN_IF_ERROR(follow_steps(steps, 0, steps.size(), &uses));
  PW_RETURN_IF_ERROR(verify_outputs_written(plan, program, uses));
  for (const bool up_to_opt : {false, true}) {
    if (up_to_opt && program.opt_places() == nullptr) continue;
    Array<Life> lives;
    PW_RETURN_IF_ERROR(collect_lives(program, ArenaPlaces(program, up_to_opt), steps, uses, &lives));
    PW_RETURN_IF_ERROR(verify_no_overlap(lives));
  }
  return kOkStatus;
}

}  // namespace planwright::planfmt
