// max and min as CUDA has them, in host code for every pair of types and in device code where HIP's own give a double for two integers
// of different signedness. All are templates: a file that defines its own for "other compilers than
// nvcc" (many do, under #ifndef __CUDACC__) then compiles, since a function goes before a template and does not clash with it.
// clang's own of host code are switched off by __HIP_NO_HOST_MIN_MAX_IN_GLOBAL_NAMESPACE__, which hipcompat's arguments define.
#pragma once

#include <hipcompat/integer_extremes.h>

#define HIPCOMPAT_EXTREMES(SIDE, MIN, MAX, RESULT, LEFT, RIGHT)                                \
    template <typename = void>                                                                 \
    SIDE inline RESULT MIN(LEFT a, RIGHT b) {                                                  \
        return static_cast<RESULT>(b) < static_cast<RESULT>(a) ? static_cast<RESULT>(b)        \
                                                               : static_cast<RESULT>(a);       \
    }                                                                                          \
    template <typename = void>                                                                 \
    SIDE inline RESULT MAX(LEFT a, RIGHT b) {                                                  \
        return static_cast<RESULT>(a) < static_cast<RESULT>(b) ? static_cast<RESULT>(b)        \
                                                               : static_cast<RESULT>(a);       \
    }

HIPCOMPAT_EXTREMES(__host__, min, max, int, int, int)
HIPCOMPAT_EXTREMES(__host__, min, max, unsigned int, unsigned int, unsigned int)
HIPCOMPAT_EXTREMES(__host__, min, max, long, long, long)
HIPCOMPAT_EXTREMES(__host__, min, max, unsigned long, unsigned long, unsigned long)
HIPCOMPAT_EXTREMES(__host__, min, max, long long, long long, long long)
HIPCOMPAT_EXTREMES(__host__, min, max, unsigned long long, unsigned long long, unsigned long long)

HIPCOMPAT_EXTREMES(__host__ __device__, min, max, unsigned int, int, unsigned int)
HIPCOMPAT_EXTREMES(__host__ __device__, min, max, unsigned int, unsigned int, int)
HIPCOMPAT_EXTREMES(__host__ __device__, min, max, unsigned long, long, unsigned long)
HIPCOMPAT_EXTREMES(__host__ __device__, min, max, unsigned long, unsigned long, long)
HIPCOMPAT_EXTREMES(__host__ __device__, min, max, unsigned long long, long long, unsigned long long)
HIPCOMPAT_EXTREMES(__host__ __device__, min, max, unsigned long long, unsigned long long, long long)

// As fmin and fmax: of a number and a NaN, the number.
#define HIPCOMPAT_FLOAT_EXTREMES(RESULT, LEFT, RIGHT, SUFFIX)                                  \
    template <typename = void>                                                                 \
    __host__ inline RESULT min(LEFT a, RIGHT b) {                                              \
        return __builtin_fmin##SUFFIX(a, b);                                                   \
    }                                                                                          \
    template <typename = void>                                                                 \
    __host__ inline RESULT max(LEFT a, RIGHT b) {                                              \
        return __builtin_fmax##SUFFIX(a, b);                                                   \
    }

HIPCOMPAT_FLOAT_EXTREMES(float, float, float, f)
HIPCOMPAT_FLOAT_EXTREMES(double, double, double, )
HIPCOMPAT_FLOAT_EXTREMES(double, float, double, )
HIPCOMPAT_FLOAT_EXTREMES(double, double, float, )

#undef HIPCOMPAT_EXTREMES
#undef HIPCOMPAT_FLOAT_EXTREMES
