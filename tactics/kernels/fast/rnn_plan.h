// How the recurrence (rnn.h) cuts its units, gates and sequences.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_RNN_PLAN_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_RNN_PLAN_H_

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/rnn.h"

namespace planwright::fast {

// The operands of OpKind::kRnn.
enum RnnInput { kGates = 0, kR, kBias, kLengths, kInitialH, kInitialC, kPeephole };
enum RnnOutput { kY = 0, kLastH, kLastC };

// Null where it is not given.
const TensorView* rnn_input(const KernelArgs& args, int index);
const TensorView* rnn_output(const KernelArgs& args, int index);

inline constexpr int kMaxGates = 4;

// How the step is made of blocks, panels and phases. A block of units has one panel or more, each of the columns of
// consecutive gates; gates [first_gate[p], first_gate[p + 1]) are panel p's.
struct RnnPlan {
  int64_t directions, times, batch, hidden;
  int gates;
  bool two_phases;  // the second of a GRU's computes the candidate from the gated state
  int panels;
  int first_gate[kMaxGates + 1];
  int block_units;
  int64_t blocks;
  int tile_rows;  // sequences that share a pass over R

  int64_t padded_units() const { return blocks * block_units; }
  // Floats of a direction's packed R.
  int64_t packed_floats() const { return hidden * gates * padded_units(); }
  // The units of a block that there are.
  int units_of(int64_t block) const {
    const int64_t left = hidden - block * block_units;
    return static_cast<int>(left < block_units ? left : block_units);
  }
  // Of the workspace: lengths of sequences, then their rows of padded_units() floats.
  size_t lengths_bytes() const { return align_up(static_cast<size_t>(batch) * sizeof(int64_t), 64); }
  // Rows of floats that a sequence of a direction has: two states in turn, and what its kind needs besides.
  int rows(RnnKind kind) const { return kind == RnnKind::kLstm ? 3 : two_phases ? 4 : 2; }
};

RnnPlan rnn_plan(const KernelArgs& args, const RnnTier& tier);

// Into how many parts tasks are cut.
struct RnnSplit {
  int64_t unit_groups, row_groups;
};
RnnSplit split_rnn(const RnnPlan& plan, const TacticParams& tactic);

// Where part `index` of `parts`, as even as they can be, of `count` things begins.
int64_t part_begin(int64_t count, int64_t parts, int64_t index);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_RNN_PLAN_H_
