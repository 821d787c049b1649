// Path -> MappedFile.
#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "failure.h"

namespace rockiln {
namespace {

std::string describe_errno(int number) {
  char text[128];
  return strerror_r(number, text, sizeof text);  // GNU's: returns the text
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(ROCKILN_BAD_PACK, path + ": " + describe_errno(errno));
  struct stat status = {};
  void* mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (mapped == MAP_FAILED) fail(ROCKILN_BAD_PACK, path + ": empty, or cannot be mapped");
  data_ = static_cast<const unsigned char*>(mapped);
}

MappedFile::~MappedFile() { munmap(const_cast<unsigned char*>(data_), size_); }

}  // namespace rockiln
