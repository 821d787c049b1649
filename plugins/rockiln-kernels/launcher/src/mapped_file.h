// Path -> MappedFile: a file's bytes, read-only, for as long as the object lives.
#pragma once

#include <cstddef>
#include <string>

namespace rockiln {

class MappedFile {
 public:
  // Throws Failure(ROCKILN_BAD_PACK) naming the path if it is absent, empty or unreadable.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rockiln
