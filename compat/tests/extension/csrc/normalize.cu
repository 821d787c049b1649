// Rows scaled by their largest value: shuffles with a full mask of 32 bits, cub, fp16, cache hints, and the runtime's API.
#include <cub/cub.cuh>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "normalize.h"

__inline__ __device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

__global__ void normalize_rows(const __half *x, __half *y, int columns) {
    __shared__ float largest[32];
    __shared__ typename cub::BlockReduce<float, 256>::TempStorage storage;
    const __half *row = x + static_cast<size_t>(blockIdx.x) * columns;
    float mine = 0.0f, total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float value = __half2float(__ldcs(&row[i]));
        mine = fmaxf(mine, fabsf(value));
        total += value;
    }
    mine = warp_max(mine);
    if (threadIdx.x % 32 == 0) {
        largest[threadIdx.x / 32] = mine;
    }
    total = cub::BlockReduce<float, 256>(storage).Sum(total);
    __syncthreads();
    for (int i = 0; i < static_cast<int>(blockDim.x) / 32; ++i) {
        mine = fmaxf(mine, largest[i]);
    }
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        __stcs(&y[static_cast<size_t>(blockIdx.x) * columns + i], __float2half(mine > 0.0f ? __half2float(row[i]) / mine : 0.0f));
    }
}

int count_devices(const char **says) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    *says = cudaGetErrorString(error);
    return error == cudaSuccess ? count : -static_cast<int>(error);
}

int normalize(const void *x, void *y, int rows, int columns) {
    normalize_rows<<<rows, 256>>>(static_cast<const __half *>(x), static_cast<__half *>(y), columns);
    return static_cast<int>(cudaDeviceSynchronize());
}
