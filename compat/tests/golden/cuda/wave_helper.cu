// A helper gets the width of a warp from its caller, and a ballot is counted where lanes are counted by warpSize.
__device__ int add_up(int value, int lanes) {
    for (int mask = lanes / 2; mask; mask /= 2) value += __shfl_xor_sync(0xffffffff, value, mask);
    return value;
}
extern "C" __global__ void wave_helper(const int *x, int *sums, int *positive) {
    __shared__ int parts[32], counts[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / warpSize;
    int sum = add_up(x[i], warpSize);
    int count = __popc(__ballot_sync(0xffffffff, x[i] > 0));
    if (threadIdx.x % warpSize == 0) {
        parts[warp] = sum;
        counts[warp] = count;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = positive[blockIdx.x] = 0;
        for (int w = 0; w < blockDim.x / warpSize; w++) {
            sums[blockIdx.x] += parts[w];
            positive[blockIdx.x] += counts[w];
        }
    }
}
