// The shapes a caller has set, and the profile that holds them.
#ifndef PLANWRIGHT_LOADER_INPUT_SHAPES_H_
#define PLANWRIGHT_LOADER_INPUT_SHAPES_H_

#include "planfmt/memory.h"
#include "planfmt/shapes.h"

struct pw_engine;

namespace planwright::loader {

// Shapes come one input at a time, so on the way from one set of shapes to the next they may contradict each other. An
// input is `fresh` once it was set after the last settle(); while a shape that is not fresh is left, a contradiction
// may still be resolved by setting it.
class InputShapes {
 public:
  // `only`: the one profile that may be used; -1: any. Inputs that have one shape in every allowed profile have it
  // from the start. kResource.
  Status prepare(const pw_engine& engine, int32_t only);

  // What an input has; a copy of it can be put back.
  struct Input {
    planfmt::Shape shape;
    bool known = false;
    bool fixed = false;  // one shape in all profiles
    bool fresh = false;
  };
  Input get(uint32_t input) const;
  void put(uint32_t input, const Input& state);

  // Takes an input's dims where some profile holds them: kInvalid otherwise, and then nothing has changed.
  Status set(uint32_t input, const int64_t* dims, size_t rank);
  bool is_same(uint32_t input, const int64_t* dims, size_t rank) const;

  // The first input without a shape; -1: all have one.
  int64_t first_missing() const;
  bool all_fresh() const;
  void settle();

  // The profile that holds all shapes and has the fewest elements at its max, the first of equals. kInvalid.
  Status pick_profile(uint32_t* profile) const;
  // Whether no input is longer than the profile's opt along any axis.
  bool are_up_to_opt(uint32_t profile) const;
  // One for each input; for planfmt::ShapeValues.
  const planfmt::Shape* shapes() const { return shapes_.data(); }

 private:
  struct Flags {
    bool known, fixed, fresh;
  };
  bool is_allowed(uint32_t profile) const { return only_ < 0 || static_cast<uint32_t>(only_) == profile; }
  bool holds(uint32_t profile, uint32_t input, const int64_t* dims) const;
  Status refuse(uint32_t input, const int64_t* dims) const;

  const pw_engine* engine_ = nullptr;
  int32_t only_ = -1;
  planfmt::Array<planfmt::Shape> shapes_;
  planfmt::Array<Flags> flags_;
};

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_INPUT_SHAPES_H_
