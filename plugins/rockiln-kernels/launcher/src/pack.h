// A folder -> Pack: its kernels, each with its function on every device where it was needed.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.h"
#include "index.h"
#include "mapped_file.h"

constexpr int kDeviceLimit = 64;

struct rockiln_runtime {
  std::unique_ptr<rockiln::Driver> driver;
  rockiln_backend backend;

  // Facts of a device, read once. Throws Failure.
  const rockiln::DeviceFacts& facts_of(int device);
  ~rockiln_runtime();

 private:
  std::mutex mutex_;
  std::array<std::atomic<const rockiln::DeviceFacts*>, kDeviceLimit> facts_{};
};

struct rockiln_kernel {
  const rockiln::KernelEntry* entry;
  rockiln_pack* pack;
  std::uint32_t value_count;

  // The function on a device, or nullptr if it is not loaded there. Wait-free.
  void* find_function(int device) const {
    return functions[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  }

  // Load it on the thread's current device, `device`, unless it is there. Throws Failure.
  void* load_function(int device) const;

  mutable std::array<std::atomic<void*>, kDeviceLimit> functions{};
};

struct rockiln_pack {
  rockiln_pack(rockiln_runtime& owner, const std::string& path);
  ~rockiln_pack();

  rockiln_runtime& runtime;
  std::string folder;
  rockiln::Index index;
  std::vector<std::unique_ptr<rockiln_kernel>> kernels;  // in the index's order

 private:
  friend struct rockiln_kernel;
  struct LoadedModule {
    int device;
    void* module;
  };
  std::mutex mutex_;  // held while a module is loaded; launches do not take it
  std::vector<LoadedModule> modules_;
  std::vector<std::unique_ptr<rockiln::MappedFile>> images_;  // mapped as long as a driver may read them
};
