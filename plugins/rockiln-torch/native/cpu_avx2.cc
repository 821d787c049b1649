// The kernels for CPUs with x86-64-v3's instructions (avx2).
#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#pragma GCC target("arch=x86-64-v3")  // below the standard headers: none of their functions may be of this level

#define ROCKILN_LANES 8
#include "cpu_level.h"

namespace rockiln_torch {

extern const CpuKernels kCpu_avx2;
const CpuKernels kCpu_avx2 = make_kernels("avx2");

}  // namespace rockiln_torch

#endif
