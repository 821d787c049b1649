// Rows of bf16 → squares of pairs, as AVX512_BF16 and AMX multiply them. For 16 lanes; included below cpu_vector.h.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cpu_vector.h"

namespace rockiln_torch {
namespace {

constexpr int64_t kPairs = kLanes;  // pairs of neighbours along k in a vector: what an instruction adds up

// 16 vectors of 16 words → their transpose: each of four rounds deals the rows out as cards.
ROCKILN_INLINE void turn_square(Words* rows) {
  Words turned[kLanes];
  for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
    for (int64_t row = 0; row < kLanes / 2; ++row)
      take_in_turn(rows[row], rows[row + kLanes / 2], &turned[2 * row], &turned[2 * row + 1]);
    std::memcpy(rows, turned, sizeof turned);
  }
}

// 16 rows of 32 numbers → 16 vectors, each with a pair of every row. Rows from `count` on, and numbers behind k, are 0.
ROCKILN_INLINE void pack_square(const uint16_t* from, int64_t stride, int64_t count, int64_t numbers, uint32_t* to) {
  Words rows[kLanes];
#pragma GCC unroll 16
  for (int64_t row = 0; row < kLanes; ++row) {
    if (row >= count) rows[row] = Words{};
    else if (numbers == 2 * kPairs) rows[row] = read_vector<Words>(from + row * stride);
    else rows[row] = read_some<Words>(from + row * stride, numbers);
  }
  turn_square(rows);
  std::memcpy(to, rows, sizeof rows);
}

// 16 rows of k numbers → [cdiv(k, 2)][16] pairs, up to a whole square.
inline void pack_rows(const uint16_t* from, int64_t stride, int64_t count, int64_t k, uint32_t* to) {
  for (int64_t place = 0; place < k; place += 2 * kPairs)
    pack_square(from + place, stride, count, least(k - place, 2 * kPairs), to + place / 2 * kLanes);
}

inline int64_t count_packed(int64_t k) { return (k + 2 * kPairs - 1) / (2 * kPairs) * kPairs * kLanes; }

struct FreeMemory {
  void operator()(uint32_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint32_t, FreeMemory>;

inline Memory allocate(int64_t words) {
  return Memory(static_cast<uint32_t*>(std::aligned_alloc(64, static_cast<size_t>((words + 15) / 16 * 64))));
}

}  // namespace
}  // namespace rockiln_torch
