// hip/hip_fp8.h with OCP's types in device code for gfx942, too, where HIP's header gives host code alone theirs.
//
// gfx942 converts in hardware to the fnuz kinds only. HIP's header has conversions in software for GPUs that have none
// in hardware; it asks for the GPU by its macro, so without the macro both kinds are there, and each rounds as CUDA's.
// Whoever includes hip/hip_fp8.h itself before this header keeps what that one gives.
#pragma once

#if defined(__gfx942__) && !defined(HIP_INCLUDE_HIP_HIP_FP8_H)
#include <hip/hip_runtime.h>  // whatever else that header includes sees the macro
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#pragma push_macro("__gfx942__")
#undef __gfx942__
#include <hip/hip_fp8.h>
#pragma pop_macro("__gfx942__")
#else
#include <hip/hip_fp8.h>
#endif
