// Shuffles and votes of before CUDA 9, without a mask.
extern "C" __global__ void legacy_warp(const int *x, int *first, int *count, int *both) {
    int i = threadIdx.x;
    int v = x[i];
    first[i] = __shfl(v, 0) + __shfl_xor(v, 1);
    count[i] = __popc(__ballot(v > 0));
    both[i] = 2 * __any(v > 40) + __all(v > -40);
}
