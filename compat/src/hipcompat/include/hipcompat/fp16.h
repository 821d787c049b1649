// What cuda_fp16.h has beside HIP's: atomicAdd for its types.
#pragma once

#include <hip/hip_fp16.h>
#include <hipcompat/half_atomics.h>
#include <hipcompat/unmasked.h>

HIPCOMPAT_UNMASKED_SHUFFLES(__half)
HIPCOMPAT_UNMASKED_SHUFFLES(__half2)
