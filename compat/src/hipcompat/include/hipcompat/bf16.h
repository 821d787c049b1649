// CUDA's names of the bfloat16 types → HIP's __hip_bfloat16, the newer of its two; hip_bfloat16 is never meant.
#pragma once

#include <hip/hip_bf16.h>

#ifndef __nv_bfloat16
#define __nv_bfloat16 __hip_bfloat16
#endif
#ifndef __nv_bfloat162
#define __nv_bfloat162 __hip_bfloat162
#endif
#ifndef nv_bfloat16
#define nv_bfloat16 __hip_bfloat16
#endif
#ifndef nv_bfloat162
#define nv_bfloat162 __hip_bfloat162
#endif
