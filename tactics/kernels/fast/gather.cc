// Gather of any type: each index copies the block behind it, a memcpy where the block is contiguous.
#include <string.h>

#include <atomic>

#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

constexpr int64_t kTaskBytes = 1 << 15;

// The part of the view behind axis `axis` is contiguous.
bool is_dense_after(const TensorView& view, int axis) {
  int64_t stride = 1;
  for (int i = view.rank - 1; i > axis; --i) {
    if (view.dims[i] != 1 && view.strides[i] != stride) return false;
    stride *= view.dims[i];
  }
  return true;
}

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kGather).validate(args));
  const int axis = args.params_as<GatherParams>().axis;
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &y = args.outputs[0];
  if (indices.dtype != DType::kI32 && indices.dtype != DType::kI64) {
    return error(StatusCode::kUnsupported, "indices are neither int32 nor int64");
  }
  if (!is_dense(indices) || !is_dense(y)) return error(StatusCode::kUnsupported, "indices or output are not dense");
  if (!is_dense_after(data, axis)) return error(StatusCode::kUnsupported, "the gathered blocks are not contiguous");
  return kOkStatus;
}

int64_t index_at(const TensorView& indices, int64_t i) {
  return indices.dtype == DType::kI32 ? indices.as<const int32_t>()[i] : indices.as<const int64_t>()[i];
}

Status run(const KernelArgs& args) {
  const int axis = args.params_as<GatherParams>().axis;
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const int64_t size = static_cast<int64_t>(size_of(data.dtype)), length = data.dims[axis];
  int64_t block = size, outer = 1;
  for (int i = axis + 1; i < data.rank; ++i) block *= data.dims[i];
  for (int i = 0; i < axis; ++i) outer *= data.dims[i];
  const int64_t count = element_count(indices), rows = outer * count;
  const int64_t group = kTaskBytes / block + 1;
  std::atomic<int64_t> bad_index{0};
  std::atomic<bool> bad{false};
  parallel_for(*args.executor, (rows + group - 1) / group, [&](int64_t task, int) {
    for (int64_t row = task * group; row < (task + 1) * group && row < rows; ++row) {
      int64_t index = index_at(indices, row % count);
      if (index < -length || index >= length) {
        bad_index = index;
        bad = true;
        return;
      }
      if (index < 0) index += length;
      int64_t offset = index * data.strides[axis], rest = row / count;
      for (int i = axis - 1; i >= 0; --i) {
        offset += rest % data.dims[i] * data.strides[i];
        rest /= data.dims[i];
      }
      memcpy(y.as<std::byte>() + row * block, data.as<const std::byte>() + offset * size, static_cast<size_t>(block));
    }
  });
  if (!bad) return kOkStatus;
  return error(StatusCode::kPrecondition, "Gather: index %ld is outside an axis of length %ld",
               static_cast<long>(bad_index.load()), static_cast<long>(length));
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "gather_rows",
    .revision = 1,
    .op = OpKind::kGather,
    .isa = Isa::kReference,
    .validate = validate,
    .run = run,
}};

}  // namespace

extern const KernelTable gather_table;
const KernelTable gather_table = {kKernels, 1};

}  // namespace planwright
