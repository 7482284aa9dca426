// The registry and the table of reference kernels.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

TEST(ReferenceTable, HasOneKernelAnOperatorInOrder) {
  for (int op = 0; op < kOpKindCount; ++op) {
    const KernelDescriptor& kernel = reference_kernel(static_cast<OpKind>(op));
    EXPECT_EQ(static_cast<int>(kernel.op), op);
    EXPECT_EQ(kernel.isa, Isa::kReference);
    EXPECT_EQ(kernel.packed_inputs, 0u) << kernel.name << " must run on operands as they are";
    EXPECT_EQ(std::string(kernel.name).rfind("reference_", 0), 0u) << kernel.name;
  }
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  int count;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < tables[i]->count; ++j) {
      const KernelDescriptor& kernel = tables[i]->kernels[j];
      EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
      EXPECT_EQ(find_kernel(kernel.name), &kernel);
      EXPECT_EQ(kernel.packed_inputs != 0, kernel.pack != nullptr && kernel.packed_size != nullptr) << kernel.name;
    }
  }
  EXPECT_EQ(find_kernel("no such kernel"), nullptr);
}

TEST(Registry, ReferenceKernelsComeLast) {
  int count;
  const KernelTable* const* tables = kernel_tables(&count);
  Isa before = Isa::kAmx;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < tables[i]->count; ++j) {
      EXPECT_LE(tables[i]->kernels[j].isa, before) << tables[i]->kernels[j].name;
      before = tables[i]->kernels[j].isa;
    }
  }
}

}  // namespace
}  // namespace planwright
