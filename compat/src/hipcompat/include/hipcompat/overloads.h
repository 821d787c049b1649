// Signatures of CUDA's C++ interface that HIP has under another name or with other types. Each does what CUDA documents.
#pragma once

#include <hip/hip_runtime.h>

#define __grid_constant__
#define CUDART_CB

// HIP names the struct _hipGraphicsResource, and code writes `struct cudaGraphicsResource *`.
#undef cudaGraphicsResource
#define cudaGraphicsResource _hipGraphicsResource

#define make_cudaExtent make_hipExtent
#define make_cudaPos make_hipPos
#define make_cudaPitchedPtr make_hipPitchedPtr

// One set of flags in HIP, with CUDA's values of both: samples register with the flags for mapping.
#define cudaGraphicsMapFlagsNone hipGraphicsRegisterFlagsNone
#define cudaGraphicsMapFlagsReadOnly hipGraphicsRegisterFlagsReadOnly
#define cudaGraphicsMapFlagsWriteDiscard hipGraphicsRegisterFlagsWriteDiscard

// CUDA documents these flags as hints on how a mapped resource will be used; HIP takes none, so a known one changes nothing.
inline hipError_t cudaGraphicsResourceSetMapFlags(hipGraphicsResource_t resource, unsigned int flags) {
    return resource && flags <= hipGraphicsRegisterFlagsWriteDiscard ? hipSuccess : hipErrorInvalidValue;
}

// There is no part of the L2 cache to set aside: the limit is one that HIP refuses, and the reset says "not supported".
#define cudaLimitPersistingL2CacheSize static_cast<hipLimit_t>(0x1f)
inline hipError_t cudaCtxResetPersistingL2Cache() { return hipErrorNotSupported; }

template <typename Function>
inline hipError_t hipFuncSetCacheConfig(Function *function, hipFuncCache_t config) {
    return hipFuncSetCacheConfig(reinterpret_cast<const void *>(function), config);
}

template <typename Function>
inline hipError_t hipFuncSetAttribute(Function *function, hipFuncAttribute attribute, int value) {
    return hipFuncSetAttribute(reinterpret_cast<const void *>(function), attribute, value);
}

template <typename Function>
inline hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, Function *function) {
    return hipFuncGetAttributes(attributes, reinterpret_cast<const void *>(function));
}

template <typename Function>
inline hipError_t hipFuncSetSharedMemConfig(Function *function, hipSharedMemConfig config) {
    return hipFuncSetSharedMemConfig(reinterpret_cast<const void *>(function), config);
}

template <typename Function>
inline hipError_t hipGetFuncBySymbol(hipFunction_t *found, Function *function) {
    return hipGetFuncBySymbol(found, reinterpret_cast<const void *>(function));
}

template <typename Function>
inline hipError_t hipLaunchKernel(Function *function, dim3 blocks, dim3 threads, void **arguments, size_t shared = 0,
                                  hipStream_t stream = nullptr) {
    return hipLaunchKernel(reinterpret_cast<const void *>(function), blocks, threads, arguments, shared, stream);
}

// With fewer arguments than HIP's own takes.
template <typename Function>
inline hipError_t hipLaunchCooperativeKernel(Function *function, dim3 blocks, dim3 threads, void **arguments,
                                             unsigned int shared = 0) {
    return hipLaunchCooperativeKernel(reinterpret_cast<const void *>(function), blocks, threads, arguments, shared,
                                      nullptr);
}

template <typename Function>
inline hipError_t hipLaunchKernelExC(const hipLaunchConfig_t *config, Function *function, void **arguments) {
    return hipLaunchKernelExC(config, reinterpret_cast<const void *>(function), arguments);
}

template <typename Symbol>
inline hipError_t hipMemcpyToSymbolAsync(const Symbol &symbol, const void *source, size_t size, size_t offset = 0) {
    return hipMemcpyToSymbolAsync(reinterpret_cast<const void *>(&symbol), source, size, offset, hipMemcpyHostToDevice,
                                  nullptr);
}

template <typename Symbol>
inline hipError_t hipMemcpyFromSymbolAsync(void *target, const Symbol &symbol, size_t size, size_t offset = 0) {
    return hipMemcpyFromSymbolAsync(target, reinterpret_cast<const void *>(&symbol), size, offset, hipMemcpyDeviceToHost,
                                    nullptr);
}

// Variables of the device by themselves, where HIP's functions take their addresses.
template <typename Symbol>
inline hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *before,
                                                size_t count, const Symbol &symbol, const void *source, size_t size,
                                                size_t offset, hipMemcpyKind kind) {
    return hipGraphAddMemcpyNodeToSymbol(node, graph, before, count, reinterpret_cast<const void *>(&symbol), source, size,
                                         offset, kind);
}

template <typename Symbol>
inline hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *before,
                                                  size_t count, void *target, const Symbol &symbol, size_t size,
                                                  size_t offset, hipMemcpyKind kind) {
    return hipGraphAddMemcpyNodeFromSymbol(node, graph, before, count, target, reinterpret_cast<const void *>(&symbol),
                                           size, offset, kind);
}

template <typename Symbol>
inline hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const Symbol &symbol, const void *source,
                                                      size_t size, size_t offset, hipMemcpyKind kind) {
    return hipGraphMemcpyNodeSetParamsToSymbol(node, reinterpret_cast<const void *>(&symbol), source, size, offset, kind);
}

template <typename Symbol>
inline hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void *target, const Symbol &symbol,
                                                        size_t size, size_t offset, hipMemcpyKind kind) {
    return hipGraphMemcpyNodeSetParamsFromSymbol(node, target, reinterpret_cast<const void *>(&symbol), size, offset, kind);
}

template <typename Symbol>
inline hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t made, hipGraphNode_t node, const Symbol &symbol,
                                                          const void *source, size_t size, size_t offset,
                                                          hipMemcpyKind kind) {
    return hipGraphExecMemcpyNodeSetParamsToSymbol(made, node, reinterpret_cast<const void *>(&symbol), source, size, offset,
                                                   kind);
}

template <typename Symbol>
inline hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t made, hipGraphNode_t node, void *target,
                                                            const Symbol &symbol, size_t size, size_t offset,
                                                            hipMemcpyKind kind) {
    return hipGraphExecMemcpyNodeSetParamsFromSymbol(made, node, target, reinterpret_cast<const void *>(&symbol), size,
                                                     offset, kind);
}

inline hipError_t hipMalloc3DArray(hipArray_t *array, const hipChannelFormatDesc *format, hipExtent extent) {
    return hipMalloc3DArray(array, format, extent, 0);
}

// CUDA 12's, with flags in place of a node and a log.
inline hipError_t hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph, unsigned long long flags = 0) {
    return hipGraphInstantiateWithFlags(executable, graph, flags);
}

inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status) {
    return hipStreamGetCaptureInfo_v2(stream, status, nullptr, nullptr, nullptr, nullptr);
}

inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id,
                                          hipGraph_t *graph, const hipGraphNode_t **dependencies = nullptr,
                                          size_t *count = nullptr) {
    return hipStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

/// An object that is deleted with its last reference.
template <typename Object>
inline hipError_t hipUserObjectCreate(hipUserObject_t *made, Object *object, unsigned int references, unsigned int flags) {
    return hipUserObjectCreate(made, object, [](void *last) { delete static_cast<Object *>(last); }, references, flags);
}

inline hipError_t hipEventCreate(hipEvent_t *event, unsigned int flags) { return hipEventCreateWithFlags(event, flags); }

template <typename Element>
inline hipError_t hipHostGetDevicePointer(Element **device, void *host, unsigned int flags) {
    return hipHostGetDevicePointer(reinterpret_cast<void **>(device), host, flags);
}

#if HIP_VERSION_MAJOR > 7 || (HIP_VERSION_MAJOR == 7 && HIP_VERSION_MINOR >= 1)
// CUDA 13's cudaMemPrefetchAsync and cudaMemAdvise take a location in place of a device.
inline hipError_t hipMemPrefetchAsync(const void *memory, size_t size, hipMemLocation location, unsigned int flags,
                                      hipStream_t stream = nullptr) {
    return hipMemPrefetchAsync_v2(memory, size, location, flags, stream);
}

inline hipError_t hipMemAdvise(const void *memory, size_t size, hipMemoryAdvise advice, hipMemLocation location) {
    return hipMemAdvise_v2(memory, size, advice, location);
}
#endif

#if defined(__HIPCC__) || defined(__HIP__)
__device__ inline unsigned int atomicInc_system(unsigned int *address, unsigned int limit) {
    unsigned int seen = __hip_atomic_load(address, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    while (!__hip_atomic_compare_exchange_strong(address, &seen, seen >= limit ? 0u : seen + 1u, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) {
    }
    return seen;
}

__device__ inline unsigned int atomicDec_system(unsigned int *address, unsigned int limit) {
    unsigned int seen = __hip_atomic_load(address, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    while (!__hip_atomic_compare_exchange_strong(address, &seen, seen == 0u || seen > limit ? limit : seen - 1u,
                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) {
    }
    return seen;
}
#endif
