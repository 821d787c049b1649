// any and all over warps of 32.
extern "C" __global__ void vote(const int *x, int *any, int *all) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    any[i] = __any_sync(0xffffffff, x[i] > 0) != 0;
    all[i] = __all_sync(0xffffffff, x[i] > 0) != 0;
}
