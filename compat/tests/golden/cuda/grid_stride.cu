// Launch bounds, a grid-stride loop, __restrict__ and __ldg.
extern "C" __global__ void __launch_bounds__(128) grid_stride(const int *__restrict__ x, int *__restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = __ldg(&x[i]) * 3 + 1;
    }
}
