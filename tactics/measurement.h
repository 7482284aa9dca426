// What is known of one candidate after it was tried: the record that timing makes and the timing cache keeps.
#ifndef PLANWRIGHT_TACTICS_MEASUREMENT_H_
#define PLANWRIGHT_TACTICS_MEASUREMENT_H_

#include <cstdint>
#include <vector>

namespace planwright::tactics {

// Numbers are in the timing cache: only ever add to the end.
enum class Outcome : uint8_t {
  kUntried = 0,  // not run: the reference kernel where a fast one may run
  kTimed,        // raced to the end
  kDropped,      // clearly slower than another; its time is a rough one
  kCrashed,
  kHung,
  kWrong,   // its output differs from the reference's
  kFailed,  // pack() or run() returned an error
};

struct Measurement {
  Outcome outcome = Outcome::kUntried;
  float time_us = 0;  // lower quartile
  float spread = 0;   // how far it may be off, relative to it (one standard error)
  int32_t runs = 0;
};

// Whether such a candidate may be chosen.
constexpr bool is_usable(Outcome outcome) { return outcome <= Outcome::kDropped; }

// The candidate to take, given one measurement for each, best guess first: the lowest index whose time is the best up
// to max(1 %, spread), so that noise does not make two builds differ; the first usable one where none was timed;
// -1 where none is usable.
int winner_of(const std::vector<Measurement>& measurements);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_MEASUREMENT_H_
