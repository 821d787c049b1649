// Nothing is included: nvcc brings the runtime, C's memory, text and floating-point functions, assert; and umin, which HIP lacks.
__global__ void fill(unsigned *y, unsigned n) {
    assert(n > 0);
    y[threadIdx.x] = umin(n, umax(threadIdx.x, 1u));
}
bool check(float *y, const char *name) {
    float room[4];
    memset(room, 0, sizeof(room));
    memcpy(y, room, sizeof(room));
    fill<<<1, 64>>>(nullptr, static_cast<unsigned>(ullmax(llmin(1ll, 2ll), 3ull)));
    return isfinite(*y) && !isnan(room[0]) && strlen(name) > 0;
}
