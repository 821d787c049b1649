// What code asks of cuFFT's headers: statuses that never come (as in blas.h), and the types of callbacks.
#pragma once

#define CUFFT_MISSING_DEPENDENCY static_cast<hipfftResult_t>(17)
#define CUFFT_NVRTC_FAILURE static_cast<hipfftResult_t>(18)
#define CUFFT_NVJITLINK_FAILURE static_cast<hipfftResult_t>(19)
#define CUFFT_NVSHMEM_FAILURE static_cast<hipfftResult_t>(20)

#define cufftCallbackLoadC hipfftCallbackLoadC
#define cufftCallbackLoadZ hipfftCallbackLoadZ
#define cufftCallbackLoadR hipfftCallbackLoadR
#define cufftCallbackLoadD hipfftCallbackLoadD
#define cufftCallbackStoreC hipfftCallbackStoreC
#define cufftCallbackStoreZ hipfftCallbackStoreZ
#define cufftCallbackStoreR hipfftCallbackStoreR
#define cufftCallbackStoreD hipfftCallbackStoreD
