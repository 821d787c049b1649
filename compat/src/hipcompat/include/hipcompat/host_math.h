// max and min of host code, and CUDA's umin, llmax and the like, as templates: a file that defines its own for "other compilers than nvcc"
// (many do, under #ifndef __CUDACC__) then compiles, since a function goes before a template and does not clash with it.
// clang's own are switched off by __HIP_NO_HOST_MIN_MAX_IN_GLOBAL_NAMESPACE__, which hipcompat's arguments define.
#pragma once

template <typename = void>
inline int max(int a, int b) {
    return a < b ? b : a;
}

template <typename = void>
inline int min(int a, int b) {
    return b < a ? b : a;
}

#define HIPCOMPAT_EXTREMUM(MIN, MAX, TYPE)                                        \
    template <typename = void>                                                    \
    __host__ __device__ inline TYPE MIN(TYPE a, TYPE b) {                         \
        return b < a ? b : a;                                                     \
    }                                                                             \
    template <typename = void>                                                    \
    __host__ __device__ inline TYPE MAX(TYPE a, TYPE b) {                         \
        return a < b ? b : a;                                                     \
    }

HIPCOMPAT_EXTREMUM(umin, umax, unsigned int)
HIPCOMPAT_EXTREMUM(llmin, llmax, long long)
HIPCOMPAT_EXTREMUM(ullmin, ullmax, unsigned long long)
