// OCP's fp4 and fp6 in one file, which HIP's headers do not allow: from float, rounded and saturated, and back.
#include <cuda_fp6.h>
#include <cuda_fp4.h>
extern "C" __global__ void fp4_fp6(const float *x, __nv_fp4_e2m1 *a, __nv_fp6_e2m3 *b, __nv_fp6_e3m2 *c, float *d,
                                   float *e, float *f) {
    int i = threadIdx.x;
    a[i] = __nv_fp4_e2m1(x[i]);
    b[i] = __nv_fp6_e2m3(x[i]);
    c[i] = __nv_fp6_e3m2(x[i]);
    d[i] = static_cast<float>(a[i]);
    e[i] = static_cast<float>(b[i]);
    f[i] = static_cast<float>(c[i]);
}
