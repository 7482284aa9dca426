#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

double magnitude(double x) { return x < 0 ? -x : x; }

// By Gaussian elimination with the largest pivot of each column; `a`, n x n in row-major order, is used up.
double determinant(double* a, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (magnitude(a[i * n + k]) > magnitude(a[pivot * n + k])) pivot = i;
    }
    if (a[pivot * n + k] == 0) return 0;
    for (int64_t j = k; j < n && pivot != k; ++j) {
      const double moved = a[k * n + j];
      a[k * n + j] = a[pivot * n + j];
      a[pivot * n + j] = moved;
    }
    product *= pivot == k ? a[k * n + k] : -a[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

}  // namespace

Status validate_det(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView& x = args.inputs[0];
  PW_REQUIRE(x.rank >= 2 && x.dims[x.rank - 1] == x.dims[x.rank - 2], "Det: the input is not of square matrices");
  PW_REQUIRE(is_float(x.dtype), "Det: the input is %s, not a float", name_of(x.dtype));
  PW_REQUIRE(x.dims[x.rank - 1] <= kMaxDetSize, "Det: matrices of %ld rows", x.dims[x.rank - 1]);
  PW_RETURN_IF_ERROR(require_same_type(args));
  return require_dims(args, 0, x.dims, x.rank - 2);
}

size_t det_workspace(const KernelArgs&) { return 0; }
// A copy of one matrix, in double.
size_t det_scratch(const KernelArgs& args) {
  const auto n = static_cast<size_t>(args.inputs[0].dims[args.inputs[0].rank - 1]);
  return n * n * sizeof(double);
}

Status run_det(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const int64_t n = x.dims[x.rank - 1], row = x.strides[x.rank - 2], column = x.strides[x.rank - 1];
  for_each_position(args, Box(y), [&](const Position& at, int worker) {
    double* matrix = reinterpret_cast<double*>(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    const int64_t base = at.offset(x.strides, y.rank);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) matrix[i * n + j] = load<double>(x, base + i * row + j * column);
    }
    store(y, at.offset(y), determinant(matrix, n));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
