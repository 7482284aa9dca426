// One matrix product on its way through the micro kernels: a convolution's group, a MatMul's batch, a phase of a
// transposed convolution. Its rows are output pixels, its columns output channels.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_JOB_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_JOB_H_

#include "tactics/kernels/fast/byte_tile.h"
#include "tactics/kernels/fast/epilogue.h"
#include "tactics/kernels/fast/gemm_panel.h"
#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/fast/half_tile.h"

namespace planwright::fast {

// Which tile a kernel computes at a time, on which tier.
struct GemmShape {
  const GemmTier* tier;  // with bf16 or bytes: of its epilogues
  int rows, vectors;
  const HalfTier* half = nullptr;   // products in bf16, if any
  const ByteTier* bytes = nullptr;  // products of bytes, if any
};

// What its kernels' input, output and epilogue may be.
inline Storage storage_of(const GemmShape& shape) {
  if (shape.bytes != nullptr) return Storage::kBytes;
  return shape.half == nullptr ? Storage::kFloat : Storage::kFloatOrHalf;
}

// Rows of floats that a packed matrix of `depth` rows takes: in bf16, pairs of rows lie together, and are padded to
// whole steps; of bytes, four lie together, behind a row of their columns' sums.
int64_t packed_depth(const GemmShape& shape, int64_t depth);
// As pack_rows (gemm_panel.h), in the form that the shape's micro kernels read.
void pack_gemm_rows(const GemmShape& shape, const PanelPlan& panels, int64_t depth, int64_t row, int64_t count,
                    const float* from, int64_t row_stride, int64_t column_stride, float* packed);
// All rows in bf16, as the micro kernels of such shapes read them, of a B whose element [k][j] is value(context, k, j).
void pack_half_values(const GemmShape& shape, const PanelPlan& panels, int64_t depth,
                      float (*value)(const void* context, int64_t k, int64_t column), const void* context,
                      float* packed);

// All rows of bytes, likewise.
void pack_byte_values(const GemmShape& shape, const PanelPlan& panels, int64_t depth,
                      int8_t (*value)(const void* context, int64_t k, int64_t column), const void* context,
                      float* packed);
// The longest sums of products of bytes whose every value int32 holds.
inline constexpr int64_t kMostByteDepth = 65536;
Status validate_byte_depth(const GemmShape& shape, int64_t depth);

// The rows of a job in the output: a box, walked in row-major order, of every `step`-th position from `start` on along
// each axis of the output but the column's, where the box has the one position `start`.
struct RowBox {
  int rank = 0;
  int64_t dims[kMaxRank];
  int64_t start[kMaxRank];
  int64_t step[kMaxRank];

  int64_t count() const;
};
// All of an output, with `first_column` the job's first column.
RowBox row_box(const TensorView& output, int column_axis, int64_t first_column);

// Walks the rows of a box from row `first` on. Copies are cheap; to start is not, for it divides.
class RowCursor {
 public:
  RowCursor(const RowBox& box, int64_t first) : box_(&box) {
    for (int axis = box.rank - 1; axis >= 0; --axis) {
      at_[axis] = first % box.dims[axis];
      first /= box.dims[axis];
      if (last_ == 0 && box.dims[axis] > 1) last_ = axis;
    }
  }

  const RowBox& box() const { return *box_; }

  // Goes `count` rows further in runs of rows that differ in their index along one axis only, the innermost longer
  // than 1: calls run(indices of its first row, that axis, length) for each.
  template <typename Run>
  void for_each_run(int64_t count, const Run& run) {
    while (count > 0) {
      const int64_t left = box_->dims[last_] - at_[last_];
      const int64_t length = left < count ? left : count;
      run(static_cast<const int64_t*>(at_), last_, length);
      count -= length;
      at_[last_] += length;
      for (int axis = last_; axis > 0 && at_[axis] == box_->dims[axis]; --axis) {
        at_[axis] = 0;
        ++at_[axis - 1];
      }
    }
  }
  void skip(int64_t count) {
    for_each_run(count, [](const int64_t*, int, int64_t) {});
  }

 private:
  const RowBox* box_;
  int last_ = 0;
  int64_t at_[kMaxRank];
};

// to[i] = base + what `strides` (along the output's axes, in elements of that many bytes) make of the cursor's row + i.
// Of what is not floats the addresses are only carried as such.
void row_addresses(RowCursor cursor, int count, const void* base, int64_t element_bytes, const int64_t* strides,
                   const float** to);

// A in bf16 or bytes as an image that overlapping windows are read from: row i at tap t is i * step + offsets[t]
// elements behind `data`, for all rows of a job whose box has `width` columns, of which the first `valid` are in the
// output.
struct ImageRows {
  const std::byte* data;
  int64_t step;
  int64_t taps;
  const int64_t* offsets;
  int64_t width, valid;
  float* nowhere;  // room for a row of all (padded) columns, where other rows go
};

struct GemmJob {
  GemmShape shape;
  PanelPlan panels;
  const float* packed;
  // Where B lies unpacked, its rows contiguous and `unpacked_step` floats apart; null: not needed. Panels without
  // padding are then read there (and need not be packed).
  const float* unpacked = nullptr;
  int64_t unpacked_step = 0;
  int64_t taps, depth;               // K = taps * depth
  DType a_type = DType::kF32;        // bf16 only where products are; in bytes uint8 or int8
  int32_t a_zero = 0;                // in bytes: A's zero point
  const ImageRows* image = nullptr;  // A, in place of row_pointers; taps is 1 then, and depth K
  RowBox rows;
  const Epilogue* epilogue;
  void* out;  // of position 0 of the output
  DType out_type = DType::kF32;
  int64_t out_strides[kMaxRank];
  // Writes the addresses of `count` rows of A from the cursor's on to to[tap * count + row].
  void (*row_pointers)(const void* context, RowCursor cursor, int count, const float** to);
  // Where B is not `packed`: makes one of its panels, as floats, in the task's `room`.
  void (*make_panel)(const void* context, int64_t panel, float* room) = nullptr;
  float* room = nullptr;
  // In place of the micro kernels: the sums of a tile of rows by a panel, rows `pitch` apart.
  void (*multiply)(const void* context, int64_t panel, const float* const* rows, int count, float* sums,
                   int64_t pitch) = nullptr;
  const void* context;
};

// The zero point of a MatMul's or Conv's first operand; 0 where it has none.
int32_t zero_point_of(const KernelArgs& args);

// Tiles of a job: rows cut as evenly as whole rows allow, so that 49 rows in tiles of 12 are 10+10+10+10+9.
int64_t row_tiles(int64_t rows, int tile_rows);

// Bytes of one worker's scratch, for K = taps * depth. Grows with `depth`.
size_t gemm_scratch_size(const GemmShape& shape, int64_t taps, int64_t depth, int operands);

// How a job is cut into tasks, by its shape and the tactic alone.
struct GemmSplit {
  int64_t tiles_per_task, panels_per_task;
  int64_t row_tasks, panel_tasks;

  int64_t tasks() const { return row_tasks * panel_tasks; }
};
// tactic.v[0]: row tiles, v[1]: panels of a task; 0: by estimate. `jobs` like this one run at once.
GemmSplit split_gemm(const GemmShape& shape, int64_t rows, const PanelPlan& panels, int64_t depth, int64_t jobs,
                     const TacticParams& tactic);
// Whether the rows of a product's A and output, along their last axes, lie without gaps.
Status validate_matrix_rows(const TensorView& a, const TensorView& y);
// Whether the tactic's numbers mean something.
Status validate_split(const TacticParams& tactic);
// The cuts worth timing; as KernelDescriptor::tactics.
int list_splits(const GemmShape& shape, int64_t rows, const PanelPlan& panels, int64_t depth, int64_t jobs,
                TacticParams* list, int capacity);

// Computes one task of a job.
void run_gemm_task(const GemmJob& job, const GemmSplit& split, int64_t task, std::byte* scratch);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_JOB_H_
