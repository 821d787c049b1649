// CUDA's names of the bfloat16 types → HIP's __hip_bfloat16, the newer of its two; hip_bfloat16 is never meant.
#pragma once

#include <hip/hip_bf16.h>

#ifndef __nv_bfloat16
#define __nv_bfloat16 __hip_bfloat16
#endif
#ifndef __nv_bfloat162
#define __nv_bfloat162 __hip_bfloat162
#endif
#ifndef nv_bfloat16
#define nv_bfloat16 __hip_bfloat16
#endif
#ifndef nv_bfloat162
#define nv_bfloat162 __hip_bfloat162
#endif

#if defined(__cplusplus) && (defined(__HIPCC__) || defined(__HIP__))
// CUDA's conversions that round to nearest even, which is what HIP's without a suffix do.
template <typename = void>
__host__ __device__ inline __hip_bfloat16 __float2bfloat16_rn(float value) {
    return __float2bfloat16(value);
}
template <typename = void>
__host__ __device__ inline __hip_bfloat162 __float2bfloat162_rn(float value) {
    return __hip_bfloat162{__float2bfloat16(value), __float2bfloat16(value)};
}
template <typename = void>
__host__ __device__ inline __hip_bfloat162 __floats2bfloat162_rn(float low, float high) {
    return __hip_bfloat162{__float2bfloat16(low), __float2bfloat16(high)};
}
template <typename = void>
__host__ __device__ inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 low, __hip_bfloat16 high) {
    return __hip_bfloat162{low, high};
}
#include <hipcompat/half_atomics.h>
#include <hipcompat/nan_extremes.h>
#include <hipcompat/unmasked.h>

HIPCOMPAT_UNMASKED_SHUFFLES(__hip_bfloat16)
#endif
