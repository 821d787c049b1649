// HIP's numbers and layouts that the launcher relies on. Equal in HIP 6 and 7; tests/test_hip_abi.py compares each with
// AMD's own header. HIP's API reference describes them: rocm.docs.amd.com/projects/HIP.
#pragma once

#include <cstddef>

namespace rockiln::hip {

constexpr int kSuccess = 0;
constexpr int kErrorNoDevice = 100;
constexpr int kErrorInvalidDevice = 101;
constexpr int kErrorNoBinaryForGpu = 209;
constexpr int kErrorStreamCaptureUnsupported = 900;

constexpr int kAttributeMaxGridDimX = 29;
constexpr int kAttributeMaxGridDimY = 30;
constexpr int kAttributeMaxGridDimZ = 31;
constexpr int kAttributeMaxThreadsPerBlock = 56;
constexpr int kAttributeMaxSharedMemoryPerBlock = 74;

constexpr int kCaptureStatusNone = 0;
constexpr std::size_t kLaunchParamBufferPointer = 1, kLaunchParamBufferSize = 2, kLaunchParamEnd = 3;

// hipDeviceProp_tR0600, of which only the name of the arch is read.
constexpr std::size_t kPropertiesBytes = 1472, kArchNameAt = 1160, kArchNameBytes = 256;

}  // namespace rockiln::hip
