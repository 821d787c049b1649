// Static shared memory and barriers: an inclusive sum over a block of 128.
extern "C" __global__ void block_scan(const int *x, int *y) {
    __shared__ int sums[128];
    int i = threadIdx.x;
    sums[i] = x[blockIdx.x * 128 + i];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        int before = i >= step ? sums[i - step] : 0;
        __syncthreads();
        sums[i] += before;
        __syncthreads();
    }
    y[blockIdx.x * 128 + i] = sums[i];
}
