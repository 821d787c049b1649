#include "cpu_bf16.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "threads.h"

#pragma GCC target("arch=x86-64-v4,avx512bf16")  // below the standard headers, as in cpu_avx512.cc

#define ROCKILN_LANES 16
#include "cpu_panels.h"
#include "cpu_squares.h"

namespace rockiln_torch {
namespace {

constexpr int64_t kTile = 8;         // rows of a that are multiplied at once
constexpr int64_t kRowBlock = 512;   // rows of a that are packed at once
constexpr int64_t kFewRows = 4;      // up to so many, b is read as it lies, once

ROCKILN_INLINE __m512bh as_pairs(Words words) { return reinterpret_cast<__m512bh>(words); }

ROCKILN_INLINE Floats add_pairs(Floats sum, Words one, Words other) {
  return reinterpret_cast<Floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), as_pairs(one), as_pairs(other)));
}

// kTile rows of packed a, of which `count` are there.
template <CpuEpilogue Epilogue>
void multiply_tile(const uint32_t* a, const Panel& panel, const Bf16Product& product, int64_t row, int64_t count) {
  Floats one[kTile], other[kTile];
#pragma GCC unroll 8
  for (int64_t own = 0; own < kTile; ++own) one[own] = load<F32>(panel.bias[0]), other[own] = load<F32>(panel.bias[1]);
  const int64_t pairs = (product.k + 1) / 2;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const Words first = read_vector<Words>(panel.weights[0] + pair * kLanes);
    const Words second = read_vector<Words>(panel.weights[1] + pair * kLanes);
#pragma GCC unroll 8
    for (int64_t own = 0; own < kTile; ++own) {
      const Words both = Words{} + a[pair * kLanes + own];
      one[own] = add_pairs(one[own], both, first);
      other[own] = add_pairs(other[own], both, second);
    }
  }
#pragma GCC unroll 8
  for (int64_t own = 0; own < kTile; ++own)
    if (own < count)
      write_outputs<Epilogue>(product.y + (row + own) * count_width(product), panel, one[own], other[own]);
}

template <CpuEpilogue Epilogue>
void multiply_panels(int64_t begin, int64_t end, void* given) {
  auto& block = *static_cast<Bf16Block*>(given);
  const Bf16Product& product = block.product;
  const int64_t size = count_packed(product.k);
  const Memory memory = allocate(2 * size);
  if (memory == nullptr) return void(block.has_failed = true);
  const FlushScope flushes;
  for (int64_t place = begin; place < end; ++place) {
    Panel panel = {{memory.get(), memory.get() + size}, {}, {}, place * kLanes * (Epilogue == kCpuSwigluOf ? 1 : 2)};
    for (int side = 0; side < 2; ++side) {
      const Columns columns = panel.columns[side] = find_columns(product, place, kLanes, side);
      pack_rows(product.b + columns.first * product.b_stride, columns.step * product.b_stride, columns.count, product.k,
                memory.get() + side * size);
      for (int64_t lane = 0; lane < columns.count; ++lane)
        panel.bias[side][lane] = read_bias(product, columns.first + lane * columns.step);
    }
    for (int64_t row = 0; row < block.rows; row += kTile)
      multiply_tile<Epilogue>(block.a + row / kLanes * size + row % kLanes, panel, product, block.row + row,
                              least(block.rows - row, kTile));
  }
}

// Dot products along k, of a row of a and two of b.
ROCKILN_INLINE void multiply_rows(const uint16_t* a, const uint16_t* first, const uint16_t* second, int64_t k, float* sums) {
  constexpr int64_t kStep = 2 * kPairs;
  Floats one = {}, other = {}, more_one = {}, more_other = {};
  int64_t place = 0;
  for (; place + 2 * kStep <= k; place += 2 * kStep) {
    const Words own = read_vector<Words>(a + place), next = read_vector<Words>(a + place + kStep);
    one = add_pairs(one, own, read_vector<Words>(first + place));
    other = add_pairs(other, own, read_vector<Words>(second + place));
    more_one = add_pairs(more_one, next, read_vector<Words>(first + place + kStep));
    more_other = add_pairs(more_other, next, read_vector<Words>(second + place + kStep));
  }
  for (; place < k; place += kStep) {
    const int64_t count = least(k - place, kStep);
    const Words own = read_some<Words>(a + place, count);
    one = add_pairs(one, own, read_some<Words>(first + place, count));
    other = add_pairs(other, own, read_some<Words>(second + place, count));
  }
  sums[0] = add_up(one + more_one), sums[1] = add_up(other + more_other);
}

template <CpuEpilogue Epilogue>
void multiply_few(int64_t begin, int64_t end, void* given) {
  const Bf16Product& product = static_cast<const Bf16Block*>(given)->product;
  const FlushScope flushes;
  for (int64_t place = begin; place < end; ++place) {
    Panel panel = {{}, {}, {}, place * (Epilogue == kCpuSwigluOf ? 1 : 2)};
    for (int side = 0; side < 2; ++side) panel.columns[side] = find_columns(product, place, 1, side);
    const bool has_second = panel.columns[1].count != 0;
    const int64_t first = panel.columns[0].first, second = has_second ? panel.columns[1].first : first;
    const float biases[2] = {read_bias(product, first), read_bias(product, second)};
    for (int64_t row = 0; row < product.m; ++row) {
      float sums[2];
      multiply_rows(product.a + row * product.a_stride, product.b + first * product.b_stride,
                    product.b + second * product.b_stride, product.k, sums);
      const Floats one = splat(sums[0] + biases[0]), other = splat(sums[1] + biases[1]);
      uint16_t* y = product.y + row * count_width(product) + panel.output;
      if constexpr (Epilogue == kCpuSwigluOf) {
        store<Bf16>(y, gate_silu(one, 1.0f) * other, 1);
      } else {
        store<Bf16>(y, finish<Epilogue>(one), 1);
        if (has_second) store<Bf16>(y + 1, finish<Epilogue>(other), 1);
      }
    }
  }
}

constexpr Bf16Worker kPanels[kCpuEpilogues] = ROCKILN_EPILOGUES(multiply_panels);
constexpr Bf16Worker kFew[kCpuEpilogues] = ROCKILN_EPILOGUES(multiply_few);

// Rows of a that are packed at once: with tiles so many that they stay in the CPU's second cache.
int64_t count_block(int64_t k) {
  constexpr int64_t kNumbers = 1 << 19;
  return has_tiles() ? least(kRowBlock, kNumbers / k / (2 * kLanes) * 2 * kLanes + 2 * kLanes) : kRowBlock;
}

bool multiply_block(const Bf16Product& product, int64_t row) {
  const int64_t rows = least(product.m - row, count_block(product.k)), size = count_packed(product.k);
  const Memory packed = allocate((rows + kLanes - 1) / kLanes * size);
  if (packed == nullptr) return false;
  for (int64_t first = 0; first < rows; first += kLanes)
    pack_rows(product.a + (row + first) * product.a_stride, product.a_stride, least(rows - first, kLanes), product.k,
              packed.get() + first / kLanes * size);
  Bf16Block block = {product, packed.get(), row, rows, false};
  const Bf16Worker worker = (has_tiles() ? kTileWorkers : kPanels)[product.epilogue];
  split_range(count_places(product, kLanes), 1, worker, &block);
  return !block.has_failed;
}

}  // namespace

bool has_bf16_product() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!has_cpu_level("avx512")) return false;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
  }();
  return has;
}

bool multiply_bf16(const Bf16Product& product) {
  if (product.m <= kFewRows) {
    Bf16Block block = {product, nullptr, 0, product.m, false};
    const int64_t grain = 1 + 32768 / product.k;
    split_range(count_places(product, 1), grain, kFew[product.epilogue], &block);
    return true;
  }
  for (int64_t row = 0; row < product.m; row += count_block(product.k))
    if (!multiply_block(product, row)) return false;
  return true;
}

}  // namespace rockiln_torch

#else

namespace rockiln_torch {

bool has_bf16_product() { return false; }
bool multiply_bf16(const Bf16Product&) { return false; }

}  // namespace rockiln_torch

#endif
