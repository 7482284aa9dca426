#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "calibrator/arrays/npz.h"
#include "calibrator/arrays/zip_format.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::arrays {
namespace {

// The records' fixed parts, and the longest comment at the end of an archive.
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kLongestComment = 65535;
// A million arrays; a directory of more is a damaged one.
constexpr uint64_t kMostDirectoryBytes = uint64_t{64} << 20;
// Deflate makes at most 258 bytes of two bits, and the header of a block takes a few bytes more.
constexpr uint64_t kMostDeflated = 1032;
constexpr uint64_t kDeflatedSlack = 1024;

constexpr uint16_t kEncrypted = 1;  // a flag
constexpr uint16_t kExtra64 = 1;    // the extra field that holds sizes past 4 GiB
constexpr uint32_t kIn64 = 0xFFFFFFFF;

[[noreturn]] void refuse(const std::string& title, const char* why) {
  throw Error(StatusCode::kInvalid, fmt::format("{}: {}", title, why));
}

// Little-endian fields, read one after another from bytes that may end anywhere.
class Fields {
 public:
  Fields(const std::string& bytes, size_t at, size_t end) : bytes_(bytes), at_(at), end_(end) {}
  Fields(const std::string& bytes, size_t at) : Fields(bytes, at, bytes.size()) {}

  bool has(size_t bytes) const { return in_range(at_, bytes, end_); }
  size_t at() const { return at_; }
  void skip(size_t bytes) { at_ += bytes; }
  // Of a field that is there.
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string take_text(size_t size) {
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  const std::string& bytes_;
  size_t at_, end_;
};

std::string read_bytes(File& file, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  file.seek(offset);
  file.read(bytes.data(), size);
  return bytes;
}

struct Directory {
  uint64_t offset = 0, size = 0;
};

// The record in front of the end of an archive of more than 4 GiB or 65,535 files, else what `plain` says.
Directory find_directory64(File& file, uint64_t end, Directory plain) {
  if (end < kLocator64Bytes) return plain;
  const std::string locator = read_bytes(file, end - kLocator64Bytes, kLocator64Bytes);
  Fields place(locator, 0);
  if (place.take<uint32_t>() != zip::kLocator64) return plain;
  place.skip(4);
  const uint64_t at = place.take<uint64_t>();
  if (!in_range(at, kEnd64Bytes, file.size())) refuse(file.path(), "its directory lies outside the archive");
  const std::string record = read_bytes(file, at, kEnd64Bytes);
  Fields fields(record, 0);
  if (fields.take<uint32_t>() != zip::kEndOfDirectory64) refuse(file.path(), "its directory is damaged");
  fields.skip(36);
  const uint64_t size = fields.take<uint64_t>();
  return {fields.take<uint64_t>(), size};
}

Directory find_directory(File& file) {
  const uint64_t tail_size = std::min<uint64_t>(file.size(), kEndBytes + kLongestComment);
  const uint64_t tail_start = file.size() - tail_size;
  const std::string tail = read_bytes(file, tail_start, tail_size);
  for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    Fields fields(tail, at);
    if (fields.take<uint32_t>() != zip::kEndOfDirectory) continue;
    fields.skip(8);
    Directory found;
    found.size = fields.take<uint32_t>();
    found.offset = fields.take<uint32_t>();
    found = find_directory64(file, tail_start + at, found);
    if (!in_range(found.offset, found.size, file.size())) refuse(file.path(), "its directory lies outside the archive");
    if (found.size > kMostDirectoryBytes) refuse(file.path(), "its directory is longer than any that NumPy writes");
    return found;
  }
  refuse(file.path(), "is no .npz archive, or is cut short");
}

// The fields that did not fit into 32 bits, in the order they would have there.
void take_wide_fields(Fields extra, NpzArchive::Member& member) {
  while (extra.has(4)) {
    const uint16_t kind = extra.take<uint16_t>(), size = extra.take<uint16_t>();
    if (kind != kExtra64) {
      extra.skip(size);
      continue;
    }
    for (uint64_t* field : {&member.size, &member.stored_size, &member.offset}) {
      if (*field == kIn64 && extra.has(8)) *field = extra.take<uint64_t>();
    }
    return;
  }
}

// The bytes of one file of an archive.
class MemberStream : public ByteStream {
 public:
  MemberStream(const std::string& path, const std::string& title, const NpzArchive::Member& member)
      : file_(path), title_(title), member_(member), stored_left_(member.stored_size), left_(member.size) {
    if (!in_range(member.offset, kLocalBytes, file_.size())) refuse(title, "lies outside the archive");
    const std::string header = read_bytes(file_, member.offset, kLocalBytes);
    Fields fields(header, 0);
    if (fields.take<uint32_t>() != zip::kLocalHeader) refuse(title, "its place in the archive is damaged");
    fields.skip(22);
    const uint64_t name = fields.take<uint16_t>(), extra = fields.take<uint16_t>();
    const uint64_t start = member.offset + kLocalBytes + name + extra;
    if (!in_range(start, member.stored_size, file_.size())) refuse(title, "is cut short");
    file_.seek(start);
    if (member.method == zip::kStored) {
      if (member.size != member.stored_size) refuse(title, "its two sizes differ");
      return;
    }
    if (member.size / kMostDeflated > member.stored_size + kDeflatedSlack) {
      refuse(title, "its size is more than its bytes can hold");
    }
    if (inflateInit2(&inflater_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    is_inflating_ = true;
  }
  ~MemberStream() override {
    if (is_inflating_) inflateEnd(&inflater_);
  }
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  uint64_t size() const override { return member_.size; }

  void read(void* to, size_t bytes) override {
    if (bytes > left_) refuse(title_, "is cut short");
    if (is_inflating_) {
      inflate_bytes(to, bytes);
    } else {
      file_.read(to, bytes);
    }
    crc_ = crc32_z(crc_, static_cast<const Bytef*>(to), bytes);
    left_ -= bytes;
    if (left_ == 0 && crc_ != member_.crc) refuse(title_, "is damaged (its checksum does not match)");
  }

 private:
  void inflate_bytes(void* to, size_t bytes) {
    auto* next = static_cast<Bytef*>(to);
    while (bytes > 0) {
      if (inflater_.avail_in == 0 && stored_left_ > 0) {
        const size_t piece = std::min<uint64_t>(stored_left_, sizeof stored_);
        file_.read(stored_, piece);
        stored_left_ -= piece;
        inflater_.next_in = stored_;
        inflater_.avail_in = static_cast<uInt>(piece);
      }
      const auto room = static_cast<uInt>(std::min<size_t>(bytes, 1 << 30));
      inflater_.next_out = next;
      inflater_.avail_out = room;
      const int result = inflate(&inflater_, Z_NO_FLUSH);
      const size_t made = room - inflater_.avail_out;
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (made == 0 && result != Z_OK) refuse(title_, "is damaged (it cannot be decompressed)");
      next += made;
      bytes -= made;
    }
  }

  File file_;
  const std::string title_;
  const NpzArchive::Member member_;
  uint64_t stored_left_, left_;  // bytes
  uLong crc_ = 0;
  z_stream inflater_{};
  bool is_inflating_ = false;
  Bytef stored_[1 << 14];
};

}  // namespace

NpzArchive::NpzArchive(const std::string& path) : path_(path) {
  File file(path);
  const Directory place = find_directory(file);
  const std::string directory = read_bytes(file, place.offset, place.size);
  for (Fields fields(directory, 0); fields.at() < directory.size();) {
    if (!fields.has(kCentralBytes) || fields.take<uint32_t>() != zip::kCentralHeader) {
      refuse(path, "its directory is damaged");
    }
    Member member;
    fields.skip(4);
    member.flags = fields.take<uint16_t>();
    member.method = fields.take<uint16_t>();
    fields.skip(4);
    member.crc = fields.take<uint32_t>();
    member.stored_size = fields.take<uint32_t>();
    member.size = fields.take<uint32_t>();
    const size_t name_size = fields.take<uint16_t>(), extra_size = fields.take<uint16_t>();
    const size_t comment_size = fields.take<uint16_t>();
    fields.skip(8);
    member.offset = fields.take<uint32_t>();
    if (!fields.has(name_size + extra_size + comment_size)) refuse(path, "its directory is damaged");
    std::string name = fields.take_text(name_size);
    take_wide_fields(Fields(directory, fields.at(), fields.at() + extra_size), member);
    fields.skip(extra_size + comment_size);
    if (!name.ends_with(".npy")) continue;
    name.resize(name.size() - 4);
    if (!members_.emplace(name, member).second) refuse(path, fmt::format("it has two arrays '{}'", name).c_str());
  }
}

std::vector<std::string> NpzArchive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

ArrayReader NpzArchive::open(const std::string& array) const {
  const Member& member = members_.at(array);
  const std::string title = fmt::format("{}: array '{}'", path_, array);
  if ((member.flags & kEncrypted) != 0 || (member.method != zip::kStored && member.method != zip::kDeflated)) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("{}: is encrypted, or compressed as NumPy does not: save it with numpy.savez", title));
  }
  return ArrayReader(std::make_unique<MemberStream>(path_, title, member), title);
}

}  // namespace planwright::arrays
