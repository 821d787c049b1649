// cooperative_groups::reduce, inclusive_scan and exclusive_scan by shuffles of the group itself: HIP has none before ROCm 7.13.
#pragma once

#include <cooperative_groups.h>

#if defined(__HIPCC__) || defined(__HIP__)
#include <type_traits>

// HIP's groups shuffle numbers; CUDA's any trivially copyable value: structures go in words of 32 bits.
#define HIPCOMPAT_GROUP_SHUFFLE(NAME, SHUFFLE, LANE)                                                           \
    template <typename Group, typename Value>                                                                  \
    __device__ inline typename std::enable_if<std::is_arithmetic<Value>::value, Value>::type NAME(             \
        const Group &group, const Value &value, LANE lane) {                                                   \
        return group.SHUFFLE(value, lane);                                                                     \
    }                                                                                                          \
    template <typename Group, typename Value>                                                                  \
    __device__ inline typename std::enable_if<!std::is_arithmetic<Value>::value, Value>::type NAME(            \
        const Group &group, const Value &value, LANE lane) {                                                   \
        unsigned int words[(sizeof(Value) + 3) / 4] = {};                                                      \
        __builtin_memcpy(words, static_cast<const void *>(&value), sizeof(Value));                             \
        for (unsigned int &word : words) {                                                                     \
            word = group.SHUFFLE(word, lane);                                                                  \
        }                                                                                                      \
        Value moved = value;                                                                                   \
        __builtin_memcpy(static_cast<void *>(&moved), words, sizeof(Value));                                   \
        return moved;                                                                                          \
    }

namespace hipcompat {
HIPCOMPAT_GROUP_SHUFFLE(take_from, shfl, int)
HIPCOMPAT_GROUP_SHUFFLE(take_from_above, shfl_down, unsigned int)
HIPCOMPAT_GROUP_SHUFFLE(take_from_below, shfl_up, unsigned int)
}  // namespace hipcompat
#undef HIPCOMPAT_GROUP_SHUFFLE

namespace cooperative_groups {

template <typename Value>
struct plus {
    __device__ Value operator()(const Value &a, const Value &b) const { return a + b; }
};
template <typename Value>
struct less {
    __device__ Value operator()(const Value &a, const Value &b) const { return b < a ? b : a; }
};
template <typename Value>
struct greater {
    __device__ Value operator()(const Value &a, const Value &b) const { return a < b ? b : a; }
};
template <typename Value>
struct bit_and {
    __device__ Value operator()(const Value &a, const Value &b) const { return a & b; }
};
template <typename Value>
struct bit_or {
    __device__ Value operator()(const Value &a, const Value &b) const { return a | b; }
};
template <typename Value>
struct bit_xor {
    __device__ Value operator()(const Value &a, const Value &b) const { return a ^ b; }
};

/// Every thread of the group gets op over all values, taken in the order of their ranks. Any size; log2(size) + 1 shuffles.
template <typename Group, typename Value, typename Operation>
__device__ inline Value reduce(const Group &group, Value value, Operation op) {
    const unsigned int size = group.size(), rank = group.thread_rank();
    for (unsigned int step = 1; step < size; step *= 2) {
        const Value other = hipcompat::take_from_above(group, value, step);
        if (rank % (2 * step) == 0 && rank + step < size) {
            value = op(value, other);
        }
    }
    return hipcompat::take_from(group, value, 0);
}

/// Over a tile of more than one warp: each 32 by shuffles, then their results in order, which every thread takes together.
template <unsigned int Size, typename Value, typename Operation>
__device__ inline Value reduce(const hipcompat::WideTile<Size> &tile, Value value, Operation op) {
    Value sums[Size / 32];
    tile.gather(reduce(tiled_partition<32>(this_thread_block()), value, op), sums);
    const unsigned int first = tile.meta_group_rank() * Size, threads = thread_block::num_threads();
    for (unsigned int part = 1; part < Size / 32 && first + 32 * part < threads; ++part) {
        sums[0] = op(sums[0], sums[part]);
    }
    return sums[0];
}

/// Thread r gets op over the values of threads 0 to r.
template <typename Group, typename Value, typename Operation>
__device__ inline Value inclusive_scan(const Group &group, Value value, Operation op) {
    for (unsigned int step = 1; step < group.size(); step *= 2) {
        const Value other = hipcompat::take_from_below(group, value, step);
        if (group.thread_rank() >= step) {
            value = op(other, value);
        }
    }
    return value;
}

template <typename Group, typename Value>
__device__ inline Value inclusive_scan(const Group &group, Value value) {
    return inclusive_scan(group, value, plus<Value>());
}

/// Thread r gets op over the values of threads 0 to r - 1; thread 0 a value of zero.
template <typename Group, typename Value, typename Operation>
__device__ inline Value exclusive_scan(const Group &group, Value value, Operation op) {
    const Value before = hipcompat::take_from_below(group, inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? Value() : before;
}

template <typename Group, typename Value>
__device__ inline Value exclusive_scan(const Group &group, Value value) {
    return exclusive_scan(group, value, plus<Value>());
}

}  // namespace cooperative_groups
#endif
