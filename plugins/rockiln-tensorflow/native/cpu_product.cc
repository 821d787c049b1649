#include "cpu_product.h"

#include <algorithm>
#include <atomic>

#include "cpu_lanes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace rockiln_tensorflow {
namespace {

constexpr int TILE_ROWS = 16, TILE_WIDTH = 32, TILE = TILE_ROWS * TILE_WIDTH;

constexpr std::int64_t DEPTH = 16;      // tiles along k whose columns stay in the first cache: 32 KB
constexpr std::int64_t ROW_PART = 512;  // rows whose sums are kept beside them

std::int64_t count_blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

// Tiles along k from `step` on, of rows of `width` numbers.
struct Depth {
  std::int64_t step, count, width;
};

struct RowPart {
  std::int64_t first, last;
};

// Sixteen rows of sixteen words -> their transpose: four times, each row beside the one eight further.
ROCKILN_INLINE void transpose(Words* rows) {
  constexpr Words LOW = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
  constexpr Words HIGH = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
#pragma GCC unroll 4
  for (int step = 0; step < 4; ++step) {
    Words next[16];
#pragma GCC unroll 8
    for (int place = 0; place < 8; ++place) {
      next[2 * place] = __builtin_shuffle(rows[place], rows[place + 8], LOW);
      next[2 * place + 1] = __builtin_shuffle(rows[place], rows[place + 8], HIGH);
    }
#pragma GCC unroll 16
    for (int place = 0; place < 16; ++place) rows[place] = next[place];
  }
}

// b's rows of 32 columns -> for each 32 numbers two tiles, whose rows are pairs of numbers and whose words are columns.
ROCKILN_CLONES void pack_columns(const std::uint16_t* const* rows, const Depth& depth, std::uint16_t* packed) {
  const std::int64_t width = depth.width, stop = (depth.step + depth.count) * TILE_WIDTH;
  for (std::int64_t start = depth.step * TILE_WIDTH; start < stop; start += TILE_WIDTH)
    for (int half = 0; half < 2; ++half) {
      Words own[16];
      const bool is_whole = start + TILE_WIDTH <= width;
#pragma GCC unroll 16
      for (int column = 0; column < 16; ++column) {
        const std::uint16_t* row = rows[16 * half + column];
        own[column] = Words{};
        if (!row) continue;
        __builtin_prefetch(row + start + 4 * TILE_WIDTH);  // 32 rows are more streams than a CPU follows itself
        std::memcpy(&own[column], row + start, is_whole ? sizeof(Words) : static_cast<std::size_t>(width - start) * 2);
      }
      transpose(own);
      std::memcpy(packed, own, sizeof own);
      packed += TILE;
    }
}

// The same sums without AMX: right everywhere, slower.
ROCKILN_CLONES void multiply_plain(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* sums) {
  for (int row = 0; row < TILE_ROWS; ++row) {
    Floats left, right;
    std::memcpy(&left, sums + row * BLOCK, sizeof left);
    std::memcpy(&right, sums + row * BLOCK + LANES, sizeof right);
    for (std::int64_t step = 0; step < steps; ++step)
      for (int pair = 0; pair < TILE_WIDTH / 2; ++pair) {
        std::uint32_t both;
        std::memcpy(&both, a + step * TILE + row * TILE_WIDTH + 2 * pair, sizeof both);
        float first, second;
        const std::uint32_t low = both << 16, high = both & 0xFFFF0000u;
        std::memcpy(&first, &low, sizeof first);
        std::memcpy(&second, &high, sizeof second);
        Floats even, odd;
        widen_pairs(b + step * 2 * TILE + pair * TILE_WIDTH, even, odd);
        left += even * first + odd * second;
        widen_pairs(b + (step * 2 + 1) * TILE + pair * TILE_WIDTH, even, odd);
        right += even * first + odd * second;
      }
    std::memcpy(sums + row * BLOCK, &left, sizeof left);
    std::memcpy(sums + row * BLOCK + LANES, &right, sizeof right);
  }
}

#if defined(__x86_64__)

// AMX by assembly: GCC 12's own functions do not say what memory they read and write.
struct TileShapes {  // as ldtilecfg reads them
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64, "the CPU reads 64 bytes");

// Tiles of a thread as this file uses them; as they were when it ends, since oneDNN has shapes of its own there.
class TileScope {
 public:
  TileScope() {
    asm volatile("sttilecfg %0" : "=m"(before_));
    const TileShapes own;
    asm volatile("ldtilecfg %0" ::"m"(own));
  }
  ~TileScope() {
    if (before_.palette)
      asm volatile("ldtilecfg %0" ::"m"(before_));
    else
      asm volatile("tilerelease");
  }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  TileShapes before_;
};

// sums [32, 32] f32 += products of two groups of sixteen rows and two of sixteen columns.
void multiply_tiles(const std::uint16_t* upper, const std::uint16_t* lower, const std::uint16_t* b, std::int64_t steps,
                    float* sums) {
  constexpr std::int64_t ROW = 64, STRIDE = BLOCK * sizeof(float);
  float* const places[] = {sums, sums + 16, sums + 16 * BLOCK, sums + 16 * BLOCK + 16};
  asm volatile(
      "tileloadd (%0,%4,1), %%tmm0\n\t"
      "tileloadd (%1,%4,1), %%tmm1\n\t"
      "tileloadd (%2,%4,1), %%tmm2\n\t"
      "tileloadd (%3,%4,1), %%tmm3" ::"r"(places[0]),
      "r"(places[1]), "r"(places[2]), "r"(places[3]), "r"(STRIDE)
      : "memory");
  for (std::int64_t step = 0; step < steps; ++step)
    asm volatile(
        "tileloadd (%0,%4,1), %%tmm4\n\t"
        "tileloadd (%2,%4,1), %%tmm6\n\t"
        "tileloadd (%3,%4,1), %%tmm7\n\t"
        "tileloadd (%1,%4,1), %%tmm5\n\t"
        "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
        "tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
        "tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::"r"(upper + step * TILE),
        "r"(lower + step * TILE), "r"(b + step * 2 * TILE), "r"(b + (step * 2 + 1) * TILE), "r"(ROW)
        : "memory");
  asm volatile(
      "tilestored %%tmm0, (%0,%4,1)\n\t"
      "tilestored %%tmm1, (%1,%4,1)\n\t"
      "tilestored %%tmm2, (%2,%4,1)\n\t"
      "tilestored %%tmm3, (%3,%4,1)" ::"r"(places[0]),
      "r"(places[1]), "r"(places[2]), "r"(places[3]), "r"(STRIDE)
      : "memory");
}

void add_products_in_tiles(const PackedRows& a, RowPart part, const Depth& depth, const std::uint16_t* b, float* sums) {
  const TileScope scope;
  for (std::int64_t row = part.first; row < part.last; row += BLOCK, sums += BLOCK * BLOCK) {
    const std::int64_t group = row / TILE_ROWS, offset = depth.step * TILE;
    multiply_tiles(a.tiles(group) + offset, a.tiles(group + 1) + offset, b, depth.count, sums);
  }
}

bool ask_for_tiles() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  constexpr unsigned AMX_BF16 = 1u << 22, AMX_TILE = 1u << 24;
  constexpr int ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18;  // asm/prctl.h
  return (edx & AMX_BF16) && (edx & AMX_TILE) && !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}

#else

void add_products(const PackedRows&, RowPart, const Depth&, const std::uint16_t*, float*);
constexpr auto add_products_in_tiles = add_products;
bool ask_for_tiles() { return false; }

#endif

void add_products(const PackedRows& a, RowPart part, const Depth& depth, const std::uint16_t* b, float* sums) {
  for (std::int64_t row = part.first; row < part.last; row += TILE_ROWS, sums += TILE_ROWS * BLOCK)
    multiply_plain(a.tiles(row / TILE_ROWS) + depth.step * TILE, b, depth.count, sums);
}

void multiply_columns(const PackedRows& a, std::int64_t column, const FindRow& find_row, const TakeBlock& take) {
  const std::uint16_t* rows[BLOCK];
  for (int place = 0; place < BLOCK; ++place) rows[place] = find_row(column + place);
  alignas(64) std::uint16_t packed[DEPTH * 2 * TILE];
  thread_local AlignedNumbers kept;  // a block of columns comes after another
  kept.reserve(ROW_PART * BLOCK * 2);
  auto* sums = reinterpret_cast<float*>(kept.data());
  const std::int64_t steps = count_blocks(a.width(), TILE_WIDTH);
  for (std::int64_t first = 0; first < a.count(); first += ROW_PART) {
    const RowPart part{first, std::min(first + ROW_PART, a.count())};
    std::memset(sums, 0, static_cast<std::size_t>(count_blocks(part.last - first, BLOCK)) * BLOCK * BLOCK * sizeof *sums);
    for (std::int64_t step = 0; step < steps; step += DEPTH) {
      const Depth depth{step, std::min(DEPTH, steps - step), a.width()};
      pack_columns(rows, depth, packed);
      (has_tiles() ? add_products_in_tiles : add_products)(a, part, depth, packed, sums);
    }
    for (std::int64_t row = first; row < part.last; row += BLOCK) take(sums + (row - first) * BLOCK, row, column);
  }
}

}  // namespace

PackedRows::PackedRows(std::int64_t count, std::int64_t width,
                       const std::function<const std::uint16_t*(std::int64_t)>& row)
    : count_(count), width_(width) {
  const std::int64_t steps = count_blocks(width, TILE_WIDTH);
  const auto numbers = static_cast<std::size_t>(count_blocks(count, BLOCK) * 2 * steps * TILE);
  tiles_.reserve(numbers);
  if (count % BLOCK || width % TILE_WIDTH) std::memset(tiles_.data(), 0, numbers * sizeof(std::uint16_t));
  for (std::int64_t place = 0; place < count; ++place) {
    const std::uint16_t* source = row(place);
    std::uint16_t* target = tiles_.data() + place / TILE_ROWS * steps * TILE + place % TILE_ROWS * TILE_WIDTH;
    for (std::int64_t start = 0; start < width; start += TILE_WIDTH, target += TILE) {
      const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(TILE_WIDTH, width - start)) * sizeof *source;
      std::memcpy(target, source + start, bytes);
    }
  }
}

const std::uint16_t* PackedRows::tiles(std::int64_t group) const {
  return tiles_.data() + group * count_blocks(width_, TILE_WIDTH) * TILE;
}

void multiply(const RunParts& run, const PackedRows& a, std::int64_t columns, const FindRow& find_row,
              const TakeBlock& take) {
  const std::int64_t cost = a.count() * a.width();  // about a cycle for 32 products, and as much for the rest
  run(columns / BLOCK, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) multiply_columns(a, block * BLOCK, find_row, take);
  });
}

namespace {

std::atomic<bool> without_tiles{false};

}  // namespace

bool has_tiles() {
  static const bool found = ask_for_tiles();
  return found && !without_tiles.load(std::memory_order_relaxed);
}

}  // namespace rockiln_tensorflow

int rockiln_tensorflow_has_tiles() { return rockiln_tensorflow::has_tiles(); }

void rockiln_tensorflow_forbid_tiles(int forbidden) { rockiln_tensorflow::without_tiles.store(forbidden != 0); }
