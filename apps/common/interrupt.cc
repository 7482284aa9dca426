#include "apps/common/interrupt.h"

#include <signal.h>

#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

volatile sig_atomic_t interrupt_flag = 0;

void on_signal(int) { interrupt_flag = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A file size limit then fails the write, which says so and leaves nothing behind.
  signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return interrupt_flag != 0; }

void stop_if_interrupted() {
  if (interrupted()) throw Error(StatusCode::kCancelled, "interrupted");
}

}  // namespace planwright::apps
