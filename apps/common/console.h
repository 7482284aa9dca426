// What both programs print first and last, and what they exit with.
#ifndef PLANWRIGHT_APPS_COMMON_CONSOLE_H_
#define PLANWRIGHT_APPS_COMMON_CONSOLE_H_

#include <functional>
#include <stdexcept>
#include <string>

namespace planwright::apps {

// The command line itself is wrong: exit status 2.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr int kExitPassed = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

// Prints "&&&& RUNNING Planwright.<name> [vX.Y.Z] # <command line>", runs `body`, prints the same with PASSED or
// FAILED, and returns the exit status. What `body` returns is the status; what it throws is one message on stderr:
// UsageError exits 2, Error(kCancelled) 130, std::bad_alloc is RESOURCE, everything else exits 1. `body` runs with
// interrupts caught (interrupt.h).
int run_program(const std::string& name, int argc, char** argv, const std::function<int()>& body);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_CONSOLE_H_
