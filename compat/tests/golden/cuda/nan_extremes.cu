// Extremes that keep NaN: of bfloat16, and of pairs of both 16-bit floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void nan_extremes(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __half *c, const __half *d,
                                        __nv_bfloat16 *least, __nv_bfloat16 *most, __nv_bfloat162 *least2,
                                        __nv_bfloat162 *most2, __half2 *half_least2, __half2 *half_most2) {
    int i = threadIdx.x;
    least[i] = __hmin_nan(a[i], b[i]);
    most[i] = __hmax_nan(a[i], b[i]);
    if (i % 2) return;
    __nv_bfloat162 p(a[i], a[i + 1]), q(b[i], b[i + 1]);
    least2[i / 2] = __hmin2_nan(p, q);
    most2[i / 2] = __hmax2_nan(p, q);
    __half2 r = __halves2half2(c[i], c[i + 1]), s = __halves2half2(d[i], d[i + 1]);
    half_least2[i / 2] = __hmin2_nan(r, s);
    half_most2[i / 2] = __hmax2_nan(r, s);
}
