#include "tactics/kernels/registry.h"

#include <cstring>

#include "tactics/kernels/control.h"

namespace planwright {

#define PW_FAMILY(name)                         \
  extern const KernelTable name##_table_avx512; \
  extern const KernelTable name##_table_avx2;   \
  extern const KernelTable name##_table_baseline;
#define PW_PLAIN_FAMILY(name) extern const KernelTable name##_table;
#include "tactics/kernels/tables.inc"
#undef PW_FAMILY
#undef PW_PLAIN_FAMILY
// For CPUs with VNNI and bf16 instructions.
extern const KernelTable half_table;          // fast/half_kernels.cc
extern const KernelTable block_pieces_table;  // fast/block_pieces.cc
extern const KernelTable byte_table;          // fast/byte_kernels_avx512vnni.cc

namespace {

// Pointers, so that the list needs no dynamic initialisation.
constexpr const KernelTable* kTables[] = {
    &half_table,
    &block_pieces_table,
    &byte_table,
#define PW_PLAIN_FAMILY(name)
#define PW_FAMILY(name) &name##_table_avx512,
#include "tactics/kernels/tables.inc"
#undef PW_FAMILY
#define PW_FAMILY(name) &name##_table_avx2,
#include "tactics/kernels/tables.inc"
#undef PW_FAMILY
#define PW_FAMILY(name) &name##_table_baseline,
#include "tactics/kernels/tables.inc"
#undef PW_FAMILY
#undef PW_PLAIN_FAMILY
#define PW_FAMILY(name)
#define PW_PLAIN_FAMILY(name) &name##_table,
#include "tactics/kernels/tables.inc"
#undef PW_FAMILY
#undef PW_PLAIN_FAMILY
};

}  // namespace

const KernelTable* const* kernel_tables(int* count) {
  *count = static_cast<int>(sizeof(kTables) / sizeof(kTables[0]));
  return kTables;
}

const KernelDescriptor* find_kernel(const char* name) {
  for (const KernelTable* table : kTables) {
    for (int i = 0; i < table->count; ++i) {
      if (strcmp(table->kernels[i].name, name) == 0) return &table->kernels[i];
    }
  }
  constexpr OpKind kControl[] = {OpKind::kIf, OpKind::kLoop};
  for (const OpKind op : kControl) {
    if (strcmp(control_descriptor(op).name, name) == 0) return &control_descriptor(op);
  }
  return nullptr;
}

const KernelDescriptor& reference_kernel(OpKind op) {
  // One row an operator, in OpKind's order (reference_table_test).
  return reference_table.kernels[static_cast<int>(op)];
}

}  // namespace planwright
