// Shuffles and votes of before CUDA 9, without a mask: 32 lanes in CUDA, the whole wavefront in HIP, under one name.
//
// What a file means by them, no header can know: it may be CUDA's, or a branch that is written for HIP. So on
// wavefronts of 64 they do not compile unless the command line says it:
//   -DHIPCOMPAT_WIDTH=32        CUDA's meaning: the caller's 32 lanes, and 32 bits of a ballot
//   -DHIPCOMPAT_WIDTH=warpSize  HIP's
// Shuffles with a width of their own mean the same in both, and ROCm's and torch's headers are left alone.
#pragma once

#include <hipcompat/warp.h>

#if (defined(__HIPCC__) || defined(__HIP__)) && (HIPCOMPAT_WIDTH == 32) && \
    (!defined(HIPCOMPAT_WIDTH_IS_DEFAULT) || defined(__GFX9__))

#ifdef HIPCOMPAT_WIDTH_IS_DEFAULT
#define HIPCOMPAT_UNMASKED                                                                                        \
    __attribute__((enable_if(hipcompat::may_be_cudas(file), "code that may be CUDA's"),                         \
                   unavailable("without a mask it means 32 lanes in CUDA and all 64 in HIP: say which by "        \
                               "-DHIPCOMPAT_WIDTH=32 or -DHIPCOMPAT_WIDTH=warpSize, or use hipcompat translate")))
#else
#define HIPCOMPAT_UNMASKED __attribute__((enable_if(hipcompat::may_be_cudas(file), "code that may be CUDA's")))
#endif

namespace hipcompat {

constexpr bool holds(const char *text, const char *part) {
    for (; *text; ++text) {
        const char *left = text, *right = part;
        while (*right && *left == *right) {
            ++left;
            ++right;
        }
        if (!*right) {
            return true;
        }
    }
    return false;
}

/// The call stands in no header that is written for HIP.
constexpr bool may_be_cudas(const char *file) {
    return !(holds(file, "/include/hip/") || holds(file, "/include/hipcub/") || holds(file, "/include/rocprim/") ||
             holds(file, "/include/thrust/") || holds(file, "/include/rocrand/") || holds(file, "/include/hiprand/") ||
             holds(file, "/include/rocwmma/") || holds(file, "/include/ATen/") || holds(file, "/include/c10/") ||
             holds(file, "/include/torch/"));
}

}  // namespace hipcompat

// Preferred to HIP's functions of the same parameters by enable_if; the file is the caller's.
#define HIPCOMPAT_UNMASKED_SHUFFLE(NAME, VALUE, LANE)                                                              \
    __device__ inline VALUE NAME(VALUE value, LANE lane, const char *file = __builtin_FILE()) HIPCOMPAT_UNMASKED { \
        return NAME(value, lane, 32);                                                                              \
    }
#define HIPCOMPAT_UNMASKED_SHUFFLES(VALUE)                       \
    HIPCOMPAT_UNMASKED_SHUFFLE(__shfl, VALUE, int)               \
    HIPCOMPAT_UNMASKED_SHUFFLE(__shfl_up, VALUE, unsigned int)   \
    HIPCOMPAT_UNMASKED_SHUFFLE(__shfl_down, VALUE, unsigned int) \
    HIPCOMPAT_UNMASKED_SHUFFLE(__shfl_xor, VALUE, int)

HIPCOMPAT_UNMASKED_SHUFFLES(int)
HIPCOMPAT_UNMASKED_SHUFFLES(unsigned int)
HIPCOMPAT_UNMASKED_SHUFFLES(long)
HIPCOMPAT_UNMASKED_SHUFFLES(unsigned long)
HIPCOMPAT_UNMASKED_SHUFFLES(long long)
HIPCOMPAT_UNMASKED_SHUFFLES(unsigned long long)
HIPCOMPAT_UNMASKED_SHUFFLES(float)
HIPCOMPAT_UNMASKED_SHUFFLES(double)

__device__ inline int __any(int predicate, const char *file = __builtin_FILE()) HIPCOMPAT_UNMASKED {
    return __any_sync(0xffffffffu, predicate);
}
__device__ inline int __all(int predicate, const char *file = __builtin_FILE()) HIPCOMPAT_UNMASKED {
    return __all_sync(0xffffffffu, predicate);
}
__device__ inline unsigned int __ballot(int predicate, const char *file = __builtin_FILE()) HIPCOMPAT_UNMASKED {
    return __ballot_sync(0xffffffffu, predicate);
}

#else
#define HIPCOMPAT_UNMASKED_SHUFFLES(VALUE)
#endif
