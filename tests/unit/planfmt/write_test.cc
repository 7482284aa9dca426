// The bytes of an engine file, and what is left of one when writing it is cut off.
#include "planfmt/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <thread>

#include "planfmt/engine_file.h"
#include "planfmt/header.h"
#include "schemas/types/error.h"
#include "tests/support/reseal.h"
#include "tests/support/small_plan.h"
#include "tests/support/temporary_folder.h"

namespace planwright::planfmt {
namespace {

using ::testing::HasSubstr;
using tests::TemporaryFolder;

std::vector<char> bytes_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Blobs whose sizes leave gaps, one of them past a chunk.
PlanModel plan_with_weights(char fill) {
  tests::PlanBuilder builder = tests::matmul_relu_plan();
  for (const size_t size : {size_t{1}, size_t{64}, size_t{kChunkBytes + 100}, size_t{3}}) {
    builder.plan.weights.add(std::make_shared<const std::vector<std::byte>>(size, std::byte(fill)));
  }
  return builder.plan;
}

TEST(Write, TheFileIsAsFormatMdSays) {
  const TemporaryFolder folder;
  const PlanModel plan = plan_with_weights(7);
  ASSERT_TRUE(write_engine(plan, folder.file("engine")).ok()) << last_error();
  const std::vector<char> bytes = bytes_at(folder.file("engine"));
  const FileHeader header = tests::header_of(bytes);
  EXPECT_EQ(memcmp(bytes.data(), "\x89PWE\r\n\x1a\n", 8), 0);
  EXPECT_EQ(header.version, 1u);
  EXPECT_EQ(header.file_bytes, bytes.size());
  EXPECT_EQ(header.plan_offset, 128u);
  EXPECT_EQ(memcmp(bytes.data() + header.plan_offset + 4, "PWPL", 4), 0);
  EXPECT_EQ(header.chunk_count, 2u);
  EXPECT_EQ(header.weights_offset % 4096, 0u);
  // 48 bytes of W at 0, then each at the next multiple of 64.
  EXPECT_EQ(header.weights_bytes, 192 + kChunkBytes + 100 + (64 - 100 % 64) % 64 + 3);
  EXPECT_EQ(bytes[header.weights_offset + 48], 0);
  EXPECT_EQ(bytes[header.weights_offset + 64], 7);
  EXPECT_EQ(bytes[header.weights_offset + 65], 0);
  // Sealing it again changes nothing: the checksums are right.
  std::vector<char> sealed = bytes;
  tests::reseal(&sealed);
  EXPECT_EQ(sealed, bytes);
}

TEST(Write, ThePlanComesBack) {
  const TemporaryFolder folder;
  const PlanModel model = tests::many_steps_plan().plan;
  ASSERT_TRUE(write_engine(model, folder.file("engine")).ok()) << last_error();
  EngineFile file;
  ASSERT_TRUE(file.open(folder.file("engine").c_str(), {}).ok()) << last_error();
  const plan::Plan& plan = file.plan();
  EXPECT_EQ(plan.model()->str(), "small");
  EXPECT_EQ(plan.expressions()->size(), model.expressions.size());
  const plan::Program& program = *plan.programs()->Get(0);
  EXPECT_EQ(program.arena_size(), model.programs[0].arena_size);
  const plan::Step& conv = *program.regions()->Get(0)->steps()->Get(3);
  const StepModel& expected = model.programs[0].steps[3];
  EXPECT_EQ(conv.name()->str(), "conv");
  EXPECT_EQ(plan.kernels()->Get(conv.kernel())->name()->str(), "reference_conv");
  EXPECT_EQ(plan.nodes()->Get(conv.onnx()->Get(0))->str(), "conv");
  ASSERT_EQ(conv.params()->size(), expected.params.size());
  EXPECT_EQ(memcmp(conv.params()->data(), expected.params.data(), expected.params.size()), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(conv.params()->data()) % 8, 0u);
  EXPECT_EQ(conv.packed(), -1);
  EXPECT_EQ(program.regions()->Get(0)->steps()->Get(0)->inputs()->Get(1), -1);
  EXPECT_EQ(file.weights_bytes(), 24u);
}

TEST(Write, ANoteComesBack) {
  const TemporaryFolder folder;
  PlanModel model = tests::matmul_relu_plan().plan;
  const auto note_of = [&]() -> std::optional<std::string> {
    EngineFile file;
    throw_if_error(write_engine(model, folder.file("engine")));
    throw_if_error(file.open(folder.file("engine").c_str(), {}));
    if (file.plan().note() == nullptr) return std::nullopt;
    return file.plan().note()->str();
  };
  EXPECT_EQ(note_of(), std::nullopt);
  model.note = "int8: all of it";
  EXPECT_EQ(note_of(), model.note);
}

TEST(Write, TheSamePlanGivesTheSameBytesWherever) {
  const TemporaryFolder first, second;
  ASSERT_TRUE(write_engine(plan_with_weights(7), first.file("a")).ok());
  ASSERT_TRUE(write_engine(plan_with_weights(7), second.file("another_name")).ok());
  EXPECT_EQ(bytes_at(first.file("a")), bytes_at(second.file("another_name")));
}

TEST(Write, EqualWeightsAreStoredOnce) {
  WeightStore store;
  const auto make = [](size_t size, int value) {
    return std::make_shared<const std::vector<std::byte>>(size, std::byte(value));
  };
  EXPECT_EQ(store.add(make(10, 1)), 0u);
  EXPECT_EQ(store.add(make(10, 2)), 1u);
  EXPECT_EQ(store.add(make(10, 1)), 0u);
  EXPECT_EQ(store.add(make(11, 1)), 2u);
  EXPECT_EQ(store.add(make(0, 0)), 3u);
  EXPECT_EQ(store.total_bytes(), 31u);
}

TEST(Write, AnUnwritablePlaceIsKnownBeforehand) {
  const TemporaryFolder folder;
  EXPECT_TRUE(check_writable(folder.file("engine")).ok()) << last_error();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  for (const std::string& path : {folder.path().string(), folder.file("absent/engine"), std::string("/proc/engine")}) {
    EXPECT_EQ(check_writable(path).code(), StatusCode::kIo) << path;
    EXPECT_THAT(last_error(), HasSubstr(path));
  }
}

// B22. A limit on the size of files fails a write in the middle, after a short one, as a full disk does.
TEST(Write, AWriteThatFailsMidwayLeavesTheOldFileAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_engine(tests::matmul_relu_plan().plan, folder.file("engine")).ok());
  const std::vector<char> old = bytes_at(folder.file("engine"));
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t bytes : {rlim_t{1}, rlim_t{500}, rlim_t{4096}, rlim_t{kChunkBytes}}) {
    const rlimit small = {bytes, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const Status status = write_engine(plan_with_weights(7), folder.file("engine"));
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_EQ(status.code(), StatusCode::kIo) << bytes;
    EXPECT_THAT(last_error(), HasSubstr("engine: cannot be written"));
    EXPECT_EQ(bytes_at(folder.file("engine")), old);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  }
  signal(SIGXFSZ, handler);
}

// B23. Killed at any moment, a writer leaves a whole file: what it had replaced last, or what it was about to replace.
// An engine that the loader refuses used to take the place of a good one.
TEST(Write, WhatIsRefusedReplacesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("engine");
  ASSERT_TRUE(write_engine(plan_with_weights(0), path).ok());
  const auto size = std::filesystem::file_size(path);
  std::string seen;
  const Status status = write_engine(plan_with_weights(7), path, [&](const std::string& temporary) {
    seen = temporary;
    EXPECT_GE(std::filesystem::file_size(temporary), size);  // it is whole
    return error(StatusCode::kCorrupt, "not good enough");
  });
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_STREQ(last_error(), "not good enough");
  EXPECT_NE(seen, path);
  EXPECT_FALSE(std::filesystem::exists(seen));
  EXPECT_EQ(std::filesystem::file_size(path), size);
}

TEST(Write, AKilledWriterLeavesAWholeFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("engine");
  ASSERT_TRUE(write_engine(plan_with_weights(0), path).ok());
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (char fill = 1;; ++fill) (void)write_engine(plan_with_weights(fill), path);
    }
    usleep(1000 + 700 * round);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EngineFile file;
    EXPECT_TRUE(file.open(path.c_str(), {}).ok()) << "round " << round << ": " << last_error();
  }
}

// B27. Two writers of one file: the last rename wins, and it is one of them whole.
TEST(Write, TwoWritersOfOneFileDoNotMix) {
  const TemporaryFolder folder;
  const std::string path = folder.file("engine");
  const auto write = [&](char fill) {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(write_engine(plan_with_weights(fill), path).ok()) << last_error();
  };
  std::thread first(write, 1), second(write, 2);
  first.join();
  second.join();
  EngineFile file;
  EXPECT_TRUE(file.open(path.c_str(), {}).ok()) << last_error();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace planwright::planfmt
