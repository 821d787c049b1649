// Shuffles by index and up, a mask written as -1 and as a constant, a width that is given.
#define FULL_MASK 0xffffffffu
extern "C" __global__ void shuffle_rotate(const int *x, int *rotated, int *shifted, int *eights) {
    int i = threadIdx.x;
    rotated[i] = __shfl_sync(FULL_MASK, x[i], (i + 1) & 31);
    shifted[i] = __shfl_up_sync(-1, x[i], 3);
    eights[i] = __shfl_xor_sync(FULL_MASK, x[i], 5, 8);
}
