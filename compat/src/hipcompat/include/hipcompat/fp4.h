// hip/hip_fp4.h in a file that may include hip/hip_fp6.h, too: each of ROCm 7.2's two defines four functions that the
// other one defines, so the pair does not compile. Those of hip/hip_fp4.h get names of their own.
#pragma once

#include <hipcompat/fp8.h>

#define half_to_f16 hipcompat_fp4_half_to_f16
#define half2_to_f16x2 hipcompat_fp4_half2_to_f16x2
#define hipbf16_to_bf16 hipcompat_fp4_hipbf16_to_bf16
#define hipbf162_to_bf16x2 hipcompat_fp4_hipbf162_to_bf16x2
#include <hip/hip_fp4.h>
#undef half_to_f16
#undef half2_to_f16x2
#undef hipbf16_to_bf16
#undef hipbf162_to_bf16x2
