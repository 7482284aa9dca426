// Random cases of the contractions, and the epilogues that they are tried with.
#ifndef PLANWRIGHT_TESTS_SUPPORT_CONTRACTION_CASES_H_
#define PLANWRIGHT_TESTS_SUPPORT_CONTRACTION_CASES_H_

#include <string>
#include <vector>

#include "tests/support/kernel_harness.h"

namespace planwright::testing {

// What the fast contractions are held to: sums of k products may lose a few units in the last place for each of the
// log k .. k additions that they make in another order.
inline constexpr Tolerance kContractionTolerance = {.relative = 4e-6, .absolute = 1e-6, .dot_factor = 1.0};

// A frequent epilogue. Operand 0 is a bias along the columns, operand 1 has the output's dims.
struct NamedEpilogue {
  std::string name;
  std::vector<PwInstr> program;
  bool has_bias = false, has_residual = false;
  bool straight = true;  // recognised by match_straight
};
const std::vector<NamedEpilogue>& named_epilogues();

// Gives the case an epilogue, with random operands. `column_axis` is the output's.
void add_epilogue(Rng& rng, const NamedEpilogue& epilogue, int column_axis, KernelCase* c);

// Of channels-last [N, C, spatial...]: pixels `padding` elements apart more than they need to be.
Dims pixel_strides(const Dims& dims, int64_t padding);

struct ConvShape {
  int64_t batch = 1, channels = 1, filters = 1;
  Dims input, kernel;
  Dims stride = {1, 1}, dilation = {1, 1}, pad = {0, 0}, pad_end = {0, 0};
  int group = 1;
  int64_t input_padding = 0, output_padding = 0;  // elements between pixels

  Dims output() const;
};
// A channels-last convolution with random elements.
KernelCase conv_case(Rng& rng, const ConvShape& shape);
// A transposed one. `shape.input` is its input; output_extra: how much longer each spatial axis of the output is than
// it must be.
KernelCase transpose_case(Rng& rng, const ConvShape& shape, int64_t output_extra);
ConvShape random_conv_shape(Rng& rng);

// Kernels of `op` whose names start with `family`, for the instruction sets this CPU has; without those that are for
// few columns only, some of which are the second list.
std::vector<const KernelDescriptor*> family_of(OpKind op, const std::string& family);
std::vector<const KernelDescriptor*> few_column_kernels(OpKind op);

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_CONTRACTION_CASES_H_
