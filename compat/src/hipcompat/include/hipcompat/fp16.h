// What cuda_fp16.h has beside HIP's: atomicAdd for its types, and extremes that keep NaN.
#pragma once

#include <hip/hip_fp16.h>
#include <hipcompat/half_atomics.h>
#include <hipcompat/nan_extremes.h>
#include <hipcompat/unmasked.h>

HIPCOMPAT_UNMASKED_SHUFFLES(__half)
HIPCOMPAT_UNMASKED_SHUFFLES(__half2)
