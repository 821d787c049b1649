// Sums, products and fused products with a rounding that is named: clang hides them, hipcompat's headers have them.
__global__ void round_each(float *x, double *d) {
    x[0] = __fadd_rd(x[1], 1.0f) + __fsub_ru(x[1], 2) + __fmul_rz(x[1], x[2]) + __fmaf_rz(x[1], x[2], x[3]);
    d[0] = __dadd_rz(d[1], 1.0) + __dsub_rd(d[1], 2.f) + __dmul_ru(d[1], d[2]) + __fma_rd(d[1], d[2], d[3]);
}
