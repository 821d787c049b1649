// CUB: a block's sum with its storage in shared memory.
#include <cub/cub.cuh>
extern "C" __global__ void cub_block(const int *x, int *y) {
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}
