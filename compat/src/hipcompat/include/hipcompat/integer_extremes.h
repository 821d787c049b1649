// CUDA's umin, llmax and the like, in host and device code. They are templates, so that a file may define its own.
#pragma once

#include <hip/hip_runtime.h>

#define HIPCOMPAT_INTEGER_EXTREMES(MIN, MAX, NUMBER)                                       \
    template <typename = void>                                                             \
    __host__ __device__ inline NUMBER MIN(NUMBER a, NUMBER b) { return b < a ? b : a; }    \
    template <typename = void>                                                             \
    __host__ __device__ inline NUMBER MAX(NUMBER a, NUMBER b) { return a < b ? b : a; }

HIPCOMPAT_INTEGER_EXTREMES(umin, umax, unsigned int)
HIPCOMPAT_INTEGER_EXTREMES(llmin, llmax, long long)
HIPCOMPAT_INTEGER_EXTREMES(ullmin, ullmax, unsigned long long)

#undef HIPCOMPAT_INTEGER_EXTREMES
