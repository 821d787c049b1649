// A call -> a checked launch. Everything is checked before the driver is asked for anything that changes something.
#include "launch.h"

#include <array>
#include <cstring>

#include "failure.h"
#include "pack.h"

namespace rockiln {
namespace {

const char* const kKindNames[] = {"null", "pointer", "i32", "i64", "f32"};

std::string name_argument(std::uint32_t place, const ArgumentEntry& arg) {
  return "argument " + std::to_string(place) + " (" + arg.name + ")";
}

void check_divisible(std::uint32_t place, const ArgumentEntry& arg, const rockiln_value& value) {
  const std::int64_t divisor = arg.divisible_by;
  const bool is_pointer = arg.kind == ROCKILN_POINTER;
  const bool divides = is_pointer ? value.as.address % arg.divisible_by == 0 : value.as.integer % divisor == 0;
  if (divides) return;
  const std::string text = is_pointer ? "address " + std::to_string(value.as.address)
                                      : "value " + std::to_string(value.as.integer);
  fail(ROCKILN_BAD_ARGUMENT, name_argument(place, arg) + ": " + text + " is no multiple of " +
                                 std::to_string(divisor) + ", which the code relies on");
}

void check_value(std::uint32_t place, const ArgumentEntry& arg, const rockiln_value& value) {
  if (value.kind != arg.kind) {
    const std::string got = value.kind <= ROCKILN_F32 ? kKindNames[value.kind] : std::to_string(value.kind);
    fail(ROCKILN_BAD_ARGUMENT, name_argument(place, arg) + " is " + got + ", not " + kKindNames[arg.kind]);
  }
  if (arg.kind == ROCKILN_I32 && value.as.integer != static_cast<std::int32_t>(value.as.integer))
    fail(ROCKILN_BAD_ARGUMENT, name_argument(place, arg) + ": " + std::to_string(value.as.integer) +
                                   " does not fit into 32 bits");
  if (arg.kind != ROCKILN_F32) check_divisible(place, arg, value);
}

using Kernarg = std::array<unsigned char, kKernargLimit>;

void fill_kernarg(const rockiln_call& call, Kernarg& kernarg) {
  const rockiln_kernel& kernel = *call.kernel;
  if (call.value_count != kernel.value_count)
    fail(ROCKILN_BAD_ARGUMENT, std::to_string(call.value_count) + " arguments, not " +
                                   std::to_string(kernel.value_count));
  if (call.value_count > 0 && !call.values) fail(ROCKILN_BAD_ARGUMENT, "values is null");
  std::memset(kernarg.data(), 0, kernel.entry->kernarg_bytes);
  std::uint32_t place = 0;
  for (const ArgumentEntry& arg : kernel.entry->args) {
    if (arg.kind == kNullKind) continue;
    const rockiln_value& value = call.values[place];
    check_value(place, arg, value);
    std::memcpy(kernarg.data() + arg.offset, &value.as, arg.size_bytes);  // little endian: the low half of an i64 is the i32
    ++place;
  }
}

void check_device(const rockiln_kernel& kernel, const DeviceFacts& facts) {
  const KernelEntry& entry = *kernel.entry;
  if (facts.arch != kernel.pack->index.arch)
    fail(ROCKILN_WRONG_ARCH, "the pack is for " + kernel.pack->index.arch + ", the device is " + facts.arch);
  if (entry.threads > facts.threads_limit)
    fail(ROCKILN_LIMIT, std::to_string(entry.threads) + " threads, the device allows " +
                            std::to_string(facts.threads_limit));
  if (entry.shared_bytes > facts.shared_limit)
    fail(ROCKILN_LIMIT, std::to_string(entry.shared_bytes) + " bytes of LDS, the device allows " +
                            std::to_string(facts.shared_limit));
}

void check_grid(const rockiln_call& call, const DeviceFacts& facts) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (call.grid[axis] > facts.grid_limit[axis])
      fail(ROCKILN_LIMIT, std::to_string(call.grid[axis]) + " workgroups along " + "xyz"[axis] +
                              ", the device allows " + std::to_string(facts.grid_limit[axis]));
  // AMD's dispatch packet counts threads, in 32 bits
  if (std::uint64_t{call.grid[0]} * call.kernel->entry->threads > UINT32_MAX)
    fail(ROCKILN_LIMIT, std::to_string(call.grid[0]) + " workgroups of " +
                            std::to_string(call.kernel->entry->threads) + " threads are more than 2^32 threads");
}

std::string name_call(const rockiln_kernel& kernel, const char* op, const char* shapes, int device) {
  std::string name = op && *op ? op : kernel.entry->source;
  name += " (" + kernel.entry->key + ", " + kernel.pack->index.arch;
  name += device >= 0 ? ", device " + std::to_string(device) + ")" : ")";
  return shapes && *shapes ? name + " [" + shapes + "]" : name;
}

void launch_on(const rockiln_call& call, int device, Driver& driver) {
  const rockiln_kernel& kernel = *call.kernel;
  const DeviceFacts& facts = kernel.pack->runtime.facts_of(device);
  check_device(kernel, facts);
  check_grid(call, facts);
  Kernarg kernarg;
  fill_kernarg(call, kernarg);
  if (call.grid[0] == 0 || call.grid[1] == 0 || call.grid[2] == 0) return;
  void* function = kernel.find_function(device);
  if (!function) {
    if (driver.is_capturing(call.stream))
      fail(ROCKILN_CAPTURING, "the kernel is not loaded and the stream captures: call rockiln_preload, or run once, "
                              "before the capture");
    function = kernel.load_function(device);
  }
  const KernelEntry& entry = *kernel.entry;
  const LaunchShape shape{{call.grid[0], call.grid[1], call.grid[2]}, entry.threads, entry.shared_bytes};
  driver.launch(function, shape, call.stream, kernarg.data(), entry.kernarg_bytes);
}

}  // namespace

void preload_kernel(const rockiln_kernel& kernel, int device) {
  Driver& driver = *kernel.pack->runtime.driver;
  try {
    const DeviceScope scope(driver, device);
    const int actual = device >= 0 ? device : driver.current_device();
    check_device(kernel, kernel.pack->runtime.facts_of(actual));
    if (!kernel.find_function(actual)) kernel.load_function(actual);
  } catch (const Failure& failure) {
    fail(failure.status, name_call(kernel, nullptr, nullptr, device) + ": " + failure.message);
  }
}

void launch_call(const rockiln_call& call) {
  Driver& driver = *call.kernel->pack->runtime.driver;
  try {
    const DeviceScope scope(driver, call.device);
    launch_on(call, call.device >= 0 ? call.device : driver.current_device(), driver);
  } catch (const Failure& failure) {
    fail(failure.status, name_call(*call.kernel, call.op, call.shapes, call.device) + ": " + failure.message);
  }
}

}  // namespace rockiln
