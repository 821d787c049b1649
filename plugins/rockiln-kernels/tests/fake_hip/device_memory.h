// The memory of a fake HIP as the frameworks' tests use it: a CPU's arrays are copied to it and back. Tests only.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <utility>

namespace {

struct Driver {
  int (*allocate)(void**, std::size_t);
  int (*release)(void*);
  int (*copy)(void*, const void*, std::size_t, int);
} driver;

// Opens the fake's library; not 0 if it is none.
int use_driver(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) return 1;
  driver.allocate = reinterpret_cast<decltype(driver.allocate)>(dlsym(library, "hipMalloc"));
  driver.release = reinterpret_cast<decltype(driver.release)>(dlsym(library, "hipFree"));
  driver.copy = reinterpret_cast<decltype(driver.copy)>(dlsym(library, "hipMemcpy"));
  return !driver.allocate || !driver.release || !driver.copy;
}

// Memory of the fake, which the emulator can see; freed with this object.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { driver.allocate(&address_, bytes ? bytes : 1); }
  DeviceMemory(DeviceMemory&& other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
  ~DeviceMemory() {
    if (address_) driver.release(address_);
  }
  void* get() const { return address_; }

 private:
  void* address_ = nullptr;
};

}  // namespace
