// A plan written to a file, opened, with a context.
#ifndef PLANWRIGHT_TESTS_SUPPORT_LOADED_H_
#define PLANWRIGHT_TESTS_SUPPORT_LOADED_H_

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "planfmt/write.h"
#include "planwright/planwright.h"
#include "schemas/types/error.h"
#include "tests/support/temporary_folder.h"

namespace planwright::tests {

inline std::vector<char> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The bytes of the engine file that a plan becomes.
inline std::vector<char> engine_bytes(const planfmt::PlanModel& plan) {
  const TemporaryFolder folder;
  throw_if_error(planfmt::write_engine(plan, folder.file("engine")));
  return file_bytes(folder.file("engine"));
}

// Bytes at a 64-byte boundary, as pw_engine_open_memory wants them.
class Aligned {
 public:
  explicit Aligned(const std::vector<char>& bytes) : size_(bytes.size()) {
    data_ = static_cast<char*>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64 + 64));
    std::copy(bytes.begin(), bytes.end(), data_);
  }
  ~Aligned() { std::free(data_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  char* data() { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_;
  size_t size_;
};

enum class Way { kMap, kRead, kMemory, kMemoryRead };

class Loaded {
 public:
  explicit Loaded(const planfmt::PlanModel& plan, Way way = Way::kMap, const pw_context_options* options = nullptr)
      : bytes_(engine_bytes(plan)) {
    const bool read = way == Way::kRead || way == Way::kMemoryRead;
    const pw_open_options open = {sizeof(pw_open_options), read ? PW_SOURCE_READ : PW_SOURCE_MAP, 0};
    if (way == Way::kMap || way == Way::kRead) {
      throw_if_error(planfmt::write_engine(plan, folder_.file("engine")));
      require(pw_engine_open(folder_.file("engine").c_str(), &open, &engine_));
    } else {
      require(pw_engine_open_memory(bytes_.data(), bytes_.size(), &open, &engine_));
    }
    require(pw_context_create(engine_, options, &context_));
  }
  ~Loaded() {
    pw_context_destroy(context_);
    pw_engine_close(engine_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  pw_engine* engine() const { return engine_; }
  pw_context* context() const { return context_; }

  void set_shape(const char* name, const std::vector<int64_t>& dims) {
    require(pw_context_set_input_shape(context_, name, dims.data(), dims.size()));
  }
  std::vector<int64_t> shape(const char* name) const {
    std::vector<int64_t> dims(PW_MAX_RANK);
    size_t rank = dims.size();
    require(pw_context_output_shape(context_, name, dims.data(), &rank));
    dims.resize(rank);
    return dims;
  }
  template <typename T>
  void bind(const char* name, const std::vector<T>& values) {
    require(pw_context_bind(context_, name, const_cast<T*>(values.data()), values.size() * sizeof(T)));
  }

 private:
  static void require(int status) {
    if (status != PW_OK) throw Error(static_cast<StatusCode>(status), pw_last_error());
  }

  TemporaryFolder folder_;
  Aligned bytes_;
  pw_engine* engine_ = nullptr;
  pw_context* context_ = nullptr;
};

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_LOADED_H_
