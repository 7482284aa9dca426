// A random case of each operator, by family: random_case() picks.
#ifndef PLANWRIGHT_TESTS_SUPPORT_RANDOM_FAMILIES_H_
#define PLANWRIGHT_TESTS_SUPPORT_RANDOM_FAMILIES_H_

#include "tests/support/case_maker.h"

namespace planwright::testing::cases {

// random_contractions.cc
KernelCase pointwise(CaseMaker& make, Rng& rng);
KernelCase matmul(CaseMaker& make);
KernelCase block_matmul(CaseMaker& make);
KernelCase conv(CaseMaker& make);
KernelCase conv_transpose(CaseMaker& make);
KernelCase attention(CaseMaker& make);
KernelCase deform_conv(CaseMaker& make);
KernelCase rnn(CaseMaker& make);
KernelCase tree_ensemble(CaseMaker& make);

// random_reductions.cc
KernelCase pool(CaseMaker& make);
KernelCase resize(CaseMaker& make);
KernelCase reduce(CaseMaker& make);
KernelCase arg_reduce(CaseMaker& make);
KernelCase softmax(CaseMaker& make);
KernelCase layer_norm(CaseMaker& make);
KernelCase group_norm(CaseMaker& make);
KernelCase lrn(CaseMaker& make);
KernelCase cumulative(CaseMaker& make);
KernelCase top_k(CaseMaker& make);
KernelCase grid_sample(CaseMaker& make);
KernelCase roi_align(CaseMaker& make);
KernelCase det(CaseMaker& make);
KernelCase pair_coupling(CaseMaker& make);

// random_selections.cc
KernelCase gather(CaseMaker& make);
KernelCase gather_elements(CaseMaker& make);
KernelCase gather_nd(CaseMaker& make);
KernelCase scatter_elements(CaseMaker& make);
KernelCase scatter_nd(CaseMaker& make);
KernelCase one_hot(CaseMaker& make);
KernelCase trilu(CaseMaker& make);
KernelCase non_zero(CaseMaker& make);
KernelCase unique(CaseMaker& make);
KernelCase non_max_suppression(CaseMaker& make);

// random_movements.cc
KernelCase reshape(CaseMaker& make);
KernelCase transpose(CaseMaker& make, Rng& rng);
KernelCase slice(CaseMaker& make);
KernelCase expand(CaseMaker& make);
KernelCase concat(CaseMaker& make);
KernelCase pad(CaseMaker& make);
KernelCase tile(CaseMaker& make);
KernelCase copy(CaseMaker& make);
KernelCase bit_cast(CaseMaker& make);
KernelCase reverse_sequence(CaseMaker& make);
KernelCase fill(CaseMaker& make, Rng& rng);
KernelCase range(CaseMaker& make);
KernelCase shape_values(CaseMaker& make);
KernelCase random_numbers(CaseMaker& make, Rng& rng);
KernelCase read_values(CaseMaker& make);

}  // namespace planwright::testing::cases

#endif  // PLANWRIGHT_TESTS_SUPPORT_RANDOM_FAMILIES_H_
