// Shared memory whose size the launch gives.
extern "C" __global__ void dynamic_shared(const float *x, float *y, int n) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
