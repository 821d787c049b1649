// Names for the runtime's objects, as NVTX takes them without a tool attached: nothing happens.
#pragma once

#include <hip/hip_runtime_api.h>

static inline void nvtxNameCudaDeviceA(int device, const char *name) { (void)device, (void)name; }
static inline void nvtxNameCudaStreamA(hipStream_t stream, const char *name) { (void)stream, (void)name; }
static inline void nvtxNameCudaEventA(hipEvent_t event, const char *name) { (void)event, (void)name; }

#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
