// Half of each warp shuffles among itself: a full mask in divergent code means the lanes that are there.
extern "C" __global__ void divergent_mask(const int *x, int *y) {
    int i = threadIdx.x;
    int v = x[i];
    if ((i & 31) < 16) {
        v = __shfl_xor_sync(0xffffffff, v, 1) + 100;
    }
    y[i] = v;
}
