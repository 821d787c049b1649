// Status codes of cuBLAS and cuFFT that hipBLAS and hipFFT never return: code names them where it turns codes into text.
// Each has a value of the enumeration that no status of HIP's has, so that a switch may list all of them.
#pragma once

#if defined(HIPBLAS_VERSION_MAJOR) || defined(HIPBLAS_H) || __has_include(<hipblas-common/hipblas-common.h>)
#define CUBLAS_STATUS_LICENSE_ERROR static_cast<hipblasStatus_t>(15)
#endif

#define CUFFT_MISSING_DEPENDENCY static_cast<hipfftResult_t>(17)
#define CUFFT_NVRTC_FAILURE static_cast<hipfftResult_t>(18)
#define CUFFT_NVJITLINK_FAILURE static_cast<hipfftResult_t>(19)
#define CUFFT_NVSHMEM_FAILURE static_cast<hipfftResult_t>(20)
