// Runs a fuzz target without libFuzzer, so with any compiler: every input of a corpus, then mutants of them until the
// time is over. It looks at no coverage. A minute of it in ./check sees what breaks often; other seeds and longer runs
// see more, and libFuzzer (preset `fuzz`) looks deepest.
//
//   TARGET CORPUS [--seconds=60] [--seed=1]    CORPUS is a folder, or one input; --seconds=0 makes no mutants
//
// A seed always makes the same mutants in the same order. An input that crashes, hangs, leaks or takes too much memory
// is left in ./TARGET-current.
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/accepted.h"
#include "tests/fuzz/mutate_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned seed);
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
// Declared in sanitizer/allocator_interface.h, which GCC does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));

namespace planwright::tests {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxBytes = 8192;       // of a mutant
constexpr int kMaxSeconds = 30;          // of CPU time, of one input: longer is a hang
constexpr long kMaxKilobytes = 4 << 20;  // resident
constexpr int kMaxLeakChecks = 200;      // they take time, and most find no more than a cache that was filled

std::vector<Bytes> corpus;
std::mt19937 randomness;

// Where the input that runs is written: into the page cache, which outlives the process and costs microseconds.
std::string current_path, current_text;
int current_file = -1;

void say_where() {
  if (write(STDERR_FILENO, current_text.data(), current_text.size()) < 0) return;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  say_where();
  _exit(1);
}

void on_signal(int signal) {
  alarm(10);  // should what was interrupted hold a lock that the trace needs
  const std::string_view text = signal == SIGPROF ? "An input takes over 30 seconds:\n" : "An input aborts:\n";
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(1);
  __sanitizer_print_stack_trace();
  say_where();
  _exit(1);
}

std::atomic<int64_t> live_blocks{0};

void run(const Bytes& input) {
  if (pwrite(current_file, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size()) ||
      ftruncate(current_file, static_cast<off_t>(input.size())) != 0) {
    fail("cannot write the input down");
  }
  // A block of exactly its size, so that a read past it is seen.
  uint8_t* const data = static_cast<uint8_t*>(std::malloc(input.size()));
  std::copy(input.begin(), input.end(), data);
  const int64_t live_before = live_blocks;
  const itimerval longest{{0, 0}, {kMaxSeconds, 0}}, never{};
  setitimer(ITIMER_PROF, &longest, nullptr);
  LLVMFuzzerTestOneInput(data, input.size());
  setitimer(ITIMER_PROF, &never, nullptr);
  static int leak_checks = 0;
  if (live_blocks > live_before && leak_checks < kMaxLeakChecks) {
    ++leak_checks;
    if (__lsan_do_recoverable_leak_check() != 0) fail("An input leaks.");
  }
  std::free(data);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > kMaxKilobytes) fail("An input takes over 4 GiB of memory.");
}

const Bytes& any_input() { return corpus[randomness() % corpus.size()]; }

Bytes mutant() {
  Bytes bytes = any_input();
  if (LLVMFuzzerCustomMutator != nullptr) {
    const size_t size = bytes.size();
    bytes.resize(std::max(size, kMaxBytes));
    bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), static_cast<unsigned>(randomness())));
    return bytes;
  }
  const size_t max_size = std::max(bytes.size(), kMaxBytes);
  for (unsigned changes = 1u << randomness() % 3; changes > 0; --changes) {
    mutate(&bytes, any_input(), max_size, randomness);
  }
  return bytes;
}

// Sorted by name, so that a seed means the same on every file system.
void read_corpus(const fs::path& path) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    if (!stream) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      std::exit(2);
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s is empty\n", path.c_str());
    std::exit(2);
  }
}

bool number_after(std::string_view flag, std::string_view argument, unsigned* number) {
  if (!argument.starts_with(flag)) return false;
  const char* const end = argument.data() + argument.size();
  const auto [stop, error] = std::from_chars(argument.data() + flag.size(), end, *number);
  return error == std::errc() && stop == end;
}

int main(int argc, char** argv) {
  unsigned seconds = 60, seed = 1;
  bool understood = argc >= 2;
  for (int i = 2; i < argc; ++i) {
    understood &= number_after("--seconds=", argv[i], &seconds) || number_after("--seed=", argv[i], &seed);
  }
  const std::string name = fs::path(argv[0]).filename();
  if (!understood) {
    std::fprintf(stderr, "%s CORPUS [--seconds=60] [--seed=1]\n", name.c_str());
    return 2;
  }
  read_corpus(argv[1]);
  randomness.seed(seed);
  current_path = name + "-current";
  current_text = "The input is left in " + fs::absolute(current_path).string() + "\n";
  current_file = open(current_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  __sanitizer_set_death_callback(say_where);
  __sanitizer_install_malloc_and_free_hooks([](const volatile void*, size_t) { ++live_blocks; },
                                            [](const volatile void*) { --live_blocks; });
  std::signal(SIGPROF, on_signal);
  std::signal(SIGABRT, on_signal);

  for (const Bytes& input : corpus) run(input);
  const uint64_t accepted_seeds = accepted_inputs;
  uint64_t mutants = 0;
  for (const auto end = Clock::now() + std::chrono::seconds(seconds); Clock::now() < end; ++mutants) run(mutant());

  close(current_file);
  unlink(current_path.c_str());
  __sanitizer_set_death_callback(nullptr);  // leaks that are found at exit are not the last input's
  std::printf("%s: %zu inputs, of which %llu were accepted, and in %u s %llu mutants of them, of which %llu; seed %u\n",
              name.c_str(), corpus.size(), static_cast<unsigned long long>(accepted_seeds), seconds,
              static_cast<unsigned long long>(mutants),
              static_cast<unsigned long long>(accepted_inputs - accepted_seeds), seed);
  return 0;
}

}  // namespace
}  // namespace planwright::tests

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  using namespace planwright::tests;
  Bytes bytes(data, data + size);
  mutate(&bytes, any_input(), max_size, randomness);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

// GCC's runtime of the undefined-behaviour sanitizer is one of its own, which knows no death callback; aborts do.
extern "C" __attribute__((visibility("default"))) const char* __ubsan_default_options() { return "abort_on_error=1"; }

int main(int argc, char** argv) { return planwright::tests::main(argc, argv); }
