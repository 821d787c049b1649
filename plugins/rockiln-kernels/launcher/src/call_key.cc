// A call -> CallKey.
#include "call_key.h"

#include <algorithm>
#include <cstring>

#include "guard.h"

namespace rockiln {

std::uint32_t find_alignment(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (number == 0) return kBestAlignment;
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(number & (~number + 1), kBestAlignment));
}

std::uint32_t count_inputs(const rockiln_op_call& call) {
  std::uint32_t count = call.input_count;
  while (count > 0 && call.inputs[count - 1].dtype == ROCKILN_ABSENT) --count;
  return count;
}

void fill_strides(const std::int64_t* shape, std::uint32_t rank, std::int64_t* strides) {
  std::int64_t step = 1;
  for (std::uint32_t dim = rank; dim-- > 0; step *= std::max<std::int64_t>(shape[dim], 1)) strides[dim] = step;
}

CallKey::CallKey(const rockiln_op_call& call) {
  require(call.op, "rockiln_find_plan: the op is null");
  require(call.device >= 0, "rockiln_find_plan: the device is negative");
  require(call.input_count <= ROCKILN_INPUT_LIMIT && call.scalar_count <= ROCKILN_INPUT_LIMIT &&
              call.dtype_count <= ROCKILN_INPUT_LIMIT,
          "rockiln_find_plan: more inputs, scalars or dtypes than ROCKILN_INPUT_LIMIT");
  require((call.inputs || !call.input_count) && (call.scalars || !call.scalar_count) &&
              (call.dtypes || !call.dtype_count),
          "rockiln_find_plan: inputs, scalars or dtypes are null");
  const std::uint32_t inputs = count_inputs(call);
  add(reinterpret_cast<std::uintptr_t>(call.op));
  add(std::uint64_t{call.flags} << 32 | static_cast<std::uint32_t>(call.device));
  add(std::uint64_t{inputs} << 32 | std::uint64_t{call.scalar_count} << 16 | call.dtype_count);
  for (std::uint32_t place = 0; place < inputs; ++place) add_input(call.inputs[place]);
  for (std::uint32_t place = 0; place < call.scalar_count; ++place) {
    const rockiln_scalar& scalar = call.scalars[place];
    std::uint64_t bits = 0;
    if (scalar.kind == ROCKILN_F32)
      std::memcpy(&bits, &scalar.as.number, sizeof scalar.as.number);
    else if (scalar.kind)
      bits = static_cast<std::uint64_t>(scalar.as.integer);
    add(scalar.kind);
    add(bits);
  }
  for (std::uint32_t place = 0; place < call.dtype_count; ++place) add(call.dtypes[place]);
}

void CallKey::add(std::uint64_t word) {
  words_[size_++] = word;
  hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15U;
  hash_ ^= hash_ >> 29;
}

void CallKey::add_input(const rockiln_array& input) {
  if (input.dtype == ROCKILN_ABSENT) return add(0);
  require(input.rank <= ROCKILN_RANK_LIMIT, "rockiln_find_plan: an input has more dims than ROCKILN_RANK_LIMIT");
  require(input.shape || !input.rank, "rockiln_find_plan: the shape of an input is null");
  add(std::uint64_t{find_alignment(input.data)} << 32 | std::uint64_t{input.rank} << 16 | (input.dtype & 0xFFFFU));
  for (std::uint32_t dim = 0; dim < input.rank; ++dim) {
    require(input.shape[dim] >= 0, "rockiln_find_plan: an input has a negative size");
    add(static_cast<std::uint64_t>(input.shape[dim]));
  }
  std::array<std::int64_t, ROCKILN_RANK_LIMIT> contiguous;
  if (!input.strides) fill_strides(input.shape, input.rank, contiguous.data());
  const std::int64_t* strides = input.strides ? input.strides : contiguous.data();
  for (std::uint32_t dim = 0; dim < input.rank; ++dim) add(static_cast<std::uint64_t>(strides[dim]));
}

bool CallKey::equals(const std::vector<std::uint64_t>& words) const {
  return words.size() == size_ && std::equal(words.begin(), words.end(), words_.begin());
}

}  // namespace rockiln
