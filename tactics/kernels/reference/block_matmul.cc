#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/evaluate.h"
#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {

Status validate_block_matmul(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &a = args.inputs[0], &w = args.inputs[1], &s = args.inputs[2];
  const int64_t block = args.params_as<BlockMatMulParams>().block;
  PW_REQUIRE(a.rank >= 2, "BlockMatMul: an operand of rank %d is no matrix", a.rank);
  PW_REQUIRE(w.rank == 2 && s.rank == 2, "BlockMatMul: weights of rank %d with scales of rank %d", w.rank, s.rank);
  PW_REQUIRE(is_float(a.dtype) && is_float(s.dtype), "BlockMatMul: %s by weights with scales in %s", name_of(a.dtype),
             name_of(s.dtype));
  PW_REQUIRE(w.dtype == DType::kI8 || w.dtype == DType::kI4, "BlockMatMul: weights in %s", name_of(w.dtype));
  PW_REQUIRE(block >= 1, "BlockMatMul: a block of %ld rows", block);
  const int64_t depth = w.dims[0], blocks = depth / block + (depth % block != 0 ? 1 : 0);
  PW_REQUIRE(a.dims[a.rank - 1] == depth, "BlockMatMul: the inner dims are %ld and %ld", a.dims[a.rank - 1], depth);
  PW_REQUIRE(s.dims[0] == blocks && s.dims[1] == w.dims[1],
             "BlockMatMul: [%ld,%ld] scales for weights [%ld,%ld] in blocks of %ld rows", s.dims[0], s.dims[1], depth,
             w.dims[1], block);
  int64_t dims[kMaxRank] = {};
  for (int axis = 0; axis < a.rank - 1; ++axis) dims[axis] = a.dims[axis];
  dims[a.rank - 1] = w.dims[1];
  return require_dims(args, 0, dims, a.rank);
}

Status run_block_matmul(const KernelArgs& args) {
  const TensorView &a = args.inputs[0], &w = args.inputs[1], &s = args.inputs[2], &y = args.outputs[0];
  const int64_t block = args.params_as<BlockMatMulParams>().block;
  const int last = y.rank - 1;
  const Program program(args);
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const int64_t row = at.offset(a.strides, last), column = at.at[last];
    double sum = 0;
    for (int64_t k = 0; k < w.dims[0]; ++k) {
      const double scale = load<double>(s, k / block * s.strides[0] + column * s.strides[1]);
      const double weight = load<double>(w, k * w.strides[0] + column * w.strides[1]);
      sum += load<double>(a, row + k * a.strides[last]) * (weight * scale);
    }
    program.run(at, sum);
  });
  return kOkStatus;
}

}  // namespace planwright::reference
