// Loads and stores with cache hints, of scalars, vectors and a pack of 16 bytes; a store converts its value.
struct alignas(16) Pack {
    float x[4];
};
extern "C" __global__ void cache_hints(const float *x, const float4 *v, float *y, float4 *w, Pack *packs, int *rounded) {
    int i = threadIdx.x;
    __stcs(&y[i], __ldcs(&x[i]) + __ldcg(&x[i]) + __ldcv(&x[i]) + __ldlu(&x[i]) + __ldca(&x[i]));
    float4 got = __ldcg(&v[i]);
    got.x += 1.0f;
    __stcg(&w[i], got);
    Pack pack = __ldcs(reinterpret_cast<const Pack *>(&v[i]));
    pack.x[3] = 7.0f;
    __stwt(&packs[i], pack);
    __stwb(&rounded[i], x[i]);
    if (x[i] > 1e30f) {
        __trap();
    }
}
