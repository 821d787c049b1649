// What code asks of cuBLAS's headers and hipBLAS's lack: a status that never comes, named where codes are turned into text.
// It has a value of the enumeration that no status of HIP's has, so that a switch may list all of them.
#pragma once

#ifdef __cplusplus
#include <cuda_bf16.h>  // as cublas_api.h does
#include <cuda_fp16.h>
#endif

#define CUBLAS_STATUS_LICENSE_ERROR static_cast<hipblasStatus_t>(15)

#if defined(__cplusplus) && HIP_VERSION_MAJOR >= 7
// The older signatures, which cuBLAS's C++ header keeps beside those with a compute type: the type to compute in is a data type.
namespace hipcompat {
inline bool find_compute_type(hipDataType type, hipblasComputeType_t &found) {
    switch (type) {
        case HIP_R_16F: found = HIPBLAS_COMPUTE_16F; return true;
        case HIP_R_32F: case HIP_C_32F: found = HIPBLAS_COMPUTE_32F; return true;
        case HIP_R_64F: case HIP_C_64F: found = HIPBLAS_COMPUTE_64F; return true;
        case HIP_R_32I: case HIP_C_32I: found = HIPBLAS_COMPUTE_32I; return true;
        default: return false;
    }
}
}  // namespace hipcompat

inline hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t transA, hipblasOperation_t transB, int m, int n, int k,
                                     const void *alpha, const void *A, hipDataType aType, int lda, const void *B, hipDataType bType,
                                     int ldb, const void *beta, void *C, hipDataType cType, int ldc, hipDataType computeType,
                                     hipblasGemmAlgo_t algo) {
    hipblasComputeType_t type;
    return hipcompat::find_compute_type(computeType, type)
               ? hipblasGemmEx(handle, transA, transB, m, n, k, alpha, A, aType, lda, B, bType, ldb, beta, C, cType, ldc, type, algo)
               : HIPBLAS_STATUS_NOT_SUPPORTED;
}

inline hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t handle, hipblasOperation_t transA, hipblasOperation_t transB, int m, int n,
                                            int k, const void *alpha, const void *const A[], hipDataType aType, int lda,
                                            const void *const B[], hipDataType bType, int ldb, const void *beta, void *const C[],
                                            hipDataType cType, int ldc, int batchCount, hipDataType computeType, hipblasGemmAlgo_t algo) {
    hipblasComputeType_t type;
    return hipcompat::find_compute_type(computeType, type)
               ? hipblasGemmBatchedEx(handle, transA, transB, m, n, k, alpha, const_cast<const void **>(A), aType, lda,
                                      const_cast<const void **>(B), bType, ldb, beta, const_cast<void **>(C), cType, ldc, batchCount,
                                      type, algo)
               : HIPBLAS_STATUS_NOT_SUPPORTED;
}

inline hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t handle, hipblasOperation_t transA, hipblasOperation_t transB, int m,
                                                   int n, int k, const void *alpha, const void *A, hipDataType aType, int lda,
                                                   long long int strideA, const void *B, hipDataType bType, int ldb,
                                                   long long int strideB, const void *beta, void *C, hipDataType cType, int ldc,
                                                   long long int strideC, int batchCount, hipDataType computeType,
                                                   hipblasGemmAlgo_t algo) {
    hipblasComputeType_t type;
    return hipcompat::find_compute_type(computeType, type)
               ? hipblasGemmStridedBatchedEx(handle, transA, transB, m, n, k, alpha, A, aType, lda, strideA, B, bType, ldb, strideB,
                                             beta, C, cType, ldc, strideC, batchCount, type, algo)
               : HIPBLAS_STATUS_NOT_SUPPORTED;
}
#endif
