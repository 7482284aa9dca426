// Moves of 4-byte elements from contiguous along one axis to contiguous along another (row-major to channels-last and
// back): squares of vectors are transposed in registers.
#include "tactics/kernels/fast/movement_plan.h"
#include "tactics/kernels/tier.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Squares of 8 on AVX-512 too: 16 would need 64 shuffles across lanes and all registers, and the moves are bound by
// memory.
using Tag = hn::CappedTag<uint32_t, 8>;
constexpr Tag kD{};
constexpr int kSide = static_cast<int>(hn::MaxLanes(Tag{}));
using Vec = hn::Vec<Tag>;

#if HWY_TARGET <= HWY_AVX2
// The 4x4 squares of two rows, transposed, still lie side by side: exchange the halves of rows i and i+4.
HWY_INLINE void exchange_halves(Vec* rows) {
  for (int i = 0; i < 4; ++i) {
    const Vec low = hn::ConcatLowerLower(kD, rows[i + 4], rows[i]);
    rows[i + 4] = hn::ConcatUpperUpper(kD, rows[i + 4], rows[i]);
    rows[i] = low;
  }
}
#endif

// Transposes the 4x4 squares in each 128-bit block of four rows.
HWY_INLINE void transpose_blocks(Vec* rows) {
  constexpr hn::Repartition<uint64_t, Tag> kPairs{};
  const auto ab_low = hn::BitCast(kPairs, hn::InterleaveLower(kD, rows[0], rows[1]));
  const auto ab_high = hn::BitCast(kPairs, hn::InterleaveUpper(kD, rows[0], rows[1]));
  const auto cd_low = hn::BitCast(kPairs, hn::InterleaveLower(kD, rows[2], rows[3]));
  const auto cd_high = hn::BitCast(kPairs, hn::InterleaveUpper(kD, rows[2], rows[3]));
  rows[0] = hn::BitCast(kD, hn::InterleaveLower(kPairs, ab_low, cd_low));
  rows[1] = hn::BitCast(kD, hn::InterleaveUpper(kPairs, ab_low, cd_low));
  rows[2] = hn::BitCast(kD, hn::InterleaveLower(kPairs, ab_high, cd_high));
  rows[3] = hn::BitCast(kD, hn::InterleaveUpper(kPairs, ab_high, cd_high));
}

HWY_INLINE void transpose_square(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  Vec rows[kSide];
  for (int i = 0; i < kSide; ++i) rows[i] = hn::LoadU(kD, from + i * from_stride);
  for (int i = 0; i < kSide; i += 4) transpose_blocks(rows + i);
#if HWY_TARGET <= HWY_AVX2
  exchange_halves(rows);
#endif
  for (int i = 0; i < kSide; ++i) hn::StoreU(rows[i], kD, to + i * to_stride);
}

// What is left of a tile at its edges.
void transpose_edge(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

void transpose_tile(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  const int64_t whole_rows = rows - rows % kSide, whole_columns = columns - columns % kSide;
  for (int64_t j = 0; j < whole_columns; j += kSide) {
    for (int64_t i = 0; i < whole_rows; i += kSide) {
      transpose_square(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  transpose_edge(from + whole_rows * from_stride, from_stride, to + whole_rows, to_stride, rows - whole_rows, columns);
  transpose_edge(from + whole_columns, from_stride, to + whole_columns * to_stride, to_stride, whole_rows,
                 columns - whole_columns);
}

// Whether anything is transposed depends on which axes are 1 long, so it may be at one shape of a profile and not at
// another: what is not is copied as it lies.
Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(args.op).validate(args));
  if (size_of(args.outputs[0].dtype) != 4) return error(StatusCode::kUnsupported, "elements are not of 4 bytes");
  StridedCopy copy;
  PW_RETURN_IF_ERROR(plan_movement(args, 0, &copy));
  return kOkStatus;
}

Status run(const KernelArgs& args) {
  StridedCopy copy;
  PW_RETURN_IF_ERROR(plan_movement(args, 0, &copy));
  copy.transpose = transpose_tile;
  strided_copy(*args.executor, copy);
  return kOkStatus;
}

constexpr KernelDescriptor make(const char* name, OpKind op) {
  return {.name = name, .revision = 1, .op = op, .isa = PW_TIER_ISA, .validate = validate, .run = run};
}

constexpr KernelDescriptor kKernels[] = {
    make("transpose_copy_32bit_" PW_TIER_STRING, OpKind::kCopy),
    make("transpose_32bit_" PW_TIER_STRING, OpKind::kTranspose),
    make("transpose_reshape_32bit_" PW_TIER_STRING, OpKind::kReshape),
};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(transpose_32bit)
