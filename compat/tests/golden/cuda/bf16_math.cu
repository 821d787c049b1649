// bf16: NVIDIA's type name, conversions both ways.
#include <cuda_bf16.h>
extern "C" __global__ void bf16_math(const __nv_bfloat16 *x, __nv_bfloat16 *y, float *z) {
    int i = threadIdx.x;
    float v = __bfloat162float(x[i]);
    z[i] = v * 3.0f;
    y[i] = __float2bfloat16(v + 1.0f);
}
