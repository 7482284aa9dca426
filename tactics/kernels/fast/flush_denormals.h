// Sums without denormal numbers, which x86 multiplies a hundred times slower than others: trained weights that decayed
// towards zero are full of them (the squeeze-excite layers of ppocrv4_rec: 31,350 weights, 190 us in place of 11 for
// one product of 480 by 120).
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_FLUSH_DENORMALS_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_FLUSH_DENORMALS_H_

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "tactics/kernels/executor.h"

namespace planwright::fast {

enum class Denormals : uint8_t {
  kNumbers,
  kZeros,  // vector arithmetic reads numbers below 2^-126 as zeros and makes zeros of them
};

// What denormal numbers are to this thread while it lives. Zeros only in contractions, whose sums lose more than that
// to rounding; numbers in what is fused behind them, of which 1e-40 may be all.
class DenormalScope {
 public:
  DenormalScope(const DenormalScope&) = delete;
  DenormalScope& operator=(const DenormalScope&) = delete;
#if defined(__SSE__)
  explicit DenormalScope(Denormals denormals) : saved_(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    const unsigned others = saved_ & ~(kFlushToZero | kDenormalsAreZero);
    _mm_setcsr(denormals == Denormals::kZeros ? others | kFlushToZero | kDenormalsAreZero : others);
  }
  ~DenormalScope() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  explicit DenormalScope(Denormals) {}
  ~DenormalScope() {}
#endif
};

// parallel_for for the tasks of a contraction.
template <typename Body>
void parallel_sums(Executor& executor, int64_t tasks, const Body& body) {
  parallel_for(executor, tasks, [&](int64_t task, int worker) {
    const DenormalScope scope(Denormals::kZeros);
    body(task, worker);
  });
}

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_FLUSH_DENORMALS_H_
