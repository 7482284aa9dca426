#include "tactics/cache_state.h"

#include <algorithm>
#include <cmath>

#include "tactics/kernels/cpu.h"

namespace planwright::tactics {
namespace {

constexpr size_t kLine = 64;
// Where the CPU does not say, and the most worth sweeping: 4 MiB take some 0.3 ms, and no core's L2 is larger today.
constexpr size_t kUsualL2 = 1 << 20;
constexpr size_t kMostSwept = 4 << 20;

}  // namespace

size_t swept_bytes(double working_set) {
  const size_t l2 = cache_sizes().l2, most = std::min(l2 == 0 ? kUsualL2 : l2, kMostSwept);
  // In quarters, so that engines that differ a little share what was timed.
  const double quarter = static_cast<double>(most / 4), quarters = std::floor(working_set / quarter);
  return quarters >= 4 ? most : static_cast<size_t>(quarters * quarter);
}

CacheState::CacheState(Executor& executor, size_t swept)
    : executor_(executor), sweep_(swept * static_cast<size_t>(executor.workers())) {}

void CacheState::prepare(StepData& data) {
  const int workers = executor_.workers();
  const size_t share = sweep_.size() / static_cast<size_t>(workers);
  parallel_for(executor_, workers, [&](int64_t task, int) {
    volatile unsigned char* bytes =
        reinterpret_cast<volatile unsigned char*>(sweep_.data()) + static_cast<size_t>(task) * share;
    // Written, not read: untouched anonymous memory reads from one zero page, which sweeps nothing.
    for (size_t i = 0; i < share; i += kLine) bytes[i] = static_cast<unsigned char>(i);
    data.rewrite_inputs(task, workers);
  });
}

}  // namespace planwright::tactics
