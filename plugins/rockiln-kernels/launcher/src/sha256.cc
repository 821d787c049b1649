// Bytes -> their SHA-256. The names are those of FIPS 180-4.
#include "sha256.h"

#include <algorithm>

namespace rockiln {
namespace {

constexpr std::size_t kBlockBytes = 64, kLengthAt = 56;

constexpr std::array<std::uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t rotate(std::uint32_t word, int count) { return word >> count | word << (32 - count); }

std::uint32_t read_word(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

void Sha256::mix(const unsigned char* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = read_word(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t early = w[t - 15], late = w[t - 2];
    w[t] = (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10) + w[t - 7] +
           (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t first =
        h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRounds[t] + w[t];
    const std::uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> ended{a, b, c, d, e, f, g, h};
  for (std::size_t place = 0; place < ended.size(); ++place) state_[place] += ended[place];
}

void Sha256::add(const unsigned char* bytes, std::size_t count) {
  const auto filled = static_cast<std::size_t>(count_ % kBlockBytes);
  count_ += count;
  if (filled) {
    const std::size_t taken = std::min(count, kBlockBytes - filled);
    std::copy(bytes, bytes + taken, rest_.data() + filled);
    if (filled + taken < kBlockBytes) return;
    mix(rest_.data());
    bytes += taken;
    count -= taken;
  }
  for (; count >= kBlockBytes; bytes += kBlockBytes, count -= kBlockBytes) mix(bytes);
  std::copy(bytes, bytes + count, rest_.data());
}

Digest Sha256::finish() {
  const std::uint64_t bits = count_ * 8;
  const std::array<unsigned char, kBlockBytes> padding{0x80};
  const auto filled = static_cast<std::size_t>(count_ % kBlockBytes);
  add(padding.data(), filled < kLengthAt ? kLengthAt - filled : kLengthAt + kBlockBytes - filled);
  std::array<unsigned char, 8> length;
  for (std::size_t place = 0; place < length.size(); ++place)
    length[place] = static_cast<unsigned char>(bits >> (56 - 8 * place));
  add(length.data(), length.size());
  Digest digest;
  for (std::size_t place = 0; place < digest.size(); ++place)
    digest[place] = static_cast<unsigned char>(state_[place / 4] >> (24 - 8 * (place % 4)));
  return digest;
}

Digest hash_bytes(const unsigned char* bytes, std::size_t count) {
  Sha256 hash;
  hash.add(bytes, count);
  return hash.finish();
}

}  // namespace rockiln
