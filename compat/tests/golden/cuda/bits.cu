// Integer intrinsics.
extern "C" __global__ void bits(const unsigned *x, unsigned *y) {
    unsigned v = x[threadIdx.x];
    unsigned *row = y + threadIdx.x * 6;
    row[0] = __popc(v);
    row[1] = __clz(v);
    row[2] = __ffs(v);
    row[3] = __brev(v);
    row[4] = __umulhi(v, 0x10001u);
    row[5] = __byte_perm(v, 0x01234567u, 0x5410);
}
