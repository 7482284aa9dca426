#include "tactics/kernels/fast/gemm_matmul.h"

#include "tactics/kernels/fast/flush_denormals.h"
#include "tactics/kernels/registry.h"

namespace planwright::fast {
namespace {

// The operands as jobs see them. Axes are the output's.
struct Product {
  int rank;  // of the output
  int64_t depth, columns;
  int64_t matrices;  // of B
  int64_t jobs;      // 1 where all rows see the same matrix, else one for each batch
  int64_t a_strides[kMaxRank];
  // Along the batch axes: how many matrices further on B is.
  int64_t b_matrix_strides[kMaxRank];
};

Product product_of(const KernelArgs& args) {
  const TensorView &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  Product product = {};
  product.rank = y.rank;
  product.depth = a.dims[a.rank - 1];
  product.columns = y.dims[y.rank - 1];
  // All batch axes and M; the output's last axis is not one of A's.
  for (int axis = 0; axis < y.rank - 1; ++axis) {
    const int of_a = axis - (y.rank - a.rank);
    product.a_strides[axis] = of_a < 0 || a.dims[of_a] == 1 ? 0 : a.strides[of_a];
  }
  product.matrices = product.jobs = 1;
  for (int axis = y.rank - 3; axis >= 0; --axis) {
    const int of_b = axis - (y.rank - b.rank);
    if (of_b < 0 || b.dims[of_b] == 1) continue;
    product.b_matrix_strides[axis] = product.matrices;
    product.matrices *= b.dims[of_b];
  }
  if (product.matrices != 1) {
    for (int axis = 0; axis < y.rank - 2; ++axis) product.jobs *= y.dims[axis];
  }
  return product;
}

PanelPlan panels_of(const Product& product, const GemmShape& shape) {
  return {product.columns, shape.tier->lanes, shape.vectors};
}

// Where matrix `index` of B starts.
template <typename T = float>
const T* matrix_of(const TensorView& b, int64_t index) {
  int64_t offset = 0;
  for (int axis = b.rank - 3; axis >= 0; --axis) {
    offset += index % b.dims[axis] * b.strides[axis];
    index /= b.dims[axis];
  }
  return b.as<const T>() + offset;
}

struct RowsOfA {
  const void* a;
  int64_t element_bytes;
  const int64_t* strides;
};
void rows_of_a(const void* context, RowCursor cursor, int count, const float** to) {
  const auto& rows = *static_cast<const RowsOfA*>(context);
  row_addresses(cursor, count, rows.a, rows.element_bytes, rows.strides, to);
}

struct ByteMatrix {
  const int8_t* elements;
  int64_t row_stride, column_stride;
};
int8_t byte_at(const void* context, int64_t k, int64_t column) {
  const auto& matrix = *static_cast<const ByteMatrix*>(context);
  return matrix.elements[k * matrix.row_stride + column * matrix.column_stride];
}

// The rows of one job.
RowBox rows_of(const TensorView& y, const Product& product) {
  RowBox rows = row_box(y, y.rank - 1, 0);
  for (int axis = 0; product.jobs != 1 && axis < y.rank - 2; ++axis) rows.dims[axis] = 1;
  return rows;
}

Status run_product(const KernelArgs& args, const GemmShape& shape, const std::byte* packed, bool in_place) {
  const TensorView& y = args.outputs[0];
  const int column_axis = y.rank - 1;
  const Product product = product_of(args);
  const PanelPlan panels = panels_of(product, shape);
  Epilogue epilogue = make_epilogue(args, *shape.tier, column_axis, storage_of(shape));
  if (shape.bytes != nullptr) {
    const int64_t weights = product.matrices * packed_depth(shape, product.depth) * panels.padded_columns();
    epilogue.bytes.packed = reinterpret_cast<const uint8_t*>(packed + weights * static_cast<int64_t>(sizeof(float)));
  }
  const RowBox rows = rows_of(y, product);
  const GemmSplit split = split_gemm(shape, rows.count(), panels, product.depth, product.jobs, args.tactic);
  const DType a_type = args.inputs[0].dtype;
  const RowsOfA a = {args.inputs[0].data, static_cast<int64_t>(size_of(a_type)), product.a_strides};
  const int32_t a_zero = zero_point_of(args);
  parallel_sums(*args.executor, product.jobs * split.tasks(), [&](int64_t task, int worker) {
    GemmJob job = {.shape = shape,
                   .panels = panels,
                   .packed = reinterpret_cast<const float*>(packed),
                   .taps = 1,
                   .depth = product.depth,
                   .a_type = a_type,
                   .a_zero = a_zero,
                   .rows = rows,
                   .epilogue = &epilogue,
                   .out = y.data,
                   .out_type = y.dtype,
                   .out_strides = {},
                   .row_pointers = rows_of_a,
                   .context = &a};
    for (int axis = 0; axis < y.rank; ++axis) job.out_strides[axis] = y.strides[axis];
    int64_t batch = task / split.tasks(), matrix = 0;
    for (int axis = y.rank - 3; product.jobs != 1 && axis >= 0; --axis) {
      job.rows.start[axis] = batch % y.dims[axis];
      batch /= y.dims[axis];
      matrix += job.rows.start[axis] * product.b_matrix_strides[axis];
    }
    job.packed += matrix * packed_depth(shape, product.depth) * panels.padded_columns();
    if (in_place) {
      job.unpacked = matrix_of(args.inputs[1], matrix);
      job.unpacked_step = args.inputs[1].strides[args.inputs[1].rank - 2];
    }
    run_gemm_task(job, split, task % split.tasks(), args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
  });
  return kOkStatus;
}

}  // namespace

Status validate_matmul(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kMatMul).validate(args));
  const TensorView &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const Storage storage = storage_of(shape);
  if (!is_input_stored(a.dtype, storage) || b.dtype != weights_of(storage)) {
    return error(StatusCode::kUnsupported, "the kernel does not multiply %s by %s", name_of(a.dtype), name_of(b.dtype));
  }
  PW_RETURN_IF_ERROR(validate_matrix_rows(a, y));
  const Product product = product_of(args);
  PW_RETURN_IF_ERROR(validate_byte_depth(shape, product.depth));
  size_t bytes;
  if (!packed_bytes(panels_of(product, shape), packed_depth(shape, product.depth), product.matrices, &bytes)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  PW_RETURN_IF_ERROR(validate_split(args.tactic));
  return validate_epilogue(args, *shape.tier, args.outputs[0].rank - 1, storage);
}

size_t matmul_packed_size(const KernelArgs& args, const GemmShape& shape) {
  const Product product = product_of(args);
  const int64_t depth = packed_depth(shape, product.depth);
  size_t bytes = 0;
  if (!packed_bytes(panels_of(product, shape), depth, product.matrices, &bytes)) return 0;
  return bytes + (shape.bytes == nullptr ? 0 : byte_table_size(args));
}

size_t matmul_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  return gemm_scratch_size(shape, 1, product_of(args).depth, args.input_count - args.core_inputs);
}

Status pack_matmul(const KernelArgs& args, const GemmShape& shape, std::byte* destination) {
  const Product product = product_of(args);
  const PanelPlan panels = panels_of(product, shape);
  const TensorView& b = args.inputs[1];
  auto* packed = reinterpret_cast<float*>(destination);
  for (int64_t matrix = 0; matrix < product.matrices; ++matrix) {
    if (shape.bytes != nullptr) {
      const ByteMatrix bytes = {matrix_of<int8_t>(b, matrix), b.strides[b.rank - 2], b.strides[b.rank - 1]};
      pack_byte_values(shape, panels, product.depth, byte_at, &bytes,
                       packed + matrix * packed_depth(shape, product.depth) * panels.padded_columns());
      continue;
    }
    pack_gemm_rows(shape, panels, product.depth, 0, product.depth, matrix_of(b, matrix), b.strides[b.rank - 2],
                   b.strides[b.rank - 1],
                   packed + matrix * packed_depth(shape, product.depth) * panels.padded_columns());
  }
  if (shape.bytes != nullptr) {
    packed += product.matrices * packed_depth(shape, product.depth) * panels.padded_columns();
    pack_byte_table(args, reinterpret_cast<std::byte*>(packed));
  }
  return kOkStatus;
}

int matmul_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity) {
  const Product product = product_of(args);
  const int64_t rows = rows_of(args.outputs[0], product).count();
  return list_splits(shape, rows, panels_of(product, shape), product.depth, product.jobs, list, capacity);
}

Status run_matmul_constant(const KernelArgs& args, const GemmShape& shape) {
  return run_product(args, shape, args.packed, false);
}

Status run_matmul_dynamic(const KernelArgs& args, const GemmShape& shape) {
  const Product product = product_of(args);
  const PanelPlan panels = panels_of(product, shape);
  const TensorView& b = args.inputs[1];
  // Where each job is one tile, every element of B is used once: packing would only double the traffic. The last panel
  // may lack columns, which only the packed form makes up for.
  const bool in_place = b.strides[b.rank - 1] == 1 && rows_of(args.outputs[0], product).count() <= shape.rows &&
                        product.columns >= shape.tier->lanes;
  const int64_t last = panels.count() - 1;
  const bool last_is_whole = panels.padded_columns() == product.columns;
  const int64_t first = !in_place ? 0 : last_is_whole ? panels.count() : last;
  auto* packed = reinterpret_cast<float*>(args.workspace);
  parallel_for(*args.executor, product.matrices * (panels.count() - first), [&](int64_t task, int) {
    const int64_t matrix = task / (panels.count() - first), panel = first + task % (panels.count() - first);
    pack_panel(panels, panel, product.depth, 0, product.depth, matrix_of(b, matrix), b.strides[b.rank - 2],
               b.strides[b.rank - 1], packed + matrix * product.depth * panels.padded_columns());
  });
  return run_product(args, shape, args.workspace, in_place);
}

}  // namespace planwright::fast
