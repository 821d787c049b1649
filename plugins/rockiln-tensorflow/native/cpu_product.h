// Products of bf16 whose sums are f32, on the CPU: a b^T in blocks that are handed over while they are in the cache.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>

namespace rockiln_tensorflow {

constexpr int BLOCK = 32;  // rows and columns of a block: two times two of AMX's tiles

// bf16 that begin where a cache line does, so that a row of a tile is one.
class AlignedNumbers {
 public:
  std::uint16_t* data() const { return data_.get(); }

  // At least `count`; what was there is lost if there are more than before.
  void reserve(std::size_t count) {
    if (count <= count_) return;
    constexpr std::size_t LINE = 64;
    data_.reset(static_cast<std::uint16_t*>(std::aligned_alloc(LINE, (count * sizeof(std::uint16_t) + LINE - 1) / LINE * LINE)));
    if (!data_) throw std::bad_alloc();
    count_ = count;
  }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::unique_ptr<std::uint16_t[], Free> data_;
  std::size_t count_ = 0;
};

// Rows of a, laid out in tiles of 16 rows and 32 numbers, with zeros up to whole blocks.
class PackedRows {
 public:
  // `row(m)` is where row m of `count` begins, of `width` numbers.
  PackedRows(std::int64_t count, std::int64_t width, const std::function<const std::uint16_t*(std::int64_t)>& row);

  std::int64_t count() const { return count_; }
  std::int64_t width() const { return width_; }
  const std::uint16_t* tiles(std::int64_t group) const;  // of rows 16 group to 16 group + 15

 private:
  std::int64_t count_, width_;
  AlignedNumbers tiles_;
};

// Where b's row of a column begins; nullptr: a column of zeros.
using FindRow = std::function<const std::uint16_t*(std::int64_t column)>;

// Takes 32 x 32 sums of rows from `row` and columns from `column` on; the rows and columns behind the ends, too.
using TakeBlock = std::function<void(const float* sums, std::int64_t row, std::int64_t column)>;

// Calls fn(first, last) of parts of `count`, in threads; `cost` is that of one, in cycles.
using Part = std::function<void(std::int64_t first, std::int64_t last)>;
using RunParts = std::function<void(std::int64_t count, std::int64_t cost, const Part& fn)>;

// All blocks of a b^T, whose `columns` are a multiple of 32; columns in parallel, the rows of each in order.
void multiply(const RunParts& run, const PackedRows& a, std::int64_t columns, const FindRow& find_row,
              const TakeBlock& take);

// Whether this CPU multiplies bf16 in tiles (AMX), and Linux lets this process do so.
bool has_tiles();

}  // namespace rockiln_tensorflow

// 1 if `has_tiles`.
extern "C" __attribute__((visibility("default"))) int rockiln_tensorflow_has_tiles();

// Tests: from now on products are computed without, or again with them.
extern "C" __attribute__((visibility("default"))) void rockiln_tensorflow_forbid_tiles(int forbidden);
