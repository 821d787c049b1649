// What nvcc brings without an include: isfinite, memset and clock of host code; and cudaFuncSetAttribute of a kernel as it is.
__global__ void scale(float *y, float a) { y[threadIdx.x] *= a; }
template <typename T> __global__ void fill(T *y) { y[threadIdx.x] = T(1); }
int check(float *y, double d) {
    float room[4];
    memset(room, 0, sizeof(room));
    clock_t began = clock();
    cudaError_t set = cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    set = cudaFuncSetAttribute(fill<double>, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
    set = cudaFuncSetAttribute((const void *)scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    return isfinite(*y) && isfinite(d) && !isnan(room[0]) && began >= 0 && set == cudaSuccess;
}
