#include "tests/support/kernel_generator.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/hostile_cases.h"

namespace planwright::testing {

void PrintTo(const Generator& generator, std::ostream* stream) { *stream << generator.name; }

void expect_agreement_on_random_cases(const Generator& generator) {
  std::map<std::string, int> taken;
  Rng rng(20);
  for (int i = 0; i < generator.cases; ++i) {
    const KernelCase c = generator.make(rng);
    for (const KernelDescriptor* kernel : kernels_of(generator.op)) {
      if (kernel->precision != Precision::kFull) continue;  // held to another tolerance (half_test)
      if (!validate_case(*kernel, c).ok()) continue;
      SCOPED_TRACE(std::string(kernel->name) + " " + describe(c));
      ++taken[kernel->name];
      expect_like_reference(*kernel, c, generator.tolerance);
      if (i % 10 == 0) expect_same_bits_on_any_threads(*kernel, c);
      if (::testing::Test::HasFailure()) return;
    }
  }
  for (const std::string& family : generator.families) {
    int count = 0;
    for (const auto& [name, cases] : taken) count += name.rfind(family, 0) == 0 ? cases : 0;
    EXPECT_GE(count, generator.cases / 4) << family << " refused almost everything";
  }
}

void expect_hostile_cases_stay_in_bounds(const Generator& generator) {
  Rng rng(30);
  int passed = 0;
  for (const KernelDescriptor* kernel : kernels_of(generator.op)) {
    for (int i = 0; i < 2 * generator.cases; ++i) {
      KernelCase c = generator.make(rng);
      if (!change_hostilely(rng, *kernel, &c)) continue;
      ++passed;
      const Status status = run_kernel(*kernel, c);
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::kPrecondition) << kernel->name << ": " << last_error();
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GE(passed, generator.cases / 5) << "too few of the changed cases were run to show anything";
}

bool coin(Rng& rng) { return random_int(rng, 0, 1) == 1; }

Dims image(Rng& rng, int64_t max_channels) {
  return {random_int(rng, 1, 2), random_int(rng, 1, max_channels), random_int(rng, 1, 12), random_int(rng, 1, 26)};
}

Dims image_strides(Rng& rng, const Dims& dims) {
  if (random_int(rng, 0, 5) == 0) return dense_strides(dims);
  return strides_of(dims, {0, 2, 3, 1}, random_int(rng, 0, 3));
}

}  // namespace planwright::testing
