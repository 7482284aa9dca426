// conformance: takes every case of a folder over the whole road, each in a process of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "apps/common/plugins.h"
#include "schemas/types/error.h"
#include "tests/conformance/run_case.h"

namespace planwright::conformance {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  size_t index = 0;
  Clock::time_point start;
  std::string text;  // what it wrote: one byte of Result, then the message
};

Child start_child(const Case& one, size_t index, const std::filesystem::path& scratch) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(StatusCode::kResource, std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) throw Error(StatusCode::kResource, std::strerror(errno));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const Outcome outcome = run_case(one, scratch);
    std::string text(1, static_cast<char>(outcome.result));
    text += outcome.message;
    for (size_t done = 0; done < text.size();) {
      const ssize_t wrote = write(ends[1], text.data() + done, text.size() - done);
      if (wrote <= 0) _exit(1);
      done += static_cast<size_t>(wrote);
    }
    _exit(0);
  }
  close(ends[1]);
  return {pid, ends[0], index, Clock::now(), ""};
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Waits for a child whose pipe has closed (or that was killed) and says what came of it.
Outcome finish(Child& child, bool timed_out) {
  close(child.pipe);
  int status = 0;
  waitpid(child.pid, &status, 0);
  if (timed_out) return {Result::kHung, "no answer in time"};
  if (WIFSIGNALED(status))
    return {Result::kCrashed, fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))};
  if (WEXITSTATUS(status) != 0 || child.text.empty()) {
    return {Result::kCrashed, fmt::format("exited with {} and no answer", WEXITSTATUS(status))};
  }
  return {static_cast<Result>(child.text[0]), child.text.substr(1)};
}

struct Row {
  Outcome outcome;
  double seconds = 0;
};

std::vector<Row> run_all(const std::vector<Case>& cases, int jobs, double timeout,
                         const std::filesystem::path& scratch) {
  std::vector<Row> rows(cases.size());
  std::vector<Child> running;
  size_t next = 0;
  while (next < cases.size() || !running.empty()) {
    while (next < cases.size() && running.size() < static_cast<size_t>(jobs)) {
      running.push_back(start_child(cases[next], next, scratch));
      ++next;
    }
    std::vector<pollfd> polls;
    for (const Child& child : running) polls.push_back({child.pipe, POLLIN, 0});
    poll(polls.data(), polls.size(), 100);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      bool closed = false;
      if (polls[i].revents != 0) {
        char buffer[4096];
        const ssize_t got = read(child.pipe, buffer, sizeof buffer);
        if (got > 0) child.text.append(buffer, static_cast<size_t>(got));
        closed = got <= 0;
      }
      const double seconds = seconds_since(child.start);
      const bool timed_out = !closed && seconds > timeout;
      if (timed_out) kill(child.pid, SIGKILL);
      if (!closed && !timed_out) continue;
      rows[child.index] = {finish(child, timed_out), seconds};
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return rows;
}

void write_json(const std::string& path, const std::vector<Case>& cases, const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    list.push_back({{"name", cases[i].name},
                    {"result", name_of(rows[i].outcome.result)},
                    {"message", rows[i].outcome.message},
                    {"seconds", rows[i].seconds}});
  }
  std::ofstream stream(path);
  // A message may quote a model's bytes; those that are no UTF-8 are replaced.
  stream << nlohmann::json{{"cases", list}}.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!stream) throw Error(StatusCode::kIo, "cannot write " + path);
}

struct Arguments {
  std::string folder, filter, json;
  std::vector<std::string> plugins;
  int jobs = 1;
  double timeout = 60;
  int min_passed = 0;
};

// 0 when nothing was wrong, crashed or hung and at least min_passed passed.
int run_main(const Arguments& arguments) {
  apps::load_plugins(arguments.plugins);
  const std::regex filter(arguments.filter);
  std::vector<Case> cases;
  for (Case& one : find_cases(arguments.folder)) {
    if (std::regex_search(one.name, filter)) cases.push_back(std::move(one));
  }
  std::string scratch = (std::filesystem::temp_directory_path() / "planwright-conformance-XXXXXX").string();
  if (mkdtemp(scratch.data()) == nullptr) throw Error(StatusCode::kIo, scratch + ": " + std::strerror(errno));
  const std::vector<Row> rows = run_all(cases, arguments.jobs, arguments.timeout, scratch);
  std::filesystem::remove_all(scratch);

  std::map<Result, int> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome& outcome = rows[i].outcome;
    ++counts[outcome.result];
    if (outcome.result != Result::kPassed) {
      fmt::print("{:8} {}: {}\n", name_of(outcome.result), cases[i].name, outcome.message);
    }
  }
  fmt::print("{} cases: {} passed, {} refused, {} wrong, {} crashed, {} hung\n", cases.size(), counts[Result::kPassed],
             counts[Result::kRefused], counts[Result::kWrong], counts[Result::kCrashed], counts[Result::kHung]);
  if (!arguments.json.empty()) write_json(arguments.json, cases, rows);
  const bool sound = counts[Result::kWrong] + counts[Result::kCrashed] + counts[Result::kHung] == 0;
  return sound && counts[Result::kPassed] >= arguments.min_passed ? 0 : 1;
}

}  // namespace
}  // namespace planwright::conformance

int main(int argc, char** argv) {
  planwright::conformance::Arguments arguments;
  CLI::App app("Takes every folder of DIR that has a model.onnx over the whole road: import, build, run, compare");
  app.add_option("--cases", arguments.folder, "the folder of cases")->required();
  app.add_option("--filter", arguments.filter, "only cases whose name this regular expression finds");
  app.add_option("--jobs", arguments.jobs, "cases at once")->check(CLI::Range(1, 256));
  app.add_option("--timeout", arguments.timeout, "seconds a case may take")->check(CLI::PositiveNumber);
  app.add_option("--json", arguments.json, "where results go");
  app.add_option("--plugins", arguments.plugins, "libraries of custom operators: lib.so,...")->delimiter(',');
  app.add_option("--min-passed", arguments.min_passed, "fail where fewer pass");
  CLI11_PARSE(app, argc, argv);
  try {
    return planwright::conformance::run_main(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "conformance: {}\n", error.what());
    return 2;
  }
}
