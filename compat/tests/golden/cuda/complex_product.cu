// cuComplex: product and conjugate.
#include <cuComplex.h>
extern "C" __global__ void complex_product(const cuFloatComplex *x, cuFloatComplex *y) {
    cuFloatComplex v = x[threadIdx.x];
    y[threadIdx.x] = cuCaddf(cuCmulf(v, v), cuConjf(v));
}
