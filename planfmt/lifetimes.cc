#include "planfmt/lifetimes.h"

#include <algorithm>

namespace planwright::planfmt {
namespace {

void append(const ProgramModel& program, const std::vector<StepModel>& region, uint32_t owner, StepSequence* sequence) {
  for (const StepModel& step : region) {
    const auto index = static_cast<uint32_t>(sequence->steps.size());
    sequence->steps.push_back(&step);
    sequence->nesting.push_back({owner, 0, step.regions.size() == 1});
    for (const uint32_t body : step.regions) append(program, program.bodies[body - 1], index, sequence);
    sequence->nesting[index].end = static_cast<uint32_t>(sequence->steps.size());
  }
}

}  // namespace

StepSequence sequence_of(const ProgramModel& program) {
  StepSequence sequence;
  append(program, program.steps, kNoStep, &sequence);
  return sequence;
}

std::vector<StorageLife> storage_lives(const ProgramModel& program) {
  const StepSequence sequence = sequence_of(program);
  std::vector<StorageLife> lives(program.storages.size());
  const auto touch = [&](uint32_t storage, uint32_t step) {
    StorageLife& life = lives[storage];
    life.first = life.used ? std::min(life.first, step) : step;
    life.last = std::max(life.last, step);
    life.used = true;
  };
  for (uint32_t i = 0; i < sequence.steps.size(); ++i) {
    const StepModel& step = *sequence.steps[i];
    for (const std::vector<int32_t>* tensors : {&step.inputs, &step.outputs}) {
      for (const int32_t tensor : *tensors) {
        if (tensor < 0) continue;
        const uint32_t storage = program.tensors[static_cast<size_t>(tensor)].storage;
        touch(storage, i);
        touch(storage, sequence.nesting[i].end - 1);  // a Loop's condition is looked at after every iteration
      }
    }
    if (step.workspace >= 0) touch(static_cast<uint32_t>(step.workspace), i);
  }
  for (StorageLife& life : lives) {
    if (life.used) widen_life(sequence.nesting.data(), &life.first, &life.last);
  }
  return lives;
}

}  // namespace planwright::planfmt
