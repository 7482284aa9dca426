// A contraction's epilogue made ready to run on tiles of its output.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_H_

#include "tactics/kernels/fast/byte_epilogue.h"
#include "tactics/kernels/fast/epilogue_match.h"
#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

// What a contraction's input, output and operands may be in memory.
enum class Storage : uint8_t {
  kFloat,
  kFloatOrHalf,  // fp32 or bf16, each for itself
  kBytes,        // the input uint8 or int8; the output and operands those, int32 or fp32, each for itself
};
// What a kernel takes that multiplies in bf16, or does not, or multiplies bytes.
constexpr bool is_input_stored(DType type, Storage storage) {
  if (storage == Storage::kBytes) return type == DType::kU8 || type == DType::kI8;
  return type == DType::kF32 || (type == DType::kBF16 && storage == Storage::kFloatOrHalf);
}
constexpr DType weights_of(Storage storage) { return storage == Storage::kBytes ? DType::kI8 : DType::kF32; }
constexpr bool is_stored(DType type, Storage storage) {
  if (storage != Storage::kBytes) return is_input_stored(type, storage);
  return is_input_stored(type, storage) || type == DType::kF32 || type == DType::kI32;
}

struct EpilogueOperand {
  const float* data;          // where it is not fp32 the address only
  DType type;                 // its columns have no gaps where it is not fp32; integers may also repeat along them
  int64_t strides[kMaxRank];  // along the output's axes; 0 where it repeats
  bool by_row;                // whether it varies along any axis but the column's
};

struct Epilogue {
  // What runs straight: `activation` on sums + bias + residual. -1: no such operand.
  bool straight = true;
  TileActivation activation;
  int bias = -1, residual = -1;
  // Whether the micro kernel itself can do it, on the sums in its registers.
  bool in_registers = true;

  // Of sums of bytes, which is never straight.
  ByteEpilogue bytes;

  StripProgram program = {};
  int column_axis = 0;
  int operand_count = 0;
  EpilogueOperand operands[kMaxPwOperands];
};

// Whether `tier` can run the epilogue, with columns along that axis of the output: operands and output as `storage`
// says, and a program that it knows. For arguments that validate_common.
Status validate_epilogue(const KernelArgs& args, const GemmTier& tier, int column_axis,
                         Storage storage = Storage::kFloat);

// `column_axis` is the output's axis along which panels lie, and 1 its stride there.
Epilogue make_epilogue(const KernelArgs& args, const GemmTier& tier, int column_axis,
                       Storage storage = Storage::kFloat);

// A tile of sums put aside in L1: element (r, j) at sums[r * pitch + j], pitch a multiple of the lanes, at most
// kStripLength, and all of it readable.
struct EpilogueTile {
  const float* sums;
  int pitch;
  int rows, columns;
  float* const* out;  // [rows]; column j goes to out[r][column + j]
  int64_t column;
  // Operand i: by row at operand_rows[i * operand_step + r][(column + j) * its stride], else from shared[i] on.
  const float* const* operand_rows;
  int64_t operand_step;
  const float* const* shared;
  const float* bias;  // of this tile's columns, readable to the next whole vector; null: none
};

// Runs the epilogue on it. `registers` is kStripRegisterBytes.
void finish_tile(const Epilogue& epilogue, const GemmTier& tier, const EpilogueTile& tile, float* registers);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_EPILOGUE_H_
