#include "tactics/kernels/fast/gemm_panel.h"

#include <string.h>

#include "schemas/types/checked.h"

namespace planwright::fast {

PanelPlan::PanelPlan(int64_t columns, int lanes, int most_vectors) : columns_(columns), lanes_(lanes) {
  if (columns == 0) return;
  const int64_t vectors = (columns - 1) / lanes + 1;
  count_ = (vectors - 1) / most_vectors + 1;
  narrow_ = static_cast<int>(vectors / count_);
  wide_ = vectors % count_;
}

bool packed_bytes(const PanelPlan& plan, int64_t depth, int64_t matrices, size_t* bytes) {
  int64_t size;
  if (!checked_mul(plan.padded_columns(), depth, &size) || !checked_mul(size, matrices, &size) ||
      !checked_mul<int64_t>(size, sizeof(float), &size)) {
    return false;
  }
  *bytes = static_cast<size_t>(size);
  return true;
}

void pack_panel(const PanelPlan& plan, int64_t panel, int64_t depth, int64_t row, int64_t count, const float* from,
                int64_t row_stride, int64_t column_stride, float* packed) {
  const int64_t column = plan.column(panel), width = plan.column(panel + 1) - column;
  const int columns = plan.columns(panel);
  float* to = packed + depth * column + row * width;
  from += column * column_stride;
  for (int64_t k = 0; k < count; ++k, to += width, from += row_stride) {
    if (column_stride == 1) {
      memcpy(to, from, static_cast<size_t>(columns) * sizeof(float));
    } else {
      for (int j = 0; j < columns; ++j) to[j] = from[j * column_stride];
    }
    for (int64_t j = columns; j < width; ++j) to[j] = 0.0f;
  }
}

void pack_rows(const PanelPlan& plan, int64_t depth, int64_t row, int64_t count, const float* from, int64_t row_stride,
               int64_t column_stride, float* packed) {
  for (int64_t panel = 0; panel < plan.count(); ++panel) {
    pack_panel(plan, panel, depth, row, count, from, row_stride, column_stride, packed);
  }
}

const float* whole_vectors(const PanelPlan& plan, int64_t panel, const float* row, float* room) {
  const int64_t column = plan.column(panel), width = plan.column(panel + 1) - column;
  const int columns = plan.columns(panel);
  if (columns == width) return row + column;
  for (int64_t j = 0; j < width; ++j) room[j] = j < columns ? row[column + j] : 0.0f;
  return room;
}

}  // namespace planwright::fast
