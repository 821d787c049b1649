// Calls by CUDA's C++ signatures that HIP's functions of that name do not have: kernels as they are, defaults, overloads.
#include <cuda_runtime.h>
template <typename T, int N> __global__ void fill(T *y) { y[threadIdx.x] = T(N); }
__global__ void scale(float *y) { y[threadIdx.x] *= 2; }
__device__ float table[4];
__constant__ float factor;
struct Held {
    int value;
};
void configure(const void *known) {
    auto chosen = &fill<int, 4>;
    cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    cudaFuncSetAttribute(fill<double, 2>, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
    cudaFuncSetAttribute(chosen, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    cudaFuncSetAttribute((const void *)scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    cudaFuncSetAttribute(known, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    cudaFuncSetCacheConfig(fill<float, 1>, cudaFuncCachePreferL1);
    cudaFuncSetSharedMemConfig(scale, cudaSharedMemBankSizeFourByte);
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, fill<int, 4>);
    cudaFunction_t found;
    cudaGetFuncBySymbol(&found, scale);
}
void launch(float *y, void **arguments, cudaStream_t stream) {
    cudaLaunchKernel(scale, dim3(1), dim3(64), arguments, 0, stream);
    cudaLaunchKernel(fill<int, 4>, 1, 64, arguments);
    cudaLaunchKernel((void *)scale, dim3(1), dim3(64), arguments);
    cudaLaunchCooperativeKernel(scale, dim3(1), dim3(64), arguments);
    cudaLaunchCooperativeKernel((void *)scale, dim3(1), dim3(64), arguments, 0);
    cudaLaunchCooperativeKernel(fill<int, 4>, dim3(1), dim3(64), arguments, 0, stream);
    int blocks, threads;
    size_t room;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill<int, 4>, 64, 0);
    cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, fill<int, 4>);
    cudaOccupancyMaxPotentialBlockSizeVariableSMem(&blocks, &threads, scale, [](int size) { return size * 4; });
    cudaOccupancyAvailableDynamicSMemPerBlock(&room, scale, 1, 64);
}
void allocate(float *y, size_t pitch, cudaStream_t stream) {
    float *host, *device;
    cudaMallocHost(&host, 64, cudaHostAllocMapped);
    cudaHostGetDevicePointer(&device, host, 0);
    cudaHostGetDevicePointer((void **)&device, host, 0);
    cudaMallocPitch(&device, &pitch, 4, 4);
    cudaMallocManaged(&device, 4);
    cudaStreamAttachMemAsync(stream, y);
    cudaMallocAsync(&device, 4, stream);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMalloc3DArray(&array, &format, make_cudaExtent(1, 1, 1));
    cudaCtxResetPersistingL2Cache();
    cudaGraphicsResourceSetMapFlags(nullptr, cudaGraphicsMapFlagsNone);
    cudaEvent_t event;
    cudaEventCreate(&event, cudaEventDisableTiming);
    cudaMemcpyToSymbolAsync(factor, host, 4);
    cudaMemcpyToSymbolAsync(table, host, 4, 8);
    cudaMemcpyFromSymbolAsync(host, table, 16);
    cudaMemcpyFromSymbolAsync(host, factor, 4, 0, cudaMemcpyDeviceToHost, stream);
}
void graph(cudaGraph_t whole, cudaGraphNode_t node, float *host, cudaStream_t stream) {
    cudaGraphExec_t made;
    cudaGraphInstantiate(&made, whole);
    cudaGraphInstantiate(&made, whole, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    cudaGraphInstantiate(&made, whole, NULL, NULL, 0);
    cudaGraphAddMemcpyNodeToSymbol(&node, whole, NULL, 0, factor, host, 4, 0, cudaMemcpyHostToDevice);
    cudaGraphAddMemcpyNodeFromSymbol(&node, whole, NULL, 0, host, table, 4, 0, cudaMemcpyDeviceToHost);
    cudaGraphMemcpyNodeSetParamsToSymbol(node, factor, host, 4, 0, cudaMemcpyHostToDevice);
    cudaGraphMemcpyNodeSetParamsFromSymbol(node, host, factor, 4, 0, cudaMemcpyDeviceToHost);
    cudaGraphExecMemcpyNodeSetParamsToSymbol(made, node, table, host, 4, 0, cudaMemcpyHostToDevice);
    cudaGraphExecMemcpyNodeSetParamsFromSymbol(made, node, host, factor, 4, 0, cudaMemcpyDeviceToHost);
    cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaStreamGetCaptureInfo(stream, &status);
    cudaStreamGetCaptureInfo(stream, &status, &id);
    cudaStreamGetCaptureInfo(stream, &status, &id, &whole);
    cudaUserObject_t owner;
    Held *held = new Held;
    cudaUserObjectCreate(&owner, held, 1, cudaUserObjectNoDestructorSync);
    cudaMemLocation place = {cudaMemLocationTypeDevice, 0};
    cudaMemPrefetchAsync(host, 4, place, 0, stream);
    cudaMemPrefetchAsync(host, 4, 0, stream);
    cudaMemAdvise(host, 4, cudaMemAdviseSetReadMostly, place);
    cudaMemAdvise(host, 4, cudaMemAdviseSetReadMostly, 0);
}
