#include "tactics/kernels/executor.h"

namespace planwright {

void InlineExecutor::parallel_for(int64_t tasks, Task task, void* context) {
  for (int64_t i = 0; i < tasks; ++i) task(context, i, 0);
}

int InlineExecutor::workers() const { return 1; }

}  // namespace planwright
