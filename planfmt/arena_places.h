// Where the storages of a program's arena lie.
#ifndef PLANWRIGHT_PLANFMT_ARENA_PLACES_H_
#define PLANWRIGHT_PLANFMT_ARENA_PLACES_H_

#include "schemas/plan_generated.h"

namespace planwright::planfmt {

class ArenaPlaces {
 public:
  ArenaPlaces() = default;
  // `up_to_opt`: for inputs none of which is longer than the profile's opt, which have places of their own where the
  // program says so. The program must outlive this.
  ArenaPlaces(const plan::Program& program, bool up_to_opt)
      : storages_(program.storages()), places_(up_to_opt ? program.opt_places() : nullptr) {}

  uint64_t offset(uint32_t storage) const {
    return places_ != nullptr ? places_->Get(storage)->offset() : storages_->Get(storage)->offset();
  }
  uint64_t size(uint32_t storage) const {
    return places_ != nullptr ? places_->Get(storage)->size() : storages_->Get(storage)->size();
  }

 private:
  const flatbuffers::Vector<const plan::Storage*>* storages_ = nullptr;
  const flatbuffers::Vector<const plan::Place*>* places_ = nullptr;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_ARENA_PLACES_H_
