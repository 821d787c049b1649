// What nvcc includes by itself, for HIP: the runtime, CUDA's names for it, warps of 32 lanes, a few overloads.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#define HIP_ENABLE_WARP_SYNC_BUILTINS 1  // HIP 6 hides the _sync functions without it

#include <hipcompat/vectors.h>

#include <hip/hip_runtime.h>
#include <hip/hip_runtime_api.h>

#include <hipcompat/names/runtime.h>
#include <hipcompat/names/driver.h>
#include <hipcompat/names/device.h>

#ifdef __cplusplus
#include <cassert>

#include <hipcompat/host_math.h>
#include <hipcompat/overloads.h>
#include <hipcompat/warp.h>
#endif
