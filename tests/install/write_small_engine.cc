// write_small_engine FILE: an engine that computes y[n,3] = relu(x[n,4] W), for the programs that use the library.
#include <cstdio>

#include "planfmt/write.h"
#include "tests/support/small_plan.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (planwright::planfmt::write_engine(planwright::tests::matmul_relu_plan().plan, argv[1]).ok()) return 0;
  std::fprintf(stderr, "%s\n", planwright::last_error());
  return 1;
}
