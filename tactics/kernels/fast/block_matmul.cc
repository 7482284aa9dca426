#include "tactics/kernels/fast/block_matmul.h"

#include <stdint.h>
#include <string.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/flush_denormals.h"
#include "tactics/kernels/registry.h"

namespace planwright::fast {
namespace {

constexpr int64_t kCodeOffset = 8;  // of int4

using Product = BlockProduct;

// Rows of bytes that hold so many rows of integers.
int64_t code_rows(const Product& product, int64_t rows) { return product.bits == 8 ? rows : (rows + 1) / 2; }

// Bytes of one column in the packed form. False where they do not fit into memory.
bool column_bytes(const Product& product, int64_t* bytes) {
  const int64_t whole = product.depth / product.block, rest = product.depth % product.block;
  const int64_t scale = sizeof(float);
  int64_t last = 0;
  if (rest != 0) last = scale + code_rows(product, rest);
  return checked_mul(whole, scale + code_rows(product, product.block), bytes) && checked_add(*bytes, last, bytes);
}

PanelPlan panels_of(const Product& product, const GemmShape& shape) {
  return {product.columns, shape.tier->lanes, shape.vectors};
}

bool packed_bytes_of(const Product& product, const GemmShape& shape, size_t* bytes) {
  const PanelPlan panels = panels_of(product, shape);
  if (shape.half != nullptr) return packed_bytes(panels, packed_depth(shape, product.depth), 1, bytes);
  int64_t size;
  if (!column_bytes(product, &size) || !checked_mul(size, panels.padded_columns(), &size)) return false;
  *bytes = static_cast<size_t>(size);
  return true;
}

// Of the floats that a task makes of a panel, and of the row behind them. False where they do not fit into memory.
bool room_bytes(const Product& product, const GemmShape& shape, size_t* bytes) {
  if (shape.half != nullptr) {
    *bytes = 0;
    return true;
  }
  int64_t size;
  if (!checked_mul<int64_t>(product.depth + 1, shape.vectors * shape.tier->lanes * static_cast<int64_t>(sizeof(float)),
                            &size)) {
    return false;
  }
  *bytes = align_up(static_cast<size_t>(size), 64);
  return true;
}

size_t gemm_scratch_of(const KernelArgs& args, const GemmShape& shape) {
  return gemm_scratch_size(shape, 1, args.inputs[0].dims[args.inputs[0].rank - 1], args.input_count - args.core_inputs);
}

// As split_gemm; by default each panel is a task of all rows, for tasks of some rows would each make its floats.
GemmSplit split_of(const Product& product, const GemmShape& shape, int64_t rows, const PanelPlan& panels,
                   TacticParams tactic) {
  const int64_t tiles = row_tiles(rows, shape.rows);
  if (shape.half == nullptr && tactic.v[0] == 0 && tiles <= INT32_MAX) {
    tactic.v[0] = static_cast<int32_t>(tiles);
    if (tactic.v[1] == 0) tactic.v[1] = 1;
  }
  return split_gemm(shape, rows, panels, product.depth, 1, tactic);
}

// What the hooks of the job read.
struct Context {
  const KernelArgs& args;
  const BlockTier* tier;
  Product product;
  PanelPlan panels;
  int lanes;
  int64_t column_bytes;
  int64_t a_strides[kMaxRank];

  BlockPanel panel(int64_t index) const {
    return {args.packed + column_bytes * panels.column(index), product.bits, product.depth, product.block,
            panels.vectors(index) * lanes};
  }
};

void rows_of_a(const void* context, RowCursor cursor, int count, const float** to) {
  const auto& of = *static_cast<const Context*>(context);
  const TensorView& a = of.args.inputs[0];
  row_addresses(cursor, count, a.data, static_cast<int64_t>(size_of(a.dtype)), of.a_strides, to);
}

void make_panel(const void* context, int64_t panel, float* room) {
  const auto& of = *static_cast<const Context*>(context);
  of.tier->widen(of.panel(panel), room);
}

void multiply(const void* context, int64_t panel, const float* const* rows, int count, float* sums, int64_t pitch) {
  const auto& of = *static_cast<const Context*>(context);
  for (int r = 0; r < count; ++r) of.tier->multiply(of.panel(panel), rows[r], sums + r * pitch);
}

// Element [k][j] of the weights that are packed.
float weight_at(const void* context, int64_t k, int64_t column) {
  const auto& args = *static_cast<const KernelArgs*>(context);
  const TensorView &w = args.inputs[1], &s = args.inputs[2];
  const int64_t block = k / args.params_as<BlockMatMulParams>().block;
  return static_cast<float>(w.as<const int8_t>()[k * w.strides[0] + column * w.strides[1]]) *
         s.as<const float>()[block * s.strides[0] + column * s.strides[1]];
}

// The integers and scales of one block of a panel.
std::byte* pack_block(const KernelArgs& args, const Product& product, const PanelPlan& panels, int64_t panel,
                      int64_t index, std::byte* to) {
  const TensorView& w = args.inputs[1];
  const int64_t column = panels.column(panel), width = panels.column(panel + 1) - column;
  const int64_t first = index * product.block, rows = product.rows_of(index);
  to = pack_block_scales(args, panels, panel, index, to);
  const auto integer = [&](int64_t k, int64_t j) -> int64_t {
    if (k >= rows || j >= panels.columns(panel)) return 0;
    return w.as<const int8_t>()[(first + k) * w.strides[0] + (column + j) * w.strides[1]];
  };
  for (int64_t k = 0; k < code_rows(product, rows); ++k) {
    for (int64_t j = 0; j < width; ++j, ++to) {
      const int64_t byte = product.bits == 8
                               ? integer(k, j)
                               : (integer(2 * k, j) + kCodeOffset) | (integer(2 * k + 1, j) + kCodeOffset) << 4;
      *to = static_cast<std::byte>(byte & 0xFF);
    }
  }
  return to;
}

}  // namespace

Status validate_block_matmul(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kBlockMatMul).validate(args));
  const TensorView &a = args.inputs[0], &s = args.inputs[2], &y = args.outputs[0];
  const Storage storage = storage_of(shape);
  if (!is_stored(a.dtype, storage) || s.dtype != DType::kF32) {
    return error(StatusCode::kUnsupported, "the kernel multiplies fp32 by integers with scales in fp32, not %s, %s",
                 name_of(a.dtype), name_of(s.dtype));
  }
  PW_RETURN_IF_ERROR(validate_matrix_rows(a, y));
  size_t bytes;
  if (!packed_bytes_of(Product(args), shape, &bytes) || !room_bytes(Product(args), shape, &bytes)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  PW_RETURN_IF_ERROR(validate_split(args.tactic));
  return validate_epilogue(args, *shape.tier, y.rank - 1, storage);
}

std::byte* pack_block_scales(const KernelArgs& args, const PanelPlan& panels, int64_t panel, int64_t index,
                             std::byte* to) {
  const TensorView& s = args.inputs[2];
  const int64_t column = panels.column(panel), width = panels.column(panel + 1) - column;
  for (int64_t j = 0; j < width; ++j) {
    const bool real = j < panels.columns(panel);
    const float scale = real ? s.as<const float>()[index * s.strides[0] + (column + j) * s.strides[1]] : 0.0f;
    memcpy(to + j * static_cast<int64_t>(sizeof scale), &scale, sizeof scale);
  }
  to += width * static_cast<int64_t>(sizeof(float));
  return to;
}

size_t block_matmul_packed_size(const KernelArgs& args, const GemmShape& shape) {
  size_t bytes = 0;
  return packed_bytes_of(Product(args), shape, &bytes) ? bytes : 0;
}

size_t block_matmul_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  size_t room = 0;
  return gemm_scratch_of(args, shape) + (room_bytes(Product(args), shape, &room) ? room : 0);
}

Status pack_block_matmul(const KernelArgs& args, const GemmShape& shape, std::byte* destination) {
  const Product product(args);
  const PanelPlan panels = panels_of(product, shape);
  if (shape.half != nullptr) {
    pack_half_values(shape, panels, product.depth, weight_at, &args, reinterpret_cast<float*>(destination));
    return kOkStatus;
  }
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    for (int64_t index = 0; index < product.blocks(); ++index) {
      destination = pack_block(args, product, panels, panel, index, destination);
    }
  }
  return kOkStatus;
}

int block_matmul_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity) {
  const Product product(args);
  const TensorView& y = args.outputs[0];
  const int64_t rows = row_box(y, y.rank - 1, 0).count(), tiles = row_tiles(rows, shape.rows);
  const PanelPlan panels = panels_of(product, shape);
  if (shape.half != nullptr) return list_splits(shape, rows, panels, product.depth, 1, list, capacity);
  // Of few columns the rows have to be cut all the same.
  const TacticParams wanted[] = {{}, {{0, 4}}, {{static_cast<int32_t>(tiles / 2), 1}}, {{1, 1}}};
  const bool is_useful[] = {true, panels.count() > 4, tiles > 1 && tiles <= INT32_MAX, rows > 1 && tiles > 2};
  int count = 0;
  for (int i = 0; i < 4 && count < capacity; ++i) {
    if (is_useful[i]) list[count++] = wanted[i];
  }
  return count;
}

Status run_block_matmul(const KernelArgs& args, const GemmShape& shape, const BlockTier* tier) {
  const TensorView &a = args.inputs[0], &y = args.outputs[0];
  const int column_axis = y.rank - 1;
  const Product product(args);
  Context context = {args, tier, product, panels_of(product, shape), shape.tier->lanes, 0, {}};
  if (!column_bytes(product, &context.column_bytes)) return kOkStatus;  // validated
  for (int axis = 0; axis < column_axis; ++axis) context.a_strides[axis] = a.strides[axis];
  const Epilogue epilogue = make_epilogue(args, *shape.tier, column_axis);
  const RowBox rows = row_box(y, column_axis, 0);
  const GemmSplit split = split_of(product, shape, rows.count(), context.panels, args.tactic);
  parallel_sums(*args.executor, split.tasks(), [&](int64_t task, int worker) {
    std::byte* scratch = args.scratch + static_cast<size_t>(worker) * args.scratch_stride;
    GemmJob job = {.shape = shape,
                   .panels = context.panels,
                   .packed = reinterpret_cast<const float*>(args.packed),
                   .taps = 1,
                   .depth = product.depth,
                   .a_type = a.dtype,
                   .rows = rows,
                   .epilogue = &epilogue,
                   .out = y.data,
                   .out_type = y.dtype,
                   .out_strides = {},
                   .row_pointers = rows_of_a,
                   .context = &context};
    for (int axis = 0; axis < y.rank; ++axis) job.out_strides[axis] = y.strides[axis];
    if (tier != nullptr && rows.count() == 1) {
      job.multiply = multiply;
    } else if (tier != nullptr) {
      job.make_panel = make_panel;
      job.room = reinterpret_cast<float*>(scratch + gemm_scratch_of(args, shape));
    }
    run_gemm_task(job, split, task, scratch);
  });
  return kOkStatus;
}

}  // namespace planwright::fast
