// CUDA's __hmin_nan and __hmax_nan where HIP has __half's alone: of bfloat16, and of pairs of either.
//
// As CUDA documents them: a NaN among the two gives the canonical NaN, and -0 is less than +0.
#pragma once

#if defined(__cplusplus) && (defined(__HIPCC__) || defined(__HIP__))
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

namespace hipcompat {
// Of two 16-bit floats by their bits; `infinity` tells which kind.
__host__ __device__ inline unsigned short choose_extreme(unsigned short a, unsigned short b, unsigned short infinity,
                                                         bool is_least) {
    if ((a & 0x7fff) > infinity || (b & 0x7fff) > infinity) return 0x7fff;
    unsigned short place_a = a & 0x8000 ? ~a : a | 0x8000;  // bits that are ordered as the numbers are
    unsigned short place_b = b & 0x8000 ? ~b : b | 0x8000;
    return (place_a < place_b) == is_least ? a : b;
}

__host__ __device__ inline __half choose_extreme(__half a, __half b, bool is_least) {
    return __ushort_as_half(choose_extreme(__half_as_ushort(a), __half_as_ushort(b), 0x7c00, is_least));
}

__host__ __device__ inline __hip_bfloat16 choose_extreme(__hip_bfloat16 a, __hip_bfloat16 b, bool is_least) {
    return __ushort_as_bfloat16(choose_extreme(__bfloat16_as_ushort(a), __bfloat16_as_ushort(b), 0x7f80, is_least));
}
}  // namespace hipcompat

// Templates, so that a file may have its own.
#define HIPCOMPAT_NAN_EXTREME(name, pair_name, is_least)                                                     \
    template <typename = void>                                                                               \
    __host__ __device__ inline __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) {                      \
        return hipcompat::choose_extreme(a, b, is_least);                                                    \
    }                                                                                                        \
    template <typename = void>                                                                               \
    __host__ __device__ inline __hip_bfloat162 pair_name(__hip_bfloat162 a, __hip_bfloat162 b) {              \
        return {hipcompat::choose_extreme(a.x, b.x, is_least), hipcompat::choose_extreme(a.y, b.y, is_least)}; \
    }                                                                                                        \
    template <typename = void>                                                                               \
    __host__ __device__ inline __half2 pair_name(__half2 a, __half2 b) {                                      \
        return __halves2half2(hipcompat::choose_extreme(__low2half(a), __low2half(b), is_least),             \
                              hipcompat::choose_extreme(__high2half(a), __high2half(b), is_least));          \
    }

HIPCOMPAT_NAN_EXTREME(__hmin_nan, __hmin2_nan, true)
HIPCOMPAT_NAN_EXTREME(__hmax_nan, __hmax2_nan, false)
#undef HIPCOMPAT_NAN_EXTREME
#endif
