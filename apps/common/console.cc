#include "apps/common/console.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <planwright/planwright.hpp>

#include "apps/common/interrupt.h"
#include "apps/common/log.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

int report(StatusCode code, const char* message) {
  log_line('E', fmt::format("{}: {}", name_of(code), message));
  return code == StatusCode::kCancelled ? kExitInterrupted : kExitFailed;
}

int run_guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const UsageError& error) {
    log_line('E', error.what());
    return kExitUsage;
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const pw::Failure& failure) {
    return report(static_cast<StatusCode>(failure.status()), failure.what());
  } catch (const std::bad_alloc&) {
    return report(StatusCode::kResource, "out of memory: close other programs, or use smaller shapes");
  } catch (const std::exception& fault) {
    log_line('E', fmt::format("a fault of Planwright itself: {}", fault.what()));
    return kExitFailed;
  }
}

}  // namespace

int run_program(const std::string& name, int argc, char** argv, const std::function<int()>& body) {
  std::string command = name;
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  const auto print_state = [&](const char* state) {
    fmt::print("&&&& {} Planwright.{} [v{}] # {}\n", state, name, pw_version(), command);
    std::fflush(stdout);
  };
  print_state("RUNNING");
  catch_interrupts();
  const int status = run_guarded(body);
  std::fflush(stderr);
  print_state(status == kExitPassed ? "PASSED" : "FAILED");
  return status;
}

}  // namespace planwright::apps
