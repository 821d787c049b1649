// max(int, int) and min(int, int) of host code, as templates: a file that defines its own for "other compilers than nvcc"
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
