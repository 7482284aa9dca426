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

inline constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;  // bits of MXCSR

// While it lives, vector arithmetic of this thread reads numbers below 2^-126 as zeros and makes zeros of them. Only
// for contractions, whose sums lose more than that to rounding; elsewhere 1e-40 is greater than 0.
class FlushDenormals {
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
#if defined(__SSE__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero); }
  ~FlushDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
};

// While it lives, denormal numbers are numbers again: for what is fused behind a contraction, of which 1e-40 may be
// all.
class KeepDenormals {
 public:
  KeepDenormals(const KeepDenormals&) = delete;
  KeepDenormals& operator=(const KeepDenormals&) = delete;
#if defined(__SSE__)
  KeepDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ & ~(kFlushToZero | kDenormalsAreZero)); }
  ~KeepDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  KeepDenormals() {}
  ~KeepDenormals() {}
#endif
};

// parallel_for for the tasks of a contraction.
template <typename Body>
void parallel_sums(Executor& executor, int64_t tasks, const Body& body) {
  parallel_for(executor, tasks, [&](int64_t task, int worker) {
    const FlushDenormals flush;
    body(task, worker);
  });
}

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_FLUSH_DENORMALS_H_
