// libamdhip64 -> Driver. No HIP header: the functions used are declared here.
#include <algorithm>
#include <cstring>

#include "driver.h"
#include "failure.h"
#include "hip_abi.h"
#include "shared_library.h"

namespace rockiln {
namespace {

struct Functions {
  int (*init)(unsigned);
  int (*get_device_count)(int*);
  int (*get_device)(int*);
  int (*set_device)(int);
  int (*get_attribute)(int*, int, int);
  int (*get_properties)(void*, int);
  int (*load_data)(void**, const void*);
  int (*unload)(void*);
  int (*get_function)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*is_capturing)(void*, int*);
  const char* (*error_name)(int);
  const char* (*error_text)(int);
};

class HipDriver final : public Driver {
 public:
  explicit HipDriver(const char* library)
      : library_(library, "ROCKILN_HIP_LIBRARY", {"libamdhip64.so.7", "libamdhip64.so.6"}) {
    library_.find(hip_.init, "hipInit");
    library_.find(hip_.get_device_count, "hipGetDeviceCount");
    library_.find(hip_.get_device, "hipGetDevice");
    library_.find(hip_.set_device, "hipSetDevice");
    library_.find(hip_.get_attribute, "hipDeviceGetAttribute");
    library_.find(hip_.get_properties, "hipGetDevicePropertiesR0600");
    library_.find(hip_.load_data, "hipModuleLoadData");
    library_.find(hip_.unload, "hipModuleUnload");
    library_.find(hip_.get_function, "hipModuleGetFunction");
    library_.find(hip_.launch, "hipModuleLaunchKernel");
    library_.find(hip_.is_capturing, "hipStreamIsCapturing");
    library_.find(hip_.error_name, "hipGetErrorName");
    library_.find(hip_.error_text, "hipGetErrorString");
  }

  int count_devices() override {
    int count = 0;
    check(hip_.get_device_count(&count), "hipGetDeviceCount");
    if (count == 0) fail(ROCKILN_NO_DEVICE, "HIP sees no GPU");
    return count;
  }

  int current_device() override {
    int device = 0;
    check(hip_.get_device(&device), "hipGetDevice");
    return device;
  }

  // The token is the device to go back to, plus one; nullptr where nothing was changed.
  void* enter_device(int device) override {
    if (device < 0) return nullptr;
    const int before = current_device();
    if (before == device) return nullptr;
    check(hip_.set_device(device), "hipSetDevice");
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(before) + 1);
  }

  void leave_device(void* token) noexcept override {
    if (token) hip_.set_device(static_cast<int>(reinterpret_cast<std::uintptr_t>(token) - 1));
  }

  DeviceFacts read_device(int device) override {
    alignas(16) char properties[hip::kPropertiesBytes + 1024] = {};  // room for a later, longer struct
    check(hip_.get_properties(properties, device), "hipGetDeviceProperties");
    const char* name = properties + hip::kArchNameAt;
    const char* end = std::find(name, name + hip::kArchNameBytes, '\0');
    return {std::string(name, std::find(name, end, ':')),
            attribute(hip::kAttributeMaxThreadsPerBlock, device),
            attribute(hip::kAttributeMaxSharedMemoryPerBlock, device),
            {attribute(hip::kAttributeMaxGridDimX, device), attribute(hip::kAttributeMaxGridDimY, device),
             attribute(hip::kAttributeMaxGridDimZ, device)}};
  }

  LoadedFunction load_function(const void* image, const char* symbol, std::uint32_t) override {
    LoadedFunction loaded{};
    check(hip_.load_data(&loaded.module, image), "hipModuleLoadData");
    const int error = hip_.get_function(&loaded.function, loaded.module, symbol);
    if (error) hip_.unload(loaded.module);
    check(error, "hipModuleGetFunction");
    return loaded;
  }

  void unload_module(void* module) noexcept override { hip_.unload(module); }

  bool is_capturing(void* stream) override {
    int status = 0;
    check(hip_.is_capturing(stream, &status), "hipStreamIsCapturing");
    return status != hip::kCaptureStatusNone;
  }

  void launch(void* function, const LaunchShape& shape, void* stream, void* kernarg, std::size_t bytes) override {
    void* extra[] = {reinterpret_cast<void*>(hip::kLaunchParamBufferPointer), kernarg,
                     reinterpret_cast<void*>(hip::kLaunchParamBufferSize), &bytes,
                     reinterpret_cast<void*>(hip::kLaunchParamEnd)};
    check(hip_.launch(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.threads, 1, 1, shape.shared_bytes,
                      stream, nullptr, extra),
          "hipModuleLaunchKernel");
  }

 private:
  std::uint32_t attribute(int which, int device) const {
    int value = 0;
    check(hip_.get_attribute(&value, which, device), "hipDeviceGetAttribute");
    return value > 0 ? static_cast<std::uint32_t>(value) : 0;
  }

  void check(int error, const char* call) const {
    if (error == hip::kSuccess) return;
    const bool is_absent = error == hip::kErrorNoDevice || error == hip::kErrorInvalidDevice;
    const rockiln_status status = is_absent                                          ? ROCKILN_NO_DEVICE
                                  : error == hip::kErrorNoBinaryForGpu               ? ROCKILN_WRONG_ARCH
                                  : error == hip::kErrorStreamCaptureUnsupported     ? ROCKILN_CAPTURING
                                                                                     : ROCKILN_DRIVER;
    const char *name = hip_.error_name(error), *text = hip_.error_text(error);
    fail(status, std::string(call) + ": " + (text ? text : "?") + " (" + (name ? name : "?") + ", " +
                     std::to_string(error) + ")");
  }

  SharedLibrary library_;
  Functions hip_{};
};

}  // namespace

std::unique_ptr<Driver> open_hip(const char* library) { return std::make_unique<HipDriver>(library); }

}  // namespace rockiln
