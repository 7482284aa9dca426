// Fuzz target: a plan of any bytes, sealed as a forger would seal it, opened and run. ./check runs it for a minute
// (driver.cc). With libFuzzer:
//
//   cmake --preset fuzz && cmake --build build/fuzz --target engine_fuzz write_engine_seeds
//   build/fuzz/bin/write_engine_seeds corpus && build/fuzz/bin/engine_fuzz -max_total_time=3600 corpus
#include <pthread.h>
#include <setjmp.h>
#include <sys/time.h>

#include <csignal>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/accepted.h"
#include "tests/support/exercise.h"
#include "tests/support/loaded.h"
#include "tests/support/reseal.h"

namespace planwright {
namespace {

// The size of the weights section is the first two bytes', its contents are zeros: they never matter for safety, and a
// loop's trip count read there must end.
std::vector<char> engine_around(const uint8_t* plan, size_t plan_bytes, uint64_t weights_bytes) {
  const planfmt::Sections sections = planfmt::Sections::of(plan_bytes, weights_bytes);
  planfmt::FileHeader header{};
  memcpy(header.magic, planfmt::kMagic, sizeof header.magic);
  header.version = planfmt::kFormatVersion;
  header.header_bytes = sizeof header;
  header.file_bytes = sections.file_bytes;
  header.plan_offset = sections.plan_offset;
  header.plan_bytes = plan_bytes;
  header.chunks_offset = sections.chunks_offset;
  header.chunk_count = sections.chunk_count;
  header.weights_offset = sections.weights_offset;
  header.weights_bytes = weights_bytes;
  std::vector<char> bytes(sections.file_bytes);
  if (plan_bytes > 0) memcpy(bytes.data() + sections.plan_offset, plan, plan_bytes);
  memcpy(bytes.data(), &header, sizeof header);
  tests::reseal(&bytes);
  return bytes;
}

// An engine may describe very long work: what a run has not done in a tenth of a second of CPU time is left undone.
// Nothing is lost with the run's stack, as runs allocate nothing.
sigjmp_buf out_of_the_run;
pthread_t running;

// The timer is the process's: its signal may come to a thread of the fuzzer's own.
void leave_the_run(int signal) {
  if (!pthread_equal(pthread_self(), running)) {
    pthread_kill(running, signal);
    return;
  }
  siglongjmp(out_of_the_run, 1);
}

bool run_briefly(pw_context* context) {
  running = pthread_self();
  std::signal(SIGVTALRM, leave_the_run);
  if (sigsetjmp(out_of_the_run, 1) != 0) return false;
  const itimerval brief{{0, 0}, {0, 100'000}}, never{};
  setitimer(ITIMER_VIRTUAL, &brief, nullptr);
  const bool ok = tests::run_to_the_end(context);
  setitimer(ITIMER_VIRTUAL, &never, nullptr);
  return ok;
}

}  // namespace
}  // namespace planwright

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t weights_bytes = data[0] | static_cast<uint64_t>(data[1]) << 8;
  planwright::tests::Aligned engine(planwright::engine_around(data + 2, size - 2, weights_bytes));
  const auto exercised = planwright::tests::exercise(engine.data(), engine.size(), planwright::run_briefly);
  if (exercised.opened) ++planwright::tests::accepted_inputs;
  return 0;
}
