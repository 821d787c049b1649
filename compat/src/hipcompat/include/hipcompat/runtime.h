// What nvcc includes by itself, for HIP: the runtime, CUDA's names for it, warps of 32 lanes, a few overloads.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#define HIP_ENABLE_WARP_SYNC_BUILTINS 1  // HIP 6 hides the _sync functions without it
#ifndef HIPBLAS_USE_HIP_HALF
#define HIPBLAS_USE_HIP_HALF 1  // cublasHgemm takes __half; hipBLAS's own default is an integer
#endif

#include <hipcompat/vectors.h>

#include <hip/hip_runtime.h>
#include <hip/hip_runtime_api.h>

#include <hipcompat/names/runtime.h>
#include <hipcompat/names/driver.h>
#include <hipcompat/names/device.h>

#ifdef __cplusplus
#include <math.h>    // as cuda_runtime.h does: isfinite, memset and clock of host code
#include <string.h>
#include <time.h>

#include <cassert>

#include <hipcompat/cache_hints.h>
#include <hipcompat/host_math.h>
#include <hipcompat/overloads.h>
#include <hipcompat/unmasked.h>
#include <hipcompat/warp.h>
#endif
