// index.bin -> Index. Nothing in the file is trusted: its own sha256 is compared, and still every offset and size is
// checked before it is used.
#include "index.h"

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "mapped_file.h"

namespace rockiln {
namespace {

constexpr char kMagic[8] = {'R', 'K', 'P', 'A', 'C', 'K', 0, 0};
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 104, kKernelBytes = 80, kArgumentBytes = 20;
constexpr std::size_t kOwnHashAt = 72;  // of all the file but itself

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path) {
    if (file_.size() < kHeaderBytes || std::memcmp(file_.data(), kMagic, sizeof kMagic) != 0) refuse("no pack index");
    if (number(8) != kVersion)
      refuse("index version " + std::to_string(number(8)) + ", this library reads " + std::to_string(kVersion));
    if (hash() != digest(kOwnHashAt)) refuse("has other bytes than its sha256 says: the pack is damaged");
    kernels_ = number(12);
    arguments_ = number(16);
    strings_at_ = kHeaderBytes + kernels_ * kKernelBytes + arguments_ * kArgumentBytes;
    const std::size_t expected = strings_at_ + number(20);
    if (expected != file_.size()) refuse(std::to_string(file_.size()) + " bytes, not " + std::to_string(expected));
    if (file_.data()[file_.size() - 1] != 0) refuse("its texts do not end");
  }

  Index read() const {
    Index index;
    index.arch = text(28);
    const auto is_named = [](char one) { return std::strchr("abcdefghijklmnopqrstuvwxyz0123456789_", one); };
    if (!std::all_of(index.arch.begin(), index.arch.end(), is_named)) refuse("its arch has no name");
    if (number(32) > ROCKILN_CUDA) refuse("unknown backend");
    index.backend = static_cast<rockiln_backend>(number(32));
    index.sha256 = hex(40, 32);
    for (std::size_t place = 0; place < kernels_; ++place) {
      index.kernels.push_back(kernel(kHeaderBytes + place * kKernelBytes));
      if (place > 0 && !(index.kernels[place - 1].key < index.kernels[place].key)) refuse("kernels are not sorted");
    }
    return index;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail(ROCKILN_BAD_PACK, path_ + ": " + what); }

  std::uint32_t number(std::size_t at) const {
    std::uint32_t value;
    std::memcpy(&value, file_.data() + at, sizeof value);
    return value;
  }

  std::string text(std::size_t at) const {
    const std::size_t start = strings_at_ + number(at);
    if (start >= file_.size()) refuse("a text lies outside");
    return reinterpret_cast<const char*>(file_.data()) + start;  // ends: the last byte of the file is 0
  }

  Digest hash() const {
    Sha256 hash;
    hash.add(file_.data(), kOwnHashAt);
    hash.add(file_.data() + kHeaderBytes, file_.size() - kHeaderBytes);
    return hash.finish();
  }

  Digest digest(std::size_t at) const {
    Digest result;
    std::copy_n(file_.data() + at, result.size(), result.begin());
    return result;
  }

  std::string hex(std::size_t at, std::size_t count) const {
    std::string result;
    for (std::size_t place = at; place < at + count; ++place) {
      result += "0123456789abcdef"[file_.data()[place] >> 4];
      result += "0123456789abcdef"[file_.data()[place] & 15];
    }
    return result;
  }

  KernelEntry kernel(std::size_t at) const {
    KernelEntry entry{text(at), text(at + 4), text(at + 8), text(at + 12), 0, digest(at + 48), number(at + 24),
                      number(at + 28), number(at + 32), {}};
    std::memcpy(&entry.size_bytes, file_.data() + at + 16, sizeof entry.size_bytes);
    const std::size_t first = number(at + 36), count = number(at + 40);
    if (first > arguments_ || count > arguments_ - first) refuse(entry.key + " has arguments outside");
    if (entry.kernarg_bytes > kKernargLimit) refuse(entry.key + " has too many argument bytes");
    if (entry.file.find('/') != std::string::npos || entry.file.empty()) refuse(entry.key + " has no file name");
    const std::size_t arguments_at = kHeaderBytes + kernels_ * kKernelBytes;
    for (std::size_t place = first; place < first + count; ++place)
      entry.args.push_back(argument(arguments_at + place * kArgumentBytes, entry));
    return entry;
  }

  ArgumentEntry argument(std::size_t at, const KernelEntry& kernel) const {
    ArgumentEntry entry{text(at), number(at + 4), number(at + 8), number(at + 12), number(at + 16)};
    const bool is_wide = entry.kind == ROCKILN_POINTER || entry.kind == ROCKILN_I64 || entry.kind == kNullKind;
    const bool fits = entry.size_bytes <= kernel.kernarg_bytes && entry.offset <= kernel.kernarg_bytes - entry.size_bytes;
    if (entry.kind > ROCKILN_F32 || entry.size_bytes != (is_wide ? 8u : 4u) || !fits || entry.divisible_by == 0)
      refuse(kernel.key + " has a wrong argument " + entry.name);
    return entry;
  }

  std::string path_;
  MappedFile file_;
  std::size_t kernels_ = 0, arguments_ = 0, strings_at_ = 0;
};

}  // namespace

Index read_index(const std::string& path) { return Reader(path).read(); }

}  // namespace rockiln
