// Recognises what follows sums of bytes: scales, biases, clips, and the rounding to bytes again.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_EPILOGUE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_EPILOGUE_H_

#include "tactics/kernels/fast/byte_tile.h"
#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

// A number for each column: an operand's, or the same for all.
struct ColumnNumber {
  int operand = -1;
  float constant;
};

struct ByteEpilogue {
  enum class Kind : uint8_t {
    kRaw,          // the sums are stored
    kStraight,     // ByteFinish, with what is below
    kInterpreted,  // as floats
  };
  Kind kind = Kind::kRaw;
  ColumnNumber before = {.constant = -0.0f}, scale = {.constant = 1.0f}, after = {.constant = -0.0f};
  ColumnNumber factor = {.constant = 1.0f}, offset = {.constant = -0.0f};  // of a function
  int residual = -1;                                                       // an operand
  ColumnNumber added = {.constant = -0.0f};  // in place of a residual: an operand, or none
  ByteEnd end;
  int tables[2] = {-1, -1};         // behind which activation which of the packed tables is; -1: none
  const uint8_t* packed = nullptr;  // tables, once packed weights are at hand

  const uint8_t* table(int activation) const {
    return tables[activation] < 0 ? nullptr : packed + tables[activation] * kByteTable;
  }
};

// Whether the program can be run on floats: it computes in that class, which what it loads becomes at once, and what it
// stores is converted from last; every operation gives the same bits on every tier that computes it in the same way.
// For arguments that validate_common.
Status validate_byte_program(const KernelArgs& args, const GemmTier& tier);

// The same of a Pointwise over fp32, int8, uint8 and int32, without the last.
bool computes_in_floats(const KernelArgs& args, bool (*is_strip_program)(const PwInstr*, int));

// What an operand of an epilogue is to ByteFinish.
enum class ByteRole : uint8_t {
  kOther,
  kColumns,   // fp32, a number for each column or one for all
  kResidual,  // fp32 or bytes for each row, columns next to each other
};
// What a validated program is; roles[i]: of operand i.
ByteEpilogue match_bytes(const KernelArgs& args, const ByteRole* roles);

// A function of levels, whatever it is, is a table of what it makes of each: where a program rounds to a byte and goes
// on to another byte with nothing but that and constants, what follows needs no more than the second. Up to two tables
// are packed behind the weights, so all tiers read the same. Bytes that they take: kByteTable each.
size_t byte_table_size(const KernelArgs& args);
void pack_byte_table(const KernelArgs& args, std::byte* to);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_EPILOGUE_H_
