// cuda::barrier: four rounds, each thread writes, arrives, waits, and reads what its neighbour of another wavefront wrote.
#include <cuda/barrier>
#include <cooperative_groups.h>
extern "C" __global__ void barrier_phases(const int *x, int *y) {
    __shared__ cuda::barrier<cuda::thread_scope_block> written, seen;
    __shared__ int room[192];
    int i = threadIdx.x, v = x[i];
    if (i == 0) {
        init(&written, blockDim.x);
        init(&seen, blockDim.x);
    }
    __syncthreads();
    for (int round = 0; round < 4; ++round) {
        room[i] = v;
        auto token = written.arrive();
        v *= 2;
        written.wait(std::move(token));
        v += room[(i + 64) % 192];
        seen.arrive_and_wait();
    }
    y[i] = v;
}
