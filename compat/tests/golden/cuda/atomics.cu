// Integer atomics on global memory: add, max, compare-and-swap, and a histogram in shared memory.
extern "C" __global__ void atomics(const int *x, int *total, int *largest, int *first, int *bins) {
    __shared__ int counts[8];
    if (threadIdx.x < 8) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(total, v);
    atomicMax(largest, v);
    atomicCAS(first, -1, 7);
    atomicAdd(&counts[v & 7], 1);
    __syncthreads();
    if (threadIdx.x < 8) {
        atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
    }
}
