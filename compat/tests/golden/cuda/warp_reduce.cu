// The reductions of sm_80 over a warp of 32, and lanes that hold equal values.
extern "C" __global__ void warp_reduce(const unsigned *x, unsigned *sums, unsigned *largest, unsigned *equal) {
    int i = threadIdx.x;
    sums[i] = __reduce_add_sync(0xffffffff, x[i]);
    largest[i] = __reduce_max_sync(0xffffffff, x[i]);
    equal[i] = __match_any_sync(0xffffffff, x[i]);
}
