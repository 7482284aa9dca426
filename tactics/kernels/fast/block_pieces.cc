#include "tactics/kernels/fast/block_pieces.h"

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/flush_denormals.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

using fast::GemmShape;
using fast::PanelPlan;
using fast::RowBox;
using fast::RowCursor;

constexpr GemmShape kShape = {&tier_avx512::gemm_tier, kPieceTileRows, 4};
constexpr const PieceTier& kTier = tier_avx512vnni::piece_tier;
// More are faster where a panel is made floats for all of them.
constexpr int64_t kMostRows = 8;
// Sums of products of codes up to 255 by 127, and of 128 by 127 to begin with, stay below 2^31.
constexpr int64_t kLongestBlock = 1 << 15;

PanelPlan panels_of(const BlockProduct& product) { return {product.columns, kShape.tier->lanes, kShape.vectors}; }

// What every block takes of `fixed` bytes and so many for each eight rows. False where that does not fit into memory.
bool bytes_of_blocks(const BlockProduct& product, int64_t fixed, int64_t by_group, int64_t* bytes) {
  const int64_t whole = product.depth / product.block, rest = product.depth % product.block;
  int64_t of_block;
  if (!checked_mul(piece_groups(product.block), by_group, &of_block) || !checked_add(of_block, fixed, &of_block) ||
      !checked_mul(whole, of_block, bytes)) {
    return false;
  }
  return rest == 0 || checked_add(*bytes, fixed + piece_groups(rest) * by_group, bytes);
}

// Of a column in the packed form.
bool column_bytes(const BlockProduct& product, int64_t* bytes) {
  return bytes_of_blocks(product, sizeof(float), product.bits, bytes);
}

// From one row of A in pieces to the next: lines of their own, for several workers may make them.
bool row_bytes(const BlockProduct& product, int64_t* bytes) {
  if (!bytes_of_blocks(product, sizeof(PieceBlock), kPieces * kPieceRows, bytes)) return false;
  return checked_add<int64_t>(*bytes, sizeof(PieceRow) + 63, bytes) && (*bytes = *bytes / 64 * 64, true);
}

bool packed_bytes_of(const BlockProduct& product, size_t* bytes) {
  int64_t size;
  if (!column_bytes(product, &size) || !checked_mul(size, panels_of(product).padded_columns(), &size)) return false;
  *bytes = static_cast<size_t>(size);
  return true;
}

RowBox rows_of(const KernelArgs& args) {
  const TensorView& y = args.outputs[0];
  return fast::row_box(y, y.rank - 1, 0);
}

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(fast::validate_block_matmul(args, kShape));
  const BlockProduct product(args);
  const RowBox rows = rows_of(args);
  int64_t count = 1;
  bool is_known = true;
  for (int axis = 0; axis < rows.rank; ++axis) is_known = is_known && checked_mul(count, rows.dims[axis], &count);
  if (!is_known || count > kMostRows) {
    return error(StatusCode::kUnsupported, "the kernel multiplies up to %ld rows", kMostRows);
  }
  if (product.block > kLongestBlock) {
    return error(StatusCode::kUnsupported, "blocks of %ld rows; the kernel takes up to %ld", product.block,
                 kLongestBlock);
  }
  size_t packed;
  int64_t row;
  if (!packed_bytes_of(product, &packed) || !row_bytes(product, &row) || !checked_mul(row, kMostRows, &row)) {
    return error(StatusCode::kInvalid, "the packed weights are larger than memory can be");
  }
  return kOkStatus;
}

size_t packed_size(const KernelArgs& args) {
  size_t bytes = 0;
  return packed_bytes_of(BlockProduct(args), &bytes) ? bytes : 0;
}

// Of all rows of A in pieces.
size_t workspace_size(const KernelArgs& args) {
  int64_t bytes = 0;
  return row_bytes(BlockProduct(args), &bytes) ? static_cast<size_t>(bytes * rows_of(args).count()) : 0;
}

size_t scratch_size(const KernelArgs& args) {
  return fast::gemm_scratch_size(kShape, 1, BlockProduct(args).depth, args.input_count - args.core_inputs);
}

// The codes and scales of one block of a panel.
std::byte* pack_block(const KernelArgs& args, const BlockProduct& product, const PanelPlan& panels, int64_t panel,
                      int64_t index, std::byte* to) {
  const TensorView& w = args.inputs[1];
  const int64_t column = panels.column(panel), width = panels.column(panel + 1) - column;
  const int64_t first = index * product.block, rows = product.rows_of(index);
  to = fast::pack_block_scales(args, panels, panel, index, to);
  const int offset = code_offset(product.bits), mask = (1 << product.bits) - 1;
  const auto code = [&](int64_t k, int64_t j) {
    if (k >= rows || j >= panels.columns(panel)) return offset;
    return (w.as<const int8_t>()[(first + k) * w.strides[0] + (column + j) * w.strides[1]] + offset) & mask;
  };
  constexpr int64_t kHalf = kPieceRows / 2;
  for (int64_t k = 0; k < piece_groups(rows) * kPieceRows; k += product.bits == 4 ? kPieceRows : kHalf) {
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t i = 0; i < kHalf; ++i, ++to) {
        *to = static_cast<std::byte>(product.bits == 4 ? code(k + i, j) | code(k + i + kHalf, j) << 4 : code(k + i, j));
      }
    }
  }
  return to;
}

Status pack(const KernelArgs& args, std::byte* destination) {
  const BlockProduct product(args);
  const PanelPlan panels = panels_of(product);
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    for (int64_t index = 0; index < product.blocks(); ++index) {
      destination = pack_block(args, product, panels, panel, index, destination);
    }
  }
  return kOkStatus;
}

// What the hooks of the job read.
struct Context {
  const KernelArgs& args;
  BlockProduct product;
  PanelPlan panels;
  int64_t column_bytes, row_bytes;
  int64_t row_strides[kMaxRank];  // of the rows in pieces, along the output's axes
};

// The rows are in pieces by now.
void rows_in_pieces(const void* context, RowCursor cursor, int count, const float** to) {
  const auto& of = *static_cast<const Context*>(context);
  fast::row_addresses(cursor, count, of.args.workspace, of.row_bytes, of.row_strides, to);
}

void multiply(const void* context, int64_t panel, const float* const* rows, int count, float* sums, int64_t pitch) {
  const auto& of = *static_cast<const Context*>(context);
  const PieceRow* in_pieces[kPieceTileRows];
  for (int r = 0; r < count; ++r) in_pieces[r] = reinterpret_cast<const PieceRow*>(rows[r]);
  const BlockPanel packed = {of.args.packed + of.column_bytes * of.panels.column(panel), of.product.bits,
                             of.product.depth, of.product.block, of.panels.vectors(panel) * kShape.tier->lanes};
  kTier.multiply(packed, in_pieces, count, sums, pitch);
}

int tactics(const KernelArgs& args, TacticParams* list, int capacity) {
  const BlockProduct product(args);
  return fast::list_splits(kShape, rows_of(args).count(), panels_of(product), product.depth, 1, list, capacity);
}

Status run(const KernelArgs& args) {
  const TensorView &a = args.inputs[0], &y = args.outputs[0];
  const BlockProduct product(args);
  const RowBox rows = rows_of(args);
  Context context = {args, product, panels_of(product), 0, 0, {}};
  if (!column_bytes(product, &context.column_bytes) || !row_bytes(product, &context.row_bytes)) return kOkStatus;
  int64_t a_strides[kMaxRank] = {}, stride = 1;
  for (int axis = y.rank - 2; axis >= 0; --axis) {
    a_strides[axis] = a.strides[axis];
    context.row_strides[axis] = stride;
    stride *= y.dims[axis];
  }
  fast::parallel_sums(*args.executor, rows.count(), [&](int64_t row, int) {
    const float* from;
    fast::row_addresses(RowCursor(rows, row), 1, a.data, sizeof(float), a_strides, &from);
    kTier.split(product, from, reinterpret_cast<PieceRow*>(args.workspace + row * context.row_bytes));
  });

  const fast::Epilogue epilogue = fast::make_epilogue(args, *kShape.tier, y.rank - 1);
  const fast::GemmSplit split = fast::split_gemm(kShape, rows.count(), context.panels, product.depth, 1, args.tactic);
  fast::parallel_sums(*args.executor, split.tasks(), [&](int64_t task, int worker) {
    fast::GemmJob job = {.shape = kShape,
                         .panels = context.panels,
                         .packed = reinterpret_cast<const float*>(args.packed),
                         .taps = 1,
                         .depth = product.depth,
                         .rows = rows,
                         .epilogue = &epilogue,
                         .out = y.data,
                         .out_strides = {},
                         .row_pointers = rows_in_pieces,
                         .multiply = multiply,
                         .context = &context};
    for (int axis = 0; axis < y.rank; ++axis) job.out_strides[axis] = y.strides[axis];
    fast::run_gemm_task(job, split, task, args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "block_matmul_f32_pieces_2x4_avx512vnni",
    .revision = 1,
    .op = OpKind::kBlockMatMul,
    .isa = Isa::kAvx512Vnni,
    .packed_inputs = 1u << 1 | 1u << 2,
    .validate = validate,
    .packed_size = packed_size,
    .workspace_size = workspace_size,
    .scratch_size = scratch_size,
    .pack = pack,
    .run = run,
    .tactics = tactics,
}};

}  // namespace

extern const KernelTable block_pieces_table;
const KernelTable block_pieces_table = {kKernels, sizeof(kKernels) / sizeof(kKernels[0])};

}  // namespace planwright
