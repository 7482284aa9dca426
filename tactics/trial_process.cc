#include "tactics/trial_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>

#include "schemas/types/error.h"
#include "tactics/work.h"

namespace planwright::tactics {
namespace {

constexpr int kPollMs = 20;
// The slowest kernel on the slowest core does this many operations a second; a run of a large step that takes longer
// than its work at this rate, besides the usual allowance, hangs.
constexpr double kSlowestRate = 50e6;
constexpr int kExitOutOfMemory = 3, kExitError = 4;

// What the child does first: nothing it does may reach the user's terminal, files or patience.
void become_trial_child(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitError);  // it died before the line above
  // Ctrl-C goes to the whole process group; the parent decides what becomes of the child.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(fatal, SIG_DFL);
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
}

// A child process that runs a trial; its end shows as the end of a pipe.
class TrialChild {
 public:
  TrialChild(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules,
             TrialBoard& board) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) {
      const int reason = errno;
      close(ends[0]);
      close(ends[1]);
      errno = reason;
      fail("fork");
    }
    if (pid_ == 0) {
      close(ends[0]);
      become_trial_child(parent);
      try {
        run_trial(spec, candidates, rules, board);
      } catch (const std::bad_alloc&) {
        _exit(kExitOutOfMemory);
      } catch (...) {
        _exit(kExitError);
      }
      _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  ~TrialChild() {
    if (!reaped_) {
      kill(pid_, SIGKILL);
      reap();
    }
    close(pipe_);
  }
  TrialChild(const TrialChild&) = delete;
  TrialChild& operator=(const TrialChild&) = delete;

  // Waits at most `milliseconds`; whether the child has ended.
  bool wait(int milliseconds) {
    pollfd end{pipe_, POLLIN, 0};
    return poll(&end, 1, milliseconds) == 1;
  }

  // Its wait status; call once wait() was true.
  int reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }

 private:
  [[noreturn]] static void fail(const char* call) {
    throw Error(StatusCode::kResource,
                fmt::format("timing tactics needs a child process, and {} failed: {}", call, strerror(errno)));
  }

  pid_t pid_ = -1;
  int pipe_ = -1;
  bool reaped_ = false;
};

enum class Ending { kFinished, kCrashed, kHung, kOutOfMemory };

std::string words_for(int status) {
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return fmt::format("it ended its process with exit status {}", WEXITSTATUS(status));
}

class Watcher {
 public:
  Watcher(const TrialWatch& watch, double work, const TrialBoard& board)
      : watch_(watch), patience_(watch.hang_seconds + work / kSlowestRate), board_(board) {}

  // Waits for the child's end, or brings it about. `how` gets words for it where it is not kFinished.
  Ending wait_for(TrialChild& child, std::string* how) {
    uint32_t last_sign = board_.signs_of_life();
    Time last_change = std::chrono::steady_clock::now();
    while (!child.wait(kPollMs)) {
      if (watch_.cancelled && watch_.cancelled()) throw Error(StatusCode::kCancelled, "interrupted while timing");
      const Time now = std::chrono::steady_clock::now();
      if (const uint32_t sign = board_.signs_of_life(); sign != last_sign) {
        last_sign = sign;
        last_change = now;
      } else if (std::chrono::duration<double>(now - last_change).count() > patience_) {
        *how = fmt::format("more than {:.1f} s in one run", patience_);
        return Ending::kHung;
      }
    }
    const int status = child.reap();
    if (board_.running() == TrialBoard::kDone) return Ending::kFinished;
    *how = words_for(status);
    return WIFEXITED(status) && WEXITSTATUS(status) == kExitOutOfMemory ? Ending::kOutOfMemory : Ending::kCrashed;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  const TrialWatch& watch_;
  const double patience_;
  const TrialBoard& board_;
};

TrialResult result_of(TrialBoard& board) {
  TrialResult result;
  for (int i = 0; i < board.size(); ++i) {
    result.measurements.push_back(board.measurement(i));
    result.reasons.push_back(is_usable(board.measurement(i).outcome) ? "" : board.reason(i));
  }
  result.timed_runs = board.timed_runs();
  result.disturbed = board.disturbed();
  result.cut_short = board.cut_short() != 0;
  return result;
}

}  // namespace

TrialResult try_candidates(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules,
                           const TrialWatch& watch) {
  TrialBoard board(static_cast<int>(candidates.size()));
  TrialRules current = rules;
  Watcher watcher(watch, work_of(spec), board);
  // Each round that does not finish excludes a candidate or the reference kernel.
  for (;;) {
    std::string how;
    Ending ending;
    {
      TrialChild child(spec, candidates, current, board);
      ending = watcher.wait_for(child, &how);
    }
    const int running = board.running();
    if (ending == Ending::kFinished) return result_of(board);
    if (ending == Ending::kOutOfMemory && running < 0) {
      throw Error(StatusCode::kResource,
                  fmt::format("timing layer {}: no memory for its operands; lower the opt shapes", spec.name));
    }
    if (running >= 0 && running < board.size()) {
      const Outcome outcome = ending == Ending::kHung          ? Outcome::kHung
                              : ending == Ending::kOutOfMemory ? Outcome::kFailed
                                                               : Outcome::kCrashed;
      board.exclude(running, outcome, ending == Ending::kOutOfMemory ? "ran out of memory" : how);
    } else if (running == TrialBoard::kReference && current.use_reference) {
      current.use_reference = false;
    } else {
      return result_of(board);  // the operands themselves: nothing can be timed
    }
    board.enter(TrialBoard::kSetUp);
  }
}

}  // namespace planwright::tactics
