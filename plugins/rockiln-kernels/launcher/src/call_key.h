// A call -> CallKey: the words that decide its plan, and their hash. Made on the stack, for each call.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../rockiln_dispatch.h"

namespace rockiln {

constexpr std::uint32_t kBestAlignment = 256;  // bytes; more than any kernel relies on

class CallKey {
 public:
  // Throws Failure(ROCKILN_BAD_ARGUMENT) for counts or ranks beyond the limits, and for null pointers.
  explicit CallKey(const rockiln_op_call& call);

  std::uint64_t hash() const { return hash_; }
  const std::uint64_t* words() const { return words_.data(); }
  std::size_t size() const { return size_; }
  bool equals(const std::vector<std::uint64_t>& words) const;

 private:
  static constexpr std::size_t kRoom = 4 + ROCKILN_INPUT_LIMIT * (1 + 2 * ROCKILN_RANK_LIMIT) + 3 * ROCKILN_INPUT_LIMIT;

  void add(std::uint64_t word);
  void add_input(const rockiln_array& input);

  std::array<std::uint64_t, kRoom> words_;
  std::size_t size_ = 0;
  std::uint64_t hash_ = 0;
};

// Bytes, a power of two up to kBestAlignment; kBestAlignment for a null address, which is unknown or of nothing.
std::uint32_t find_alignment(const void* address);

// Inputs without those that are absent at the end.
std::uint32_t count_inputs(const rockiln_op_call& call);

// Strides of a contiguous array: `rank` numbers.
void fill_strides(const std::int64_t* shape, std::uint32_t rank, std::int64_t* strides);

}  // namespace rockiln
