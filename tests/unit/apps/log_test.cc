#include "apps/common/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.h"

namespace planwright::apps {
namespace {

// A log that holds both used to show a warning before the line it followed.
TEST(LogLine, ComesAfterWhatWasPrintedBefore) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.file("log");
  std::fflush(stdout);
  const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  std::printf("first\n");
  log_warning("second\x1b[1m");
  std::printf("third\n");
  std::fflush(stdout);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const int descriptor : {out, err, file}) close(descriptor);
  std::ifstream stream(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "first\n[W] second\\x1b[1m\nthird\n");
}

}  // namespace
}  // namespace planwright::apps
