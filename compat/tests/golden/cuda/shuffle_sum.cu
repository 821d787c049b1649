// A sum over warps of 32 with a full mask: one result for each 32 threads, whatever the wavefront's size.
__device__ float sum_warp(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        v += __shfl_down_sync(0xffffffff, v, offset);
    }
    return v;
}
extern "C" __global__ void shuffle_sum(const float *x, float *sums) {
    float v = sum_warp(x[blockIdx.x * blockDim.x + threadIdx.x]);
    if ((threadIdx.x & 31) == 0) {
        sums[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = v;
    }
}
