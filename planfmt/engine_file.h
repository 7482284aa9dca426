// An engine file in memory: its plan on the heap, its weights mapped or read.
#ifndef PLANWRIGHT_PLANFMT_ENGINE_FILE_H_
#define PLANWRIGHT_PLANFMT_ENGINE_FILE_H_

#include <cstddef>
#include <cstdint>

#include "planfmt/memory.h"
#include "schemas/plan_generated.h"
#include "schemas/types/status.h"

namespace planwright::planfmt {

struct OpenMode {
  bool read = false;     // read everything into memory of our own instead of mapping
  bool trusted = false;  // skip the checksums of the weights
};

class EngineFile {
 public:
  EngineFile() = default;
  EngineFile(const EngineFile&) = delete;
  EngineFile& operator=(const EngineFile&) = delete;
  ~EngineFile();

  // Opens, checks header, sections and checksums, copies the plan and has FlatBuffers' verifier pass over the copy.
  // What the plan says is not yet checked: verify.h does. Called once on an object.
  // Errors: kIo, kCorrupt, kIncompatible (a newer version), kResource; the text begins with the path.
  Status open(const char* path, const OpenMode& mode);
  // The same from memory that outlives this object unless mode.read; 64-byte aligned. kInvalid where it is not.
  Status open_memory(const void* data, size_t bytes, const OpenMode& mode);

  const plan::Plan& plan() const { return *plan_; }
  uint64_t plan_bytes() const { return plan_copy_size_; }
  // 64-byte aligned.
  const std::byte* weights() const { return weights_; }
  uint64_t weights_bytes() const { return weights_bytes_; }
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  Status map_or_read(int descriptor, uint64_t size, bool read);
  Status check(const std::byte* data, uint64_t size, bool trusted);

  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  AlignedBytes read_;
  AlignedBytes plan_copy_;
  uint64_t plan_copy_size_ = 0;
  const plan::Plan* plan_ = nullptr;
  const std::byte* weights_ = nullptr;
  uint64_t weights_bytes_ = 0;
  uint64_t file_bytes_ = 0;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_ENGINE_FILE_H_
