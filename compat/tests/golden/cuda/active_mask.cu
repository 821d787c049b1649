// __activemask() as a mask, in 32 bits, and masks that are computed: all speak of the caller's warp of 32.
extern "C" __global__ void active_mask(const int *x, int *first, int *some, int *votes, int *count, int *part) {
    int i = threadIdx.x;
    int v = x[i];
    first[i] = __shfl_sync(__activemask(), v, 0);
    some[i] = __any_sync(__activemask(), v > 40);
    unsigned long long whole = __ballot_sync(__activemask(), v > 0);
    votes[i] = __popc(whole);
    unsigned active = __activemask();
    unsigned positive = __ballot_sync(0xffffffff, v > 0);
    count[i] = __popc(active) + __shfl_sync(active, v, 1);
    int sum = v;
    if (v > 0) {
        sum = __shfl_sync(positive, v, __ffs(positive) - 1);
    }
    if ((i & 31) < 16) {
        sum += __shfl_xor_sync(0xffff, v, 3, 16);
    }
    part[i] = sum;
}
