// libcuda -> Driver. No CUDA header: the functions and numbers used are declared here, from NVIDIA's CUDA Driver API
// reference (docs.nvidia.com/cuda/cuda-driver-api).
#include <mutex>

#include "driver.h"
#include "failure.h"
#include "shared_library.h"

namespace rockiln {
namespace {

constexpr int kErrorNoDevice = 100, kErrorInvalidDevice = 101, kErrorNoBinaryForGpu = 209, kErrorCapture = 900;
constexpr int kMaxThreadsPerBlock = 1, kMaxGridDimX = 5, kMaxGridDimY = 6, kMaxGridDimZ = 7;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76, kMaxSharedOptin = 97;
constexpr int kFunctionMaxDynamicShared = 8;
constexpr std::size_t kBufferPointer = 1, kBufferSize = 2, kEnd = 0;

struct Functions {
  int (*init)(unsigned);
  int (*get_count)(int*);
  int (*get_current)(void**);
  int (*get_device)(int*);
  int (*retain)(void**, int);
  int (*push)(void*);
  int (*pop)(void**);
  int (*get_attribute)(int*, int, int);
  int (*load_data)(void**, const void*);
  int (*unload)(void*);
  int (*get_function)(void**, void*, const char*);
  int (*set_function_attribute)(void*, int, int);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*is_capturing)(void*, int*);
  int (*error_text)(int, const char**);
};

class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(const char* library) : library_(library, "ROCKILN_CUDA_LIBRARY", {"libcuda.so.1"}) {
    library_.find(cuda_.init, "cuInit");
    library_.find(cuda_.get_count, "cuDeviceGetCount");
    library_.find(cuda_.get_current, "cuCtxGetCurrent");
    library_.find(cuda_.get_device, "cuCtxGetDevice");
    library_.find(cuda_.retain, "cuDevicePrimaryCtxRetain");
    library_.find(cuda_.push, "cuCtxPushCurrent_v2");
    library_.find(cuda_.pop, "cuCtxPopCurrent_v2");
    library_.find(cuda_.get_attribute, "cuDeviceGetAttribute");
    library_.find(cuda_.load_data, "cuModuleLoadData");
    library_.find(cuda_.unload, "cuModuleUnload");
    library_.find(cuda_.get_function, "cuModuleGetFunction");
    library_.find(cuda_.set_function_attribute, "cuFuncSetAttribute");
    library_.find(cuda_.launch, "cuLaunchKernel");
    library_.find(cuda_.is_capturing, "cuStreamIsCapturing");
    library_.find(cuda_.error_text, "cuGetErrorString");
  }

  int count_devices() override {
    start();
    int count = 0;
    check(cuda_.get_count(&count), "cuDeviceGetCount");
    if (count == 0) fail(ROCKILN_NO_DEVICE, "CUDA sees no GPU");
    return count;
  }

  int current_device() override {
    start();
    void* context = nullptr;
    check(cuda_.get_current(&context), "cuCtxGetCurrent");
    int device = 0;  // without a context the first one is meant, as in CUDA's runtime
    if (context) check(cuda_.get_device(&device), "cuCtxGetDevice");
    return device;
  }

  void* enter_device(int device) override {
    start();
    void* context = nullptr;
    check(cuda_.get_current(&context), "cuCtxGetCurrent");
    if (context && (device < 0 || current_device() == device)) return nullptr;
    void* primary = find_primary(device < 0 ? 0 : device);
    check(cuda_.push(primary), "cuCtxPushCurrent");
    return primary;
  }

  void leave_device(void* token) noexcept override {
    void* popped = nullptr;
    if (token) cuda_.pop(&popped);
  }

  DeviceFacts read_device(int device) override {
    start();
    const std::string major = std::to_string(attribute(kCapabilityMajor, device));
    return {"sm_" + major + std::to_string(attribute(kCapabilityMinor, device)),
            attribute(kMaxThreadsPerBlock, device),
            attribute(kMaxSharedOptin, device),
            {attribute(kMaxGridDimX, device), attribute(kMaxGridDimY, device), attribute(kMaxGridDimZ, device)}};
  }

  LoadedFunction load_function(const void* image, const char* symbol, std::uint32_t shared_bytes) override {
    LoadedFunction loaded{};
    check(cuda_.load_data(&loaded.module, image), "cuModuleLoadData");
    int error = cuda_.get_function(&loaded.function, loaded.module, symbol);
    if (!error && shared_bytes > 48 * 1024)  // above that it has to be asked for
      error = cuda_.set_function_attribute(loaded.function, kFunctionMaxDynamicShared, static_cast<int>(shared_bytes));
    if (error) cuda_.unload(loaded.module);
    check(error, "cuModuleGetFunction");
    return loaded;
  }

  void unload_module(void* module) noexcept override { cuda_.unload(module); }

  bool is_capturing(void* stream) override {
    int status = 0;
    check(cuda_.is_capturing(stream, &status), "cuStreamIsCapturing");
    return status != 0;
  }

  void launch(void* function, const LaunchShape& shape, void* stream, void* kernarg, std::size_t bytes) override {
    void* extra[] = {reinterpret_cast<void*>(kBufferPointer), kernarg, reinterpret_cast<void*>(kBufferSize), &bytes,
                     reinterpret_cast<void*>(kEnd)};
    check(cuda_.launch(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.threads, 1, 1, shape.shared_bytes,
                       stream, nullptr, extra),
          "cuLaunchKernel");
  }

 private:
  // CUDA has to be initialised; a failure (no GPU) is told each time, and tried again.
  void start() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_started_) check(cuda_.init(0), "cuInit");
    is_started_ = true;
  }

  void* find_primary(int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (static_cast<std::size_t>(device) >= primaries_.size()) primaries_.resize(static_cast<std::size_t>(device) + 1);
    void*& primary = primaries_[static_cast<std::size_t>(device)];
    if (!primary) check(cuda_.retain(&primary, device), "cuDevicePrimaryCtxRetain");
    return primary;
  }

  std::uint32_t attribute(int which, int device) const {
    int value = 0;
    check(cuda_.get_attribute(&value, which, device), "cuDeviceGetAttribute");
    return value > 0 ? static_cast<std::uint32_t>(value) : 0;
  }

  void check(int error, const char* call) const {
    if (error == 0) return;
    const bool is_absent = error == kErrorNoDevice || error == kErrorInvalidDevice;
    const rockiln_status status = is_absent                       ? ROCKILN_NO_DEVICE
                                  : error == kErrorNoBinaryForGpu ? ROCKILN_WRONG_ARCH
                                  : error == kErrorCapture        ? ROCKILN_CAPTURING
                                                                  : ROCKILN_DRIVER;
    const char* text = nullptr;
    cuda_.error_text(error, &text);
    fail(status, std::string(call) + ": " + (text ? text : "unknown error") + " (" + std::to_string(error) + ")");
  }

  SharedLibrary library_;
  Functions cuda_{};
  std::mutex mutex_;
  bool is_started_ = false;
  std::vector<void*> primaries_;
};

}  // namespace

std::unique_ptr<Driver> open_cuda(const char* library) { return std::make_unique<CudaDriver>(library); }

}  // namespace rockiln
