// How the columns of B are cut into panels, the packed form that micro kernels read: panel after panel, each
// [K][vectors * lanes] with zeros in place of the columns past the last.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_PANEL_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_PANEL_H_

#include <cstddef>
#include <cstdint>

namespace planwright::fast {

// The fewest panels of at most `most_vectors` vectors, as even as whole vectors allow: 80 columns of 16 lanes in
// panels of up to 4 vectors are 3 + 2 vectors, not 4 + 1, so no panel is much narrower than its micro kernel likes.
class PanelPlan {
 public:
  PanelPlan(int64_t columns, int lanes, int most_vectors);

  int64_t count() const { return count_; }
  int vectors(int64_t panel) const { return narrow_ + (panel < wide_ ? 1 : 0); }
  // The panel's first column.
  int64_t column(int64_t panel) const { return (panel * narrow_ + (panel < wide_ ? panel : wide_)) * lanes_; }
  // How many columns it has, the last panel's padding not counted.
  int columns(int64_t panel) const {
    const int64_t width = static_cast<int64_t>(vectors(panel)) * lanes_, rest = columns_ - column(panel);
    return static_cast<int>(width < rest ? width : rest);
  }
  // Of all panels, padding counted. A panel of K rows begins at float K * column(panel) of the packed form.
  int64_t padded_columns() const { return column(count_); }

 private:
  int64_t columns_;
  int lanes_;
  int narrow_ = 1;    // vectors of a panel ...
  int64_t wide_ = 0;  // ... but the first `wide_` have one more
  int64_t count_ = 0;
};

// Bytes of `matrices` packed forms of `depth` rows. False where they do not fit into memory.
[[nodiscard]] bool packed_bytes(const PanelPlan& plan, int64_t depth, int64_t matrices, size_t* bytes);

// Writes rows [row, row + count) of one panel, or of all, of a packed form of `depth` rows. Element (k, j) of the rows
// written is from[k * row_stride + j * column_stride].
void pack_panel(const PanelPlan& plan, int64_t panel, int64_t depth, int64_t row, int64_t count, const float* from,
                int64_t row_stride, int64_t column_stride, float* packed);
void pack_rows(const PanelPlan& plan, int64_t depth, int64_t row, int64_t count, const float* from, int64_t row_stride,
               int64_t column_stride, float* packed);

// The panel's part of `row`, which has an element a column, readable to the next whole vector: where it lies, or copied
// to `room`.
const float* whole_vectors(const PanelPlan& plan, int64_t panel, const float* row, float* room);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_PANEL_H_
