// AMD's own header against launcher/src/hip_abi.h: compiles if every number and place is the same.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include "../../launcher/src/hip_abi.h"

using namespace rockiln;

static_assert(hipSuccess == hip::kSuccess);
static_assert(hipErrorNoDevice == hip::kErrorNoDevice);
static_assert(hipErrorInvalidDevice == hip::kErrorInvalidDevice);
static_assert(hipErrorNoBinaryForGpu == hip::kErrorNoBinaryForGpu);
static_assert(hipErrorStreamCaptureUnsupported == hip::kErrorStreamCaptureUnsupported);
static_assert(hipDeviceAttributeMaxGridDimX == hip::kAttributeMaxGridDimX);
static_assert(hipDeviceAttributeMaxGridDimY == hip::kAttributeMaxGridDimY);
static_assert(hipDeviceAttributeMaxGridDimZ == hip::kAttributeMaxGridDimZ);
static_assert(hipDeviceAttributeMaxThreadsPerBlock == hip::kAttributeMaxThreadsPerBlock);
static_assert(hipDeviceAttributeMaxSharedMemoryPerBlock == hip::kAttributeMaxSharedMemoryPerBlock);
static_assert(hipStreamCaptureStatusNone == hip::kCaptureStatusNone);
static_assert(sizeof(hipDeviceProp_tR0600) == hip::kPropertiesBytes);
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == hip::kArchNameAt);
static_assert(sizeof(hipDeviceProp_tR0600::gcnArchName) == hip::kArchNameBytes);

int main() {
  const auto is_place = [](void* place, std::size_t number) { return reinterpret_cast<std::size_t>(place) == number; };
  const bool same = is_place(HIP_LAUNCH_PARAM_BUFFER_POINTER, hip::kLaunchParamBufferPointer) &&
                    is_place(HIP_LAUNCH_PARAM_BUFFER_SIZE, hip::kLaunchParamBufferSize) &&
                    is_place(HIP_LAUNCH_PARAM_END, hip::kLaunchParamEnd);
  return same ? 0 : 1;
}
