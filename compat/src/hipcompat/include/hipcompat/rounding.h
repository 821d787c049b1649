// CUDA's sums, products and fused products with a rounding that is named: down, up, to zero. clang has them where
// OCML_BASIC_ROUNDED_OPERATIONS is defined before its headers; here they are in any case, over the same functions of
// ROCm's device library. Templates, so that clang's own go before them. Quotients and roots are none: that library has
// no code for them.
#pragma once

#include <hip/hip_runtime.h>

#define HIPCOMPAT_ROUNDED_2(NAME, TYPE, FUNCTION) \
    template <typename = void>                    \
    __device__ inline TYPE NAME(TYPE a, TYPE b) { return FUNCTION(a, b); }

#define HIPCOMPAT_ROUNDED_3(NAME, TYPE, FUNCTION) \
    template <typename = void>                    \
    __device__ inline TYPE NAME(TYPE a, TYPE b, TYPE c) { return FUNCTION(a, b, c); }

HIPCOMPAT_ROUNDED_2(__fadd_rd, float, __ocml_add_rtn_f32)
HIPCOMPAT_ROUNDED_2(__fadd_ru, float, __ocml_add_rtp_f32)
HIPCOMPAT_ROUNDED_2(__fadd_rz, float, __ocml_add_rtz_f32)
HIPCOMPAT_ROUNDED_2(__fsub_rd, float, __ocml_sub_rtn_f32)
HIPCOMPAT_ROUNDED_2(__fsub_ru, float, __ocml_sub_rtp_f32)
HIPCOMPAT_ROUNDED_2(__fsub_rz, float, __ocml_sub_rtz_f32)
HIPCOMPAT_ROUNDED_2(__fmul_rd, float, __ocml_mul_rtn_f32)
HIPCOMPAT_ROUNDED_2(__fmul_ru, float, __ocml_mul_rtp_f32)
HIPCOMPAT_ROUNDED_2(__fmul_rz, float, __ocml_mul_rtz_f32)
HIPCOMPAT_ROUNDED_3(__fmaf_rd, float, __ocml_fma_rtn_f32)
HIPCOMPAT_ROUNDED_3(__fmaf_ru, float, __ocml_fma_rtp_f32)
HIPCOMPAT_ROUNDED_3(__fmaf_rz, float, __ocml_fma_rtz_f32)
HIPCOMPAT_ROUNDED_2(__dadd_rd, double, __ocml_add_rtn_f64)
HIPCOMPAT_ROUNDED_2(__dadd_ru, double, __ocml_add_rtp_f64)
HIPCOMPAT_ROUNDED_2(__dadd_rz, double, __ocml_add_rtz_f64)
HIPCOMPAT_ROUNDED_2(__dsub_rd, double, __ocml_sub_rtn_f64)
HIPCOMPAT_ROUNDED_2(__dsub_ru, double, __ocml_sub_rtp_f64)
HIPCOMPAT_ROUNDED_2(__dsub_rz, double, __ocml_sub_rtz_f64)
HIPCOMPAT_ROUNDED_2(__dmul_rd, double, __ocml_mul_rtn_f64)
HIPCOMPAT_ROUNDED_2(__dmul_ru, double, __ocml_mul_rtp_f64)
HIPCOMPAT_ROUNDED_2(__dmul_rz, double, __ocml_mul_rtz_f64)
HIPCOMPAT_ROUNDED_3(__fma_rd, double, __ocml_fma_rtn_f64)
HIPCOMPAT_ROUNDED_3(__fma_ru, double, __ocml_fma_rtp_f64)
HIPCOMPAT_ROUNDED_3(__fma_rz, double, __ocml_fma_rtz_f64)

#undef HIPCOMPAT_ROUNDED_2
#undef HIPCOMPAT_ROUNDED_3
