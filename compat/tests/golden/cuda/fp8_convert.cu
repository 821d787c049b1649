// OCP's fp8: both kinds from float, rounded and saturated, and back.
#include <cuda_fp8.h>
extern "C" __global__ void fp8_convert(const float *x, __nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, float *c, float *d) {
    int i = threadIdx.x;
    a[i] = __nv_fp8_e4m3(x[i]);
    b[i] = __nv_fp8_e5m2(x[i]);
    c[i] = float(a[i]);
    d[i] = static_cast<float>(b[i]);
}
