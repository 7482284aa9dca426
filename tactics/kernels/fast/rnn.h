// RNN, GRU and LSTM in fp32. R is packed into blocks: the columns of all gates of a few units next to each other, so
// that a block's product with the state has all that its units need and their new state is computed while the sums are
// in L1. Each step reads all of R once, for a tile of sequences at a time.
//
// A task is a group of sequences in one direction, through all times; or, where that makes too few tasks, the units
// are dealt out too, and all tasks meet after each step.
//
// Tactic: v[0] groups of units, v[1] groups of sequences; 0: by estimate.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_RNN_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_RNN_H_

#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

// The units of a block of one sequence at one step. Of each gate g, the state's part is at sums + g * sums_pitch and
// the input's at gates + g * gates_pitch. What is not const, `state` and the sums have whole vectors.
struct RnnUnits {
  int units;
  const float* sums;
  int64_t sums_pitch;
  const float* gates;
  int64_t gates_pitch;
  const float* bias;      // or null
  const float* peephole;  // as the gates; or null
  const float* state;
  float* next;                       // the new state
  float* cell;                       // LSTM: read and written
  float* gated;                      // GRU: what its candidate is computed from, where that is not the state, ...
  float* update;                     // ... and its update gate until then
  float* y;                          // exactly `units`; or null
  float clip;                        // infinite: none
  const RnnActivation* activations;  // f, g and h, and their numbers
  const float* alpha;
  const float* beta;
  bool input_forget;
};
using RnnFunction = void (*)(const RnnUnits& units);

// What a tier provides.
struct RnnTier {
  const GemmTier* gemm;
  RnnFunction plain, gru, lstm;
  // The halves of a GRU whose reset gate multiplies the state before R does.
  RnnFunction gru_reset, gru_update;
};

Status validate_rnn(const KernelArgs& args, const RnnTier& tier);
size_t rnn_packed_size(const KernelArgs& args, const RnnTier& tier);
size_t rnn_workspace_size(const KernelArgs& args, const RnnTier& tier);
size_t rnn_scratch_size(const KernelArgs& args, const RnnTier& tier);
Status pack_rnn(const KernelArgs& args, const RnnTier& tier, std::byte* destination);
Status run_rnn(const KernelArgs& args, const RnnTier& tier);
int rnn_tactics(const KernelArgs& args, const RnnTier& tier, TacticParams* list, int capacity);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_RNN_H_
