// atomicAdd of 16-bit floats: both halves of a word, a pair, and what was there before.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void half_atomics(const float *x, __half *sums, __half2 *pair, __nv_bfloat16 *brain, __nv_bfloat162 *brains) {
    int i = threadIdx.x;
    atomicAdd(&sums[i & 1], __float2half(x[i]));
    atomicAdd(pair, __floats2half2_rn(x[i], 1.0f));
    atomicAdd(&brain[1], __float2bfloat16_rn(x[i] > 0.0f ? 1.0f : 0.0f));
    atomicAdd(brains, __floats2bfloat162_rn(1.0f, x[i] > 0.0f ? 1.0f : 0.0f));
}
