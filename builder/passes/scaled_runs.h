// How weights are cut into runs of elements that share a scale: what round_weights makes and narrow_constants finds.
#ifndef PLANWRIGHT_BUILDER_PASSES_SCALED_RUNS_H_
#define PLANWRIGHT_BUILDER_PASSES_SCALED_RUNS_H_

#include <algorithm>
#include <cstdint>

#include "builder/ir/graph.h"

namespace planwright::builder {

// Smaller matrices are not worth a node.
inline constexpr int64_t kFewestScaledElements = 16 * 1024;

// `length` elements, `step` apart.
struct ScaledRun {
  int64_t first, length, step;
};

// The runs of a row-major matrix of `columns`: of each column, `block` rows at a time; or of each row.
inline int64_t column_run_count(int64_t rows, int64_t columns, int64_t block) {
  return (rows + block - 1) / block * columns;
}
inline ScaledRun column_run(int64_t rows, int64_t columns, int64_t block, int64_t index) {
  const int64_t first = index / columns * block;
  return {first * columns + index % columns, std::min(block, rows - first), columns};
}
inline ScaledRun row_run(int64_t columns, int64_t index) { return {index * columns, columns, 1}; }

struct IntegerRange {
  double least, most;
};
// Of 4 or 8 bits.
inline IntegerRange integer_range(int bits) { return bits == 4 ? IntegerRange{-8, 7} : IntegerRange{-128, 127}; }

// The scale of a run of which all elements are integers of the type (int4, int8) times that, which are written to their
// places in `to` then; 0 where it holds other numbers. Quantisers give the largest the largest integer, of either sign;
// not all do.
float scale_of(const float* elements, const ScaledRun& run, DType dtype, int8_t* to);

// Whether a value is a constant matrix of fp32 that is large enough.
inline bool is_large_matrix(const ir::Value& value) {
  return value.is_constant() && value.dtype == DType::kF32 && value.rank() == 2 &&
         ir::product(value.dims).constant() >= kFewestScaledElements;
}

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_SCALED_RUNS_H_
