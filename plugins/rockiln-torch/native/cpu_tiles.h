// AMX: eight tiles of 16 rows of 64 bytes, and the product of two of bf16 that is added to one of f32.
//
// By assembly and not by GCC's intrinsics: those of GCC 12 do not say that they read and write memory, so that what is
// packed for them may be stored too late. Included below cpu_squares.h, for 16 lanes.
#pragma once

#include "cpu_squares.h"

namespace rockiln_torch {
namespace {

constexpr int64_t kTileNumbers = 2 * kPairs;  // of bf16 in a tile's row

struct TileForm {
  uint8_t palette, first_row, none[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(TileForm) == 64, "as LDTILECFG reads it");

// All tiles whole, for as long as it lives. The form that others had set is set again: they may take it for granted.
class TileScope {
 public:
  TileScope() {
    asm volatile("sttilecfg %0" : "=m"(before_)::"memory");
    TileForm own = {};
    own.palette = 1;
    for (int tile = 0; tile < 8; ++tile) own.row_bytes[tile] = 64, own.rows[tile] = 16;
    asm volatile("ldtilecfg %0" ::"m"(own) : "memory");
  }
  ~TileScope() {
    if (before_.palette != 0) asm volatile("ldtilecfg %0" ::"m"(before_) : "memory");
    else asm volatile("tilerelease" ::: "memory");
  }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  TileForm before_;
};

template <int Tile>
ROCKILN_INLINE void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(Tile) : "memory");
}

template <int Tile>
ROCKILN_INLINE void load_tile(const void* from, int64_t stride_bytes) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(Tile), "r"(from), "r"(stride_bytes) : "memory");
}

template <int Tile>
ROCKILN_INLINE void store_tile(void* to, int64_t stride_bytes) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(Tile), "r"(to), "r"(stride_bytes) : "memory");
}

// Sum [16, 16] f32 += Rows [16, 32] bf16 times Pairs [16][16] pairs.
template <int Sum, int Rows, int Pairs>
ROCKILN_INLINE void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Rows), "i"(Pairs) : "memory");
}

struct TileRows {  // 16 rows of bf16, and how many numbers lie between its tiles
  const uint16_t* rows;
  int64_t stride_bytes, step;
};

// A copy of up to 16 rows of k numbers, tile behind tile, 0 behind them.
inline TileRows copy_rows(const uint16_t* from, int64_t stride, int64_t count, int64_t k, uint16_t* copy) {
  for (int64_t place = 0; place < k; place += kTileNumbers)
    for (int64_t row = 0; row < kLanes; ++row, copy += kTileNumbers) {
      const int64_t numbers = row < count ? least(k - place, kTileNumbers) : 0;
      const Words own = numbers == kTileNumbers ? read_vector<Words>(from + row * stride + place)
                                                : read_some<Words>(from + row * stride + place, numbers);
      std::memcpy(copy, &own, sizeof own);
    }
  return {copy - (k + kTileNumbers - 1) / kTileNumbers * kLanes * kTileNumbers, kTileNumbers * 2, kLanes * kTileNumbers};
}

// Tiles 0 to 3 += the products of two times 16 rows and of packed pairs of `steps` tiles, of 16 or (Blocks = 2) 32
// others: tile 2 s + c is of rows s and pairs c.
template <int Blocks>
ROCKILN_INLINE void multiply_along(const TileRows& one, const TileRows& other, const uint32_t* pairs,
                                   const uint32_t* more_pairs, int64_t steps) {
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t place = step * kPairs * kLanes;
    load_tile<6>(pairs + place, 64);
    load_tile<4>(one.rows + step * one.step, one.stride_bytes);
    multiply_tiles<0, 4, 6>();
    load_tile<5>(other.rows + step * other.step, other.stride_bytes);
    multiply_tiles<2, 5, 6>();
    if constexpr (Blocks == 2) {
      load_tile<7>(more_pairs + place, 64);
      multiply_tiles<1, 4, 7>();
      multiply_tiles<3, 5, 7>();
    }
  }
}

}  // namespace
}  // namespace rockiln_torch
