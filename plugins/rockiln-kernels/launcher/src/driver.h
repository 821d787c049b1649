// A driver's library -> Driver: the few calls that a launch needs, the same for HIP and CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../rockiln.h"

namespace rockiln {

struct DeviceFacts {
  std::string arch;
  std::uint32_t threads_limit;
  std::uint32_t shared_limit;
  std::array<std::uint32_t, 3> grid_limit;
};

struct LoadedFunction {
  void* module;
  void* function;
};

struct LaunchShape {
  std::array<std::uint32_t, 3> grid;
  std::uint32_t threads;
  std::uint32_t shared_bytes;
};

// Every member throws Failure; ROCKILN_DRIVER with the driver's own words unless another status says more.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual int count_devices() = 0;
  // Make `device` (-1: leave it) current for this thread; returns what leave_device needs to undo it.
  virtual void* enter_device(int device) = 0;
  virtual void leave_device(void* token) noexcept = 0;
  virtual int current_device() = 0;
  virtual DeviceFacts read_device(int device) = 0;
  // On the current device.
  virtual LoadedFunction load_function(const void* image, const char* symbol, std::uint32_t shared_bytes) = 0;
  virtual void unload_module(void* module) noexcept = 0;
  virtual bool is_capturing(void* stream) = 0;
  virtual void launch(void* function, const LaunchShape& shape, void* stream, void* kernarg, std::size_t bytes) = 0;
};

// Scope in which a device is the thread's current one.
class DeviceScope {
 public:
  DeviceScope(Driver& driver, int device) : driver_(driver), token_(driver.enter_device(device)) {}
  ~DeviceScope() { driver_.leave_device(token_); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Driver& driver_;
  void* token_;
};

std::unique_ptr<Driver> open_hip(const char* library);
std::unique_ptr<Driver> open_cuda(const char* library);

}  // namespace rockiln
