#include "tactics/kernels/reference/dot.h"
#include "tactics/kernels/reference/evaluate.h"
#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {
namespace {

// The strides with which an operand is read along the batch axes of the output: all but the last two.
void batch_strides(const TensorView& operand, const TensorView& output, int64_t strides[kMaxRank]) {
  TensorView batch = operand, batch_of_output = output;
  batch.rank -= 2;
  batch_of_output.rank -= 2;
  broadcast_strides(batch, batch_of_output, strides);
}

template <typename T>
void multiply_matrices(const KernelArgs& args) {
  const TensorView &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const int batch = y.rank - 2;
  int64_t a_batch[kMaxRank], b_batch[kMaxRank];
  batch_strides(a, y, a_batch);
  batch_strides(b, y, b_batch);
  const int64_t depth = a.dims[a.rank - 1];
  const T zero = zero_point<T>(args);
  const Program program(args);
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const Run row = {a, at.offset(a_batch, batch) + at.at[batch] * a.strides[a.rank - 2], a.strides[a.rank - 1]};
    const Run column = {b, at.offset(b_batch, batch) + at.at[batch + 1] * b.strides[b.rank - 1], b.strides[b.rank - 2]};
    program.run(at, dot(row, column, depth, T(0), zero));
  });
}

}  // namespace

Status validate_matmul(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &a = args.inputs[0], &b = args.inputs[1];
  PW_REQUIRE(a.rank >= 2 && b.rank >= 2, "MatMul: operands of rank %d and %d are not matrices", a.rank, b.rank);
  PW_REQUIRE(is_float(a.dtype) == is_float(b.dtype), "MatMul: cannot multiply %s by %s", name_of(a.dtype),
             name_of(b.dtype));
  PW_RETURN_IF_ERROR(validate_zero_point(args));
  PW_REQUIRE(a.dims[a.rank - 1] == b.dims[b.rank - 2], "MatMul: the inner dims are %ld and %ld", a.dims[a.rank - 1],
             b.dims[b.rank - 2]);
  int64_t dims[kMaxRank] = {};
  const int rank = a.rank > b.rank ? a.rank : b.rank;
  for (int i = 3; i <= rank; ++i) {
    const int64_t of_a = i <= a.rank ? a.dims[a.rank - i] : 1, of_b = i <= b.rank ? b.dims[b.rank - i] : 1;
    PW_REQUIRE(of_a == of_b || of_a == 1 || of_b == 1, "MatMul: batch dims %ld and %ld do not broadcast", of_a, of_b);
    dims[rank - i] = of_a == 1 ? of_b : of_a;
  }
  dims[rank - 2] = a.dims[a.rank - 2];
  dims[rank - 1] = b.dims[b.rank - 1];
  return require_dims(args, 0, dims, rank);
}

Status run_matmul(const KernelArgs& args) {
  with_contraction(args.inputs[0], [&](auto zero) { multiply_matrices<decltype(zero)>(args); });
  return kOkStatus;
}

}  // namespace planwright::reference
