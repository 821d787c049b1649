// Products in bf16 by AMX. Rows of b are read by tiles as they lie, those of a are packed: a tile of sums has 16 rows of
// b and 16 of a, and is turned for the epilogue.
#include "cpu_bf16.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#pragma GCC target("arch=x86-64-v4,avx512bf16")  // below the standard headers, as in cpu_avx512.cc

#define ROCKILN_LANES 16
#include "cpu_panels.h"
#include "cpu_tiles.h"

namespace rockiln_torch {
namespace {

constexpr int64_t kSums = kLanes * kLanes;

// 16 rows of b as tiles read them.
TileRows find_rows(const Bf16Product& product, const Columns& columns, uint32_t* copy) {
  const int64_t stride = columns.step * product.b_stride;
  const uint16_t* from = product.b + columns.first * product.b_stride;
  const bool is_whole = columns.count == kLanes && product.k % kTileNumbers == 0;
  if (is_whole) return {from, stride * 2, kTileNumbers};
  return copy_rows(from, stride, columns.count, product.k, reinterpret_cast<uint16_t*>(copy));
}

// Sums of 16 rows of b and of a, as vectors along b's rows.
ROCKILN_INLINE void read_turned(const float* sums, const float* bias, Floats* turned) {
  Words rows[kLanes];
  std::memcpy(rows, sums, sizeof rows);
  turn_square(rows);
  const Floats own = load<F32>(bias);
  for (int64_t row = 0; row < kLanes; ++row) turned[row] = as_floats(rows[row]) + own;
}

template <CpuEpilogue Epilogue>
void finish_rows(const float* one, const float* other, const Panel& panel, const Bf16Product& product, int64_t row,
                 int64_t count) {
  Floats first[kLanes], second[kLanes];
  read_turned(one, panel.bias[0], first);
  read_turned(other, panel.bias[1], second);
  for (int64_t own = 0; own < count; ++own)
    write_outputs<Epilogue>(product.y + (row + own) * count_width(product), panel, first[own], second[own]);
}

template <CpuEpilogue Epilogue>
void multiply_panel(const Panel& panel, const TileRows* sides, const Bf16Block& block) {
  const int64_t size = count_packed(block.product.k), steps = size / kSums;
  alignas(64) float sums[4][kSums];
  for (int64_t row = 0; row < block.rows; row += 2 * kLanes) {
    const uint32_t* pairs = block.a + row / kLanes * size;
    const int64_t rest = block.rows - row;
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
    if (rest > kLanes) multiply_along<2>(sides[0], sides[1], pairs, pairs + size, steps);
    else multiply_along<1>(sides[0], sides[1], pairs, nullptr, steps);
    store_tile<0>(sums[0], 64), store_tile<1>(sums[1], 64), store_tile<2>(sums[2], 64), store_tile<3>(sums[3], 64);
    finish_rows<Epilogue>(sums[0], sums[2], panel, block.product, block.row + row, least(rest, kLanes));
    if (rest > kLanes)
      finish_rows<Epilogue>(sums[1], sums[3], panel, block.product, block.row + row + kLanes,
                            least(rest - kLanes, kLanes));
  }
}

template <CpuEpilogue Epilogue>
void multiply_places(int64_t begin, int64_t end, void* given) {
  auto& block = *static_cast<Bf16Block*>(given);
  const Bf16Product& product = block.product;
  const int64_t words = count_packed(product.k);
  const Memory copies = allocate(2 * words);
  if (copies == nullptr) return void(block.has_failed = true);
  const TileScope tiles;
  const FlushScope flushes;
  for (int64_t place = begin; place < end; ++place) {
    Panel panel = {{}, {}, {}, place * kLanes * (Epilogue == kCpuSwigluOf ? 1 : 2)};
    TileRows sides[2];
    for (int side = 0; side < 2; ++side) {
      const Columns columns = panel.columns[side] = find_columns(product, place, kLanes, side);
      sides[side] = find_rows(product, columns, copies.get() + side * words);
      for (int64_t lane = 0; lane < columns.count; ++lane)
        panel.bias[side][lane] = read_bias(product, columns.first + lane * columns.step);
    }
    multiply_panel<Epilogue>(panel, sides, block);
  }
}

bool ask_cpu() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!has_bf16_product() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if (!(d >> 22 & 1) || !(d >> 24 & 1)) return false;  // AMX-BF16, AMX-TILE
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM: Linux saves tiles of who asks
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

}  // namespace

bool has_tiles() {
  static const bool has = ask_cpu();
  return has;
}

const Bf16Worker kTileWorkers[kCpuEpilogues] = ROCKILN_EPILOGUES(multiply_places);

}  // namespace rockiln_torch

#else

namespace rockiln_torch {

bool has_tiles() { return false; }

}  // namespace rockiln_torch

#endif
