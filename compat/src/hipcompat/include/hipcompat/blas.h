// What code asks of cuBLAS's headers and hipBLAS's lack: a status that never comes, named where codes are turned into text.
// It has a value of the enumeration that no status of HIP's has, so that a switch may list all of them.
#pragma once

#define CUBLAS_STATUS_LICENSE_ERROR static_cast<hipblasStatus_t>(15)
