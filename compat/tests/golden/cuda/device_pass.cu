// Host and device functions in one file; max and min of the file's own for compilers other than nvcc.
#include <cuda_runtime.h>
#ifndef __CUDACC__
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
#endif
__host__ __device__ inline int clamp_to(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
extern "C" __global__ void device_pass(const int *x, int *y) {
    y[threadIdx.x] = clamp_to(max(x[threadIdx.x], -5), -3, 40) + min(x[threadIdx.x], 2);
}
int launch(const int *x, int *y) {
    device_pass<<<1, 64>>>(x, y);
    return cudaGetLastError() == cudaSuccess ? max(1, 2) : min(1, 2);
}
