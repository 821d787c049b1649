// CUDA's warps of 32 lanes on wavefronts of 32 or 64: a 32-bit mask speaks of the caller's own half of the wavefront.
//
// HIP's _sync functions want a mask of 64 bits that names exactly the active lanes, and trap otherwise. A mask of 32 bits
// comes from code that was written for warps of 32, so here:
//   - a full mask (0xffffffff, -1) means "whoever is here": the active lanes of the caller's half;
//   - any other mask is moved to the caller's half unchanged, and HIP still traps where it names a lane that is not active;
//   - shuffles have a width of 32 unless the call gives one; ballots give back the 32 bits of the caller's half.
// Masks of 64 bits go to HIP untouched. warpSize stays what the GPU says. Code that spans the whole wavefront by warpSize
// (offset = warpSize / 2) is compiled with -DHIPCOMPAT_WIDTH=warpSize: a full mask then means all active lanes, and the
// default width is the wavefront's.
#pragma once

#if defined(__HIPCC__) || defined(__HIP__)

#ifndef HIPCOMPAT_WIDTH
#define HIPCOMPAT_WIDTH 32
#define HIPCOMPAT_WIDTH_IS_DEFAULT  // unmasked.h
#endif

namespace hipcompat {

/// 0 or 32: where the caller's part of the wavefront begins.
__device__ inline unsigned int first_lane() { return static_cast<int>(HIPCOMPAT_WIDTH) > 32 ? 0u : __lane_id() & 32u; }

/// The lanes of the caller's part, active or not.
__device__ inline unsigned long long own_lanes() {
    return static_cast<int>(HIPCOMPAT_WIDTH) > 32 ? ~0ull : 0xffffffffull << first_lane();
}

/// What 0xffffffff means: the active lanes of the caller's part.
__device__ inline unsigned long long full_mask() { return __ballot(1) & own_lanes(); }

/// A mask of 32 bits as HIP wants it.
__device__ inline unsigned long long widen_mask(unsigned int mask) {
    return mask == 0xffffffffu ? full_mask() : static_cast<unsigned long long>(mask) << first_lane();
}

/// A mask of the wavefront as the caller's 32 lanes see it.
__device__ inline unsigned int narrow_mask(unsigned long long mask) {
    return static_cast<unsigned int>(mask >> first_lane());
}

}  // namespace hipcompat

// Shuffles of float4 and its like, word by word: CUDA's cooperative groups take any value of up to 32 bytes.
#define HIPCOMPAT_VECTOR_SHUFFLE(NAME, LANE)                                                                    \
    template <typename Element, unsigned int rank>                                                              \
    __device__ inline HIP_vector_type<Element, rank> NAME(HIP_vector_type<Element, rank> value, LANE lane,      \
                                                          int width = HIPCOMPAT_WIDTH) {                        \
        static_assert(sizeof(value) % sizeof(int) == 0, "a vector of less than a word cannot be shuffled");    \
        int words[sizeof(value) / sizeof(int)];                                                                 \
        __builtin_memcpy(words, &value, sizeof(value));                                                         \
        for (int &word : words) {                                                                               \
            word = NAME(word, lane, width);                                                                     \
        }                                                                                                       \
        __builtin_memcpy(&value, words, sizeof(value));                                                         \
        return value;                                                                                           \
    }

HIPCOMPAT_VECTOR_SHUFFLE(__shfl, int)
HIPCOMPAT_VECTOR_SHUFFLE(__shfl_up, unsigned int)
HIPCOMPAT_VECTOR_SHUFFLE(__shfl_down, unsigned int)
HIPCOMPAT_VECTOR_SHUFFLE(__shfl_xor, int)

#define HIPCOMPAT_SHUFFLE(NAME, MASK, LANE)                                                   \
    template <typename Value>                                                                 \
    __device__ inline Value NAME(MASK mask, Value value, LANE lane, int width = HIPCOMPAT_WIDTH) { \
        return NAME(hipcompat::widen_mask(static_cast<unsigned int>(mask)), value, lane, width);   \
    }
#define HIPCOMPAT_REDUCE(NAME, MASK, VALUE)                                              \
    __device__ inline VALUE NAME(MASK mask, VALUE value) {                               \
        return NAME(hipcompat::widen_mask(static_cast<unsigned int>(mask)), value);      \
    }
#define HIPCOMPAT_WARP(MASK)                                                                                        \
    HIPCOMPAT_SHUFFLE(__shfl_sync, MASK, int)                                                                       \
    HIPCOMPAT_SHUFFLE(__shfl_up_sync, MASK, unsigned int)                                                           \
    HIPCOMPAT_SHUFFLE(__shfl_down_sync, MASK, unsigned int)                                                         \
    HIPCOMPAT_SHUFFLE(__shfl_xor_sync, MASK, int)                                                                   \
    __device__ inline void __syncwarp(MASK) { __syncwarp(); }                                                       \
    __device__ inline unsigned int __ballot_sync(MASK mask, int predicate) {                                        \
        return hipcompat::narrow_mask(                                                                              \
            __ballot_sync(hipcompat::widen_mask(static_cast<unsigned int>(mask)), predicate));                      \
    }                                                                                                               \
    __device__ inline int __any_sync(MASK mask, int predicate) {                                                    \
        return __any_sync(hipcompat::widen_mask(static_cast<unsigned int>(mask)), predicate);                       \
    }                                                                                                               \
    __device__ inline int __all_sync(MASK mask, int predicate) {                                                    \
        return __all_sync(hipcompat::widen_mask(static_cast<unsigned int>(mask)), predicate);                       \
    }                                                                                                               \
    template <typename Value>                                                                                       \
    __device__ inline unsigned int __match_any_sync(MASK mask, Value value) {                                       \
        return hipcompat::narrow_mask(                                                                              \
            __match_any_sync(hipcompat::widen_mask(static_cast<unsigned int>(mask)), value));                       \
    }                                                                                                               \
    template <typename Value>                                                                                       \
    __device__ inline unsigned int __match_all_sync(MASK mask, Value value, int *same) {                            \
        return hipcompat::narrow_mask(                                                                              \
            __match_all_sync(hipcompat::widen_mask(static_cast<unsigned int>(mask)), value, same));                 \
    }

HIPCOMPAT_WARP(unsigned int)
HIPCOMPAT_WARP(int)

#if HIP_VERSION_MAJOR >= 7
#define HIPCOMPAT_REDUCTIONS(MASK)                       \
    HIPCOMPAT_REDUCE(__reduce_add_sync, MASK, int)          \
    HIPCOMPAT_REDUCE(__reduce_add_sync, MASK, unsigned int) \
    HIPCOMPAT_REDUCE(__reduce_min_sync, MASK, int)          \
    HIPCOMPAT_REDUCE(__reduce_min_sync, MASK, unsigned int) \
    HIPCOMPAT_REDUCE(__reduce_max_sync, MASK, int)          \
    HIPCOMPAT_REDUCE(__reduce_max_sync, MASK, unsigned int) \
    HIPCOMPAT_REDUCE(__reduce_and_sync, MASK, unsigned int) \
    HIPCOMPAT_REDUCE(__reduce_or_sync, MASK, unsigned int)  \
    HIPCOMPAT_REDUCE(__reduce_xor_sync, MASK, unsigned int)

HIPCOMPAT_REDUCTIONS(unsigned int)
HIPCOMPAT_REDUCTIONS(int)
#endif

// CUDA's gives 32 bits, HIP's 64; a function cannot be overloaded by what it returns.
#define __activemask() hipcompat::narrow_mask(hipcompat::full_mask())

#endif
