// The kernels for CPUs with x86-64-v4's instructions (avx512).
#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#pragma GCC target("arch=x86-64-v4")  // below the standard headers: none of their functions may be of this level

#define ROCKILN_LANES 16
#include "cpu_level.h"

namespace rockiln_torch {

extern const CpuKernels kCpu_avx512;
const CpuKernels kCpu_avx512 = make_kernels("avx512");

}  // namespace rockiln_torch

#endif
