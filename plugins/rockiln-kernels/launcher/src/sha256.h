// Bytes -> their SHA-256, as FIPS 180-4 defines it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rockiln {

using Digest = std::array<unsigned char, 32>;

class Sha256 {
 public:
  void add(const unsigned char* bytes, std::size_t count);
  Digest finish();  // once

 private:
  void mix(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};  // of a block that is not full yet
  std::uint64_t count_ = 0;               // of all bytes so far
};

Digest hash_bytes(const unsigned char* bytes, std::size_t count);

}  // namespace rockiln
