// write_engine_seeds FOLDER: sound plans for engine_fuzz to start from.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "planfmt/encode.h"
#include "tests/support/control_plan.h"

namespace {

void write_seed(const std::filesystem::path& path, const planwright::planfmt::PlanModel& plan) {
  uint64_t weights_bytes = 0;
  const auto blobs = planwright::planfmt::place_blobs(plan.weights, &weights_bytes);
  const flatbuffers::DetachedBuffer bytes = planwright::planfmt::encode_plan(plan, blobs);
  std::ofstream file(path, std::ios::binary);
  file.put(static_cast<char>(weights_bytes & 0xFF)).put(static_cast<char>(weights_bytes >> 8));
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "write_engine_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  write_seed(folder / "matmul_relu", planwright::tests::matmul_relu_plan().plan);
  write_seed(folder / "many_steps", planwright::tests::many_steps_plan().plan);
  write_seed(folder / "control", planwright::tests::control_plan(true).plan);
  return 0;
}
