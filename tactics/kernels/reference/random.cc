#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// Number `counter` of the sequence that SplitMix64 (Steele, Lea and Flood 2014) gives for `seed`. A number is computed
// from its place alone, so that it does not matter which thread computes it.
uint64_t bits_at(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// In [0, 1): 53 bits.
double uniform_at(uint64_t seed, uint64_t counter) {
  return static_cast<double>(bits_at(seed, counter) >> 11) * 0x1p-53;
}

// Of mean 0 and deviation 1 (Box and Muller 1958), from two numbers of the sequence.
double normal_at(uint64_t seed, uint64_t counter) {
  const double radius = sqrt(-2 * log(1 - uniform_at(seed, 2 * counter)));
  return radius * cos(6.283185307179586 * uniform_at(seed, 2 * counter + 1));
}

}  // namespace

Status validate_random(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<RandomParams>();
  PW_REQUIRE(params.kind == RandomKind::kUniform || params.kind == RandomKind::kNormal, "Random: unknown kind %d",
             static_cast<int>(params.kind));
  PW_REQUIRE(is_float(args.outputs[0].dtype), "Random: the output is %s, not a float", name_of(args.outputs[0].dtype));
  return kOkStatus;
}

Status run_random(const KernelArgs& args) {
  const auto& params = args.params_as<RandomParams>();
  const TensorView& y = args.outputs[0];
  const Box box(y);
  for_each_run(args, box.count(), [&](int64_t begin, int64_t end, int) {
    Position at(box, begin);
    for (int64_t i = begin; i < end; ++i, at.advance(box)) {
      const auto counter = static_cast<uint64_t>(i);
      const bool uniform = params.kind == RandomKind::kUniform;
      const double number = uniform ? uniform_at(params.seed, counter) : normal_at(params.seed, counter);
      store(y, at.offset(y), params.shift + params.scale * number);
    }
  });
  return kOkStatus;
}

}  // namespace planwright::reference
