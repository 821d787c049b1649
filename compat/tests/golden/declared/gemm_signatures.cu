// cublasGemmEx with a data type to compute in, as before CUDA 11, and with a compute type; cublasHgemm of __half.
#include <cublas_v2.h>
#include <cuda_fp16.h>
cublasStatus_t multiply(cublasHandle_t blas, int n, const float *one, const __half *half_one, const __half *a, __half *c) {
    cublasStatus_t status = cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, one, a, CUDA_R_16F, n, a, CUDA_R_16F, n, one, c,
                                         CUDA_R_16F, n, CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, one, a, CUDA_R_16F, n, a, CUDA_R_16F, n, one, c, CUDA_R_16F, n,
                              CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasHgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, half_one, a, n, a, n, half_one, c, n);
    }
    return status;
}
