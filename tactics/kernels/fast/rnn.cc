#include "tactics/kernels/fast/rnn.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/flush_denormals.h"
#include "tactics/kernels/fast/rnn_plan.h"

namespace planwright::fast {
namespace {

// A range of sequences in one direction.
struct Rows {
  int64_t direction, begin, end;
};
// The range of units that a task computes, in blocks.
struct Blocks {
  int64_t begin, end;
};

class Recurrence {
 public:
  Recurrence(const KernelArgs& args, const RnnTier& tier)
      : args_(args),
        tier_(tier),
        params_(args.params_as<RnnParams>()),
        plan_(rnn_plan(args, tier)),
        split_(split_rnn(plan_, args.tactic)),
        rows_(plan_.rows(params_.kind)),
        memory_(reinterpret_cast<float*>(args.workspace + plan_.lengths_bytes())),
        lengths_(reinterpret_cast<int64_t*>(args.workspace)) {
    const int time_axis = params_.batch_first != 0 ? 1 : 0;
    gates_time_ = args.inputs[kGates].strides[time_axis];
    gates_row_ = args.inputs[kGates].strides[1 - time_axis];
    if (const TensorView* y = rnn_output(args, kY)) {
      const bool first = params_.batch_first != 0;
      y_time_ = y->strides[first ? 1 : 0];
      y_direction_ = y->strides[first ? 2 : 1];
      y_row_ = y->strides[first ? 0 : 2];
    }
    const RnnFunction single = params_.kind == RnnKind::kLstm  ? tier.lstm
                               : params_.kind == RnnKind::kGru ? tier.gru
                                                               : tier.plain;
    finish_[0] = plan_.two_phases ? tier.gru_reset : single;
    finish_[1] = tier.gru_update;
  }

  Status run() {
    PW_RETURN_IF_ERROR(read_lengths());
    const int64_t groups = plan_.directions * split_.row_groups;
    // One thread goes to and fro through all units (run_phase), not through each group of them: of nsnet2's GRU, whose
    // weights hardly fit into L2, that is 10 % of the time.
    if (split_.unit_groups <= 1 || args_.executor->workers() == 1) {
      parallel_sums(*args_.executor, groups, [&](int64_t task, int worker) {
        const Rows rows = rows_of(task);
        begin(rows);
        for (int64_t step = 0; step < longest_; ++step) {
          for (int phase = 0; phase < phases(); ++phase) run_phase(rows, {0, plan_.blocks}, step, phase, worker);
        }
        end(rows);
      });
      return kOkStatus;
    }
    parallel_sums(*args_.executor, groups, [&](int64_t task, int) { begin(rows_of(task)); });
    for (int64_t step = 0; step < longest_; ++step) {
      for (int phase = 0; phase < phases(); ++phase) {
        parallel_sums(*args_.executor, groups * split_.unit_groups, [&](int64_t task, int worker) {
          const int64_t group = task % split_.unit_groups;
          const Blocks blocks = {part_begin(plan_.blocks, split_.unit_groups, group),
                                 part_begin(plan_.blocks, split_.unit_groups, group + 1)};
          run_phase(rows_of(task / split_.unit_groups), blocks, step, phase, worker);
        });
      }
    }
    parallel_sums(*args_.executor, groups, [&](int64_t task, int) { end(rows_of(task)); });
    return kOkStatus;
  }

 private:
  int phases() const { return plan_.two_phases ? 2 : 1; }

  Rows rows_of(int64_t task) const {
    const int64_t group = task % split_.row_groups;
    return {task / split_.row_groups, part_begin(plan_.batch, split_.row_groups, group),
            part_begin(plan_.batch, split_.row_groups, group + 1)};
  }

  Status read_lengths() {
    const TensorView* view = rnn_input(args_, kLengths);
    longest_ = 0;
    for (int64_t i = 0; i < plan_.batch; ++i) {
      int64_t length = plan_.times;
      if (view != nullptr) {
        const int64_t at = i * view->strides[0];
        length = view->dtype == DType::kI32 ? view->as<const int32_t>()[at] : view->as<const int64_t>()[at];
        if (length < 0 || length > plan_.times) {
          return error(StatusCode::kPrecondition, "Rnn: length %ld of sequence %ld is outside 0 to %ld", length, i,
                       plan_.times);
        }
      }
      lengths_[i] = length;
      if (length > longest_) longest_ = length;
    }
    return kOkStatus;
  }

  float* memory(int64_t direction, int64_t row, int which) const {
    return memory_ + ((direction * plan_.batch + row) * rows_ + which) * plan_.padded_units();
  }
  // The state before a step.
  float* state(int64_t direction, int64_t row, int64_t step) const {
    return memory(direction, row, static_cast<int>(step & 1));
  }
  float* cell(int64_t direction, int64_t row) const { return memory(direction, row, 2); }
  float* gated(int64_t direction, int64_t row) const { return memory(direction, row, 2); }
  float* update(int64_t direction, int64_t row) const { return memory(direction, row, 3); }

  // Of a state [direction, row, unit], or [row, direction, unit] where the batch comes first.
  int64_t state_offset(const TensorView& view, int64_t direction, int64_t row) const {
    const bool first = params_.batch_first != 0;
    return direction * view.strides[first ? 1 : 0] + row * view.strides[first ? 0 : 1];
  }
  void load_state(int which, int64_t direction, int64_t row, float* to) const {
    const TensorView* view = rnn_input(args_, which);
    if (view == nullptr) return;
    const float* from = view->as<const float>() + state_offset(*view, direction, row);
    for (int64_t i = 0; i < plan_.hidden; ++i) to[i] = from[i * view->strides[2]];
  }
  void store_state(int which, int64_t direction, int64_t row, const float* from) const {
    const TensorView* view = rnn_output(args_, which);
    if (view == nullptr) return;
    float* to = view->as<float>() + state_offset(*view, direction, row);
    for (int64_t i = 0; i < plan_.hidden; ++i) to[i * view->strides[2]] = from[i];
  }
  float* y_row(int64_t direction, int64_t row, int64_t time) const {
    const TensorView* y = rnn_output(args_, kY);
    return y == nullptr ? nullptr : y->as<float>() + direction * y_direction_ + row * y_row_ + time * y_time_;
  }

  // Initial states, and Y past the end of each sequence.
  void begin(const Rows& rows) const {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      memset(memory(rows.direction, row, 0), 0, static_cast<size_t>(rows_ * plan_.padded_units()) * sizeof(float));
      load_state(kInitialH, rows.direction, row, state(rows.direction, row, 0));
      if (params_.kind == RnnKind::kLstm) load_state(kInitialC, rows.direction, row, cell(rows.direction, row));
      for (int64_t time = lengths_[row]; time < plan_.times; ++time) {
        float* y = y_row(rows.direction, row, time);
        if (y != nullptr) memset(y, 0, static_cast<size_t>(plan_.hidden) * sizeof(float));
      }
    }
  }

  void end(const Rows& rows) const {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      store_state(kLastH, rows.direction, row, state(rows.direction, row, lengths_[row]));
      if (params_.kind == RnnKind::kLstm) store_state(kLastC, rows.direction, row, cell(rows.direction, row));
    }
  }

  void run_phase(const Rows& rows, const Blocks& blocks, int64_t step, int phase, int worker) const {
    auto* sums = reinterpret_cast<float*>(args_.scratch + static_cast<size_t>(worker) * args_.scratch_stride);
    for (int64_t i = blocks.begin; i < blocks.end; ++i) {
      // To and fro, so that a step begins with the weights that the last one left in the cache.
      const int64_t block = (step & 1) == 0 ? i : blocks.begin + blocks.end - 1 - i;
      int64_t row = rows.begin;
      while (row < rows.end) {
        // The next sequences that have not ended.
        int64_t tile[kMaxTileRows];
        int count = 0;
        for (; row < rows.end && count < plan_.tile_rows; ++row) {
          if (step < lengths_[row]) tile[count++] = row;
        }
        if (count == 0) break;
        multiply(rows.direction, tile, count, block, step, phase, sums);
        for (int j = 0; j < count; ++j) {
          finish(rows.direction, tile[j], block, step, phase,
                 sums + j * static_cast<int64_t>(plan_.gates * plan_.block_units));
        }
      }
    }
  }

  void multiply(int64_t direction, const int64_t* tile_rows, int count, int64_t block, int64_t step, int phase,
                float* sums) const {
    const float* packed = reinterpret_cast<const float*>(args_.packed) + direction * plan_.packed_floats() +
                          block * plan_.block_units * plan_.gates * plan_.hidden;
    const float* states[kMaxTileRows];
    for (int i = 0; i < count; ++i) {
      states[i] = phase == 0 ? state(direction, tile_rows[i], step) : gated(direction, tile_rows[i]);
    }
    const int end = plan_.two_phases ? phase + 1 : plan_.panels;
    for (int panel = plan_.two_phases ? phase : 0; panel < end; ++panel) {
      const int before = plan_.first_gate[panel] * plan_.block_units;
      const int width = plan_.first_gate[panel + 1] * plan_.block_units - before;
      float* out[kMaxTileRows];
      for (int i = 0; i < count; ++i) out[i] = sums + i * (plan_.gates * plan_.block_units) + before;
      GemmTile tile = {};
      tile.rows = states;
      tile.taps = 1;
      tile.depth = plan_.hidden;
      tile.panel = packed + before * plan_.hidden;
      tile.panel_step = width;
      tile.out = out;
      tile.valid = tier_.gemm->lanes;
      tier_.gemm->kernels[count][width / tier_.gemm->lanes](tile);
    }
  }

  void finish(int64_t direction, int64_t row, int64_t block, int64_t step, int phase, const float* sums) const {
    const bool backwards = params_.directions == 2 ? direction == 1 : params_.reverse != 0;
    const int64_t time = backwards ? lengths_[row] - 1 - step : step;
    const int64_t unit = block * plan_.block_units;
    const TensorView *bias = rnn_input(args_, kBias), *peephole = rnn_input(args_, kPeephole);
    float* y = y_row(direction, row, time);
    RnnUnits units = {};
    units.units = plan_.units_of(block);
    units.sums = sums;
    units.sums_pitch = plan_.block_units;
    units.gates = args_.inputs[kGates].as<const float>() + time * gates_time_ + row * gates_row_ +
                  direction * plan_.gates * plan_.hidden + unit;
    units.gates_pitch = plan_.hidden;
    units.bias = bias == nullptr ? nullptr : bias->as<const float>() + direction * bias->strides[0] + unit;
    units.peephole =
        peephole == nullptr ? nullptr : peephole->as<const float>() + direction * peephole->strides[0] + unit;
    units.state = state(direction, row, step) + unit;
    units.next = state(direction, row, step + 1) + unit;
    if (params_.kind == RnnKind::kLstm) units.cell = cell(direction, row) + unit;
    if (plan_.two_phases) {
      units.gated = gated(direction, row) + unit;
      units.update = update(direction, row) + unit;
    }
    units.y = y == nullptr ? nullptr : y + unit;
    units.clip = params_.clip > 0 ? params_.clip : __builtin_inff();
    units.activations = params_.activations + 3 * direction;
    units.alpha = params_.alpha + 3 * direction;
    units.beta = params_.beta + 3 * direction;
    units.input_forget = params_.input_forget != 0;
    finish_[phase](units);
  }

  const KernelArgs& args_;
  const RnnTier& tier_;
  const RnnParams& params_;
  const RnnPlan plan_;
  const RnnSplit split_;
  const int rows_;
  float* memory_;     // [direction][batch][rows][padded units]
  int64_t* lengths_;  // [batch]
  int64_t longest_ = 0;
  int64_t gates_time_, gates_row_;
  int64_t y_time_ = 0, y_direction_ = 0, y_row_ = 0;
  RnnFunction finish_[2];  // of a phase
};

}  // namespace

Status run_rnn(const KernelArgs& args, const RnnTier& tier) { return Recurrence(args, tier).run(); }

}  // namespace planwright::fast
