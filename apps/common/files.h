// The files that a command line names.
#ifndef PLANWRIGHT_APPS_COMMON_FILES_H_
#define PLANWRIGHT_APPS_COMMON_FILES_H_

#include <string>
#include <vector>

namespace planwright::apps {

struct NamedFile {
  std::string flag;  // or in words, what the file is
  std::string path;  // empty: the flag was not given
};

// Before any work, of files that will be read and files that will be written. Throws UsageError where one that is
// written is one that is read or another that is written, by whatever path (devices may be shared); Error(kIo) where
// one cannot be written.
void check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

// Writes a file that is whole at every moment: the old one, then the new one; a device or pipe is written to as it is.
// Throws Error(kIo).
void write_file(const std::string& path, const std::string& content);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_FILES_H_
