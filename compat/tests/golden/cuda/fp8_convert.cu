// OCP's fp8: both kinds from float, rounded and saturated, by type and by function, and back.
#include <cuda_fp8.h>
extern "C" __global__ void fp8_convert(const float *x, __nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, float *c, float *d,
                                       __nv_fp8_storage_t *e, __nv_fp8_storage_t *f, __nv_fp8_storage_t *g) {
    int i = threadIdx.x;
    a[i] = __nv_fp8_e4m3(x[i]);
    b[i] = __nv_fp8_e5m2(x[i]);
    c[i] = float(a[i]);
    d[i] = static_cast<float>(b[i]);
    e[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
    f[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E5M2);
    g[i] = __nv_cvt_double_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
}
