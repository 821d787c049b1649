// What librockiln and tests/gpu ask of libcuda -> answered without a GPU. Handles, contexts, bounds of copies and launch
// shapes are checked; a kernel is a callback. Memory is this process's. Numbers are those of NVIDIA's CUDA Driver API.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

namespace {

enum : int {
  kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200, kInvalidContext = 201,
  kInvalidHandle = 400, kNotFound = 500, kIllegalAddress = 700, kOutOfResources = 701,
};
constexpr int kCubinMachine = 190;  // EM_CUDA
constexpr std::size_t kImageBytes = 1 << 12;

using Kernel = int (*)(const char* symbol, const std::uint32_t* grid, std::uint32_t threads, const void* kernarg,
                       std::size_t bytes);
struct Function {
  void* module;
  std::string symbol;
};

int devices = 1, minor_number = 0, spoiled = kSuccess, launches = 0;
Kernel kernel = nullptr;
char primary;
void* current = nullptr;
std::map<std::uint64_t, std::size_t> memory;
std::set<void*> modules, events;
std::set<Function*> functions;

int enter() { return spoiled ? spoiled : current ? kSuccess : kInvalidContext; }

bool holds(std::uint64_t address, std::size_t size) {
  auto place = memory.upper_bound(address);
  if (place == memory.begin()) return false;
  --place;
  return address + size <= place->first + place->second;
}

}  // namespace

extern "C" {

void fake_cuda_reset(int count, int minor, Kernel player) {
  devices = count;
  minor_number = minor;
  kernel = player;
  spoiled = kSuccess;
  launches = 0;
  current = nullptr;
  for (const auto& [address, size] : memory) std::free(reinterpret_cast<void*>(address));
  memory.clear();
}
int fake_cuda_launches() { return launches; }
int fake_cuda_allocations() { return static_cast<int>(memory.size()); }

int cuInit(unsigned flags) { return flags ? kInvalidValue : devices ? kSuccess : kNoDevice; }
int cuDriverGetVersion(int* version) { return *version = 12090, kSuccess; }
int cuDeviceGetCount(int* count) { return *count = devices, kSuccess; }
int cuDeviceGetName(char* name, int room, int) {
  std::strncpy(name, "Fake H100", static_cast<std::size_t>(room));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int which, int device) {
  if (device < 0 || device >= devices) return 101;
  const std::map<int, int> known = {{1, 1024}, {5, 2147483647}, {6, 65535}, {7, 65535},
                                    {16, 132}, {75, 9}, {76, minor_number}, {97, 232448}};
  const auto found = known.find(which);
  if (found == known.end()) return kInvalidValue;
  *value = found->second;
  return kSuccess;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kNoDevice         ? "no CUDA-capable device is detected"
          : error == kInvalidContext ? "invalid device context"
          : error == kIllegalAddress ? "an illegal memory access was encountered"
                                     : "an error of the fake";
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &primary, kSuccess; }
int cuCtxSetCurrent(void* context) { return current = context, kSuccess; }
int cuCtxGetCurrent(void** context) { return *context = current, kSuccess; }
int cuCtxGetDevice(int* device) { return *device = 0, current ? kSuccess : kInvalidContext; }
int cuCtxPushCurrent_v2(void* context) { return current = context, kSuccess; }
int cuCtxPopCurrent_v2(void** context) { return *context = current, current = nullptr, kSuccess; }
int cuCtxSynchronize() { return enter(); }

int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  if (int error = enter()) return error;
  if (!size) return kInvalidValue;
  void* found = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (!found) return kOutOfMemory;
  memory[*address = reinterpret_cast<std::uint64_t>(found)] = size;
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t address) {
  if (int error = enter()) return error;
  if (!memory.erase(address)) return kInvalidValue;
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t size) {
  if (int error = enter()) return error;
  if (!holds(to, size)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return kSuccess;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t size) {
  if (int error = enter()) return error;
  if (!holds(from, size)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<void*>(from), size);
  return kSuccess;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t size, void*) {
  if (int error = enter()) return error;
  return holds(to, size) && holds(from, size) ? kSuccess : kInvalidValue;  // nobody reads what was copied
}

int cuEventCreate(void** event, unsigned) {
  if (int error = enter()) return error;
  events.insert(*event = std::malloc(1));
  return kSuccess;
}
int cuEventRecord(void* event, void*) { return events.count(event) ? enter() : kInvalidHandle; }
int cuEventSynchronize(void* event) { return events.count(event) ? enter() : kInvalidHandle; }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = 2.0F;  // of whatever lay between
  return events.count(start) && events.count(end) ? enter() : kInvalidHandle;
}
int cuEventDestroy_v2(void* event) {
  if (!events.erase(event)) return kInvalidHandle;
  std::free(event);
  return kSuccess;
}

int cuModuleLoadData(void** module, const void* image) {
  if (int error = enter()) return error;
  const auto* bytes = static_cast<const unsigned char*>(image);
  if (std::memcmp(bytes, "\177ELF", 4) != 0 || (bytes[18] | bytes[19] << 8) != kCubinMachine) return kInvalidImage;
  modules.insert(*module = new std::string(reinterpret_cast<const char*>(bytes), kImageBytes));
  return kSuccess;
}
int cuModuleUnload(void* module) { return modules.erase(module) ? kSuccess : kInvalidHandle; }
int cuModuleGetFunction(void** function, void* module, const char* symbol) {
  if (!modules.count(module)) return kInvalidHandle;
  const auto text = std::string(1, '\0') + symbol + '\0';  // a whole entry of the string table
  if (static_cast<std::string*>(module)->find(text) == std::string::npos) return kNotFound;
  auto* found = new Function{module, symbol};
  functions.insert(found);
  *function = found;
  return kSuccess;
}
int cuFuncSetAttribute(void* function, int which, int value) {
  if (!functions.count(static_cast<Function*>(function))) return kInvalidHandle;
  return which == 8 && value <= 232448 ? kSuccess : kInvalidValue;
}
int cuStreamIsCapturing(void*, int* status) { return *status = 0, kSuccess; }

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y, unsigned z,
                   unsigned shared_bytes, void*, void** parameters, void** extra) {
  if (int error = enter()) return error;
  auto* found = static_cast<Function*>(function);
  if (!functions.count(found) || !modules.count(found->module)) return kInvalidHandle;
  if (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 || y != 1 || z != 1) return kInvalidValue;
  if (!x || x > 1024 || x % 32 || shared_bytes > 232448) return kOutOfResources;
  const bool is_buffer = extra && extra[0] == reinterpret_cast<void*>(1) && extra[2] == reinterpret_cast<void*>(2);
  if (parameters || !is_buffer || extra[4]) return kInvalidValue;
  ++launches;
  const std::uint32_t grid[3] = {grid_x, grid_y, grid_z};
  if (kernel && kernel(found->symbol.c_str(), grid, x, extra[1], *static_cast<std::size_t*>(extra[3])))
    spoiled = kIllegalAddress;  // told by a later call, and by every one then
  return kSuccess;
}
}
