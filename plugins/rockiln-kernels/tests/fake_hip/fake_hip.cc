// What the launcher asks of libamdhip64 -> answered without a GPU. Every launch is checked as HIP would, then handed to a
// callback that executes it (gfxemu). Device memory is this process's. Control functions are called fake_hip_*.
#include <elf.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

enum : int {
  kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidConfiguration = 9, kNoDevice = 100, kInvalidDevice = 101,
  kInvalidImage = 200, kNoBinaryForGpu = 209, kInvalidHandle = 400, kNotFound = 500, kOutOfResources = 701,
  kLaunchFailure = 719, kCaptureUnsupported = 900,
};

struct Target {
  const char* name;
  std::uint32_t mach;  // EF_AMDGPU_MACH, LLVM's AMDGPU usage page
  int shared_bytes;
};

constexpr Target kTargets[] = {
    {"gfx90a", 0x3f, 65536},  {"gfx942", 0x4c, 65536},  {"gfx950", 0x4f, 163840}, {"gfx1100", 0x41, 65536},
    {"gfx1101", 0x46, 65536}, {"gfx1200", 0x48, 65536}, {"gfx1201", 0x4e, 65536},
};

struct Module {
  std::string image;
};

struct Function {
  const Module* module;
  std::string symbol;
  std::uint32_t group_bytes, kernarg_bytes;
  int device;
};

using Emulator = int (*)(const void* image, std::size_t image_bytes, const char* symbol, const std::uint32_t* grid,
                         std::uint32_t threads, std::uint32_t shared_bytes, const void* kernarg, std::size_t bytes);

struct State {
  std::mutex mutex;
  std::string arch = "gfx942", suffix = ":sramecc+:xnack-";
  int devices = 1;
  Emulator emulator = nullptr;
  std::map<void*, std::size_t> memory;
  std::set<Module*> modules;
  std::set<Function*> functions;
  std::set<void*> capturing;
  int fail_loads = 0;
};

State state;
std::atomic<int> loads{0}, launches{0};
thread_local int current_device = 0;

const Target* find_target(const std::string& name) {
  for (const Target& target : kTargets)
    if (name == target.name) return &target;
  return nullptr;
}

// The size of an ELF image from its section headers, which stand last.
std::size_t measure_image(const Elf64_Ehdr& header) { return header.e_shoff + std::size_t{64} * header.e_shnum; }

const std::uint32_t* find_descriptor(const std::string& image, const std::string& name) {
  const auto* base = image.data();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(base + header->e_shoff);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(base + header->e_phoff);
  for (int place = 0; place < header->e_shnum; ++place) {
    if (sections[place].sh_type != SHT_DYNSYM) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(base + sections[place].sh_offset);
    const char* names = base + sections[sections[place].sh_link].sh_offset;
    for (std::size_t number = 0; number < sections[place].sh_size / sizeof(Elf64_Sym); ++number) {
      if (name != names + symbols[number].st_name) continue;
      for (int segment = 0; segment < header->e_phnum; ++segment) {
        const Elf64_Phdr& load = segments[segment];
        const std::uint64_t at = symbols[number].st_value;
        if (load.p_type == PT_LOAD && at >= load.p_vaddr && at < load.p_vaddr + load.p_filesz)
          return reinterpret_cast<const std::uint32_t*>(base + load.p_offset + (at - load.p_vaddr));
      }
    }
  }
  return nullptr;
}

bool is_capturing_any() { return !state.capturing.empty(); }

struct Kernarg {
  const void* bytes = nullptr;
  std::size_t size = 0;
};

Kernarg read_extra(void** extra) {
  Kernarg kernarg;
  for (int place = 0; extra && extra[place] != reinterpret_cast<void*>(3); place += 2) {
    if (extra[place] == reinterpret_cast<void*>(1)) kernarg.bytes = extra[place + 1];
    if (extra[place] == reinterpret_cast<void*>(2)) kernarg.size = *static_cast<std::size_t*>(extra[place + 1]);
  }
  return kernarg;
}

}  // namespace

extern "C" {

void fake_hip_reset(const char* arch, int devices, Emulator emulator) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.arch = arch;
  state.devices = devices;
  state.emulator = emulator;
  state.capturing.clear();
  state.fail_loads = 0;
  loads = 0;
  launches = 0;
}
void fake_hip_fail_loads(int count) { state.fail_loads = count; }
int fake_hip_loads() { return loads; }
int fake_hip_launches() { return launches; }
int fake_hip_modules() {
  const std::lock_guard<std::mutex> lock(state.mutex);
  return static_cast<int>(state.modules.size());
}
int fake_hip_list_memory(void** addresses, std::size_t* sizes, int room) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  int count = 0;
  for (const auto& [address, size] : state.memory) {
    if (count == room) break;
    addresses[count] = address;
    sizes[count++] = size;
  }
  return count;
}

int hipInit(unsigned) { return state.devices ? kSuccess : kNoDevice; }
int hipGetDeviceCount(int* count) {
  *count = state.devices;
  return state.devices ? kSuccess : kNoDevice;
}
int hipGetDevice(int* device) {
  if (!state.devices) return kNoDevice;
  *device = current_device;
  return kSuccess;
}
int hipSetDevice(int device) {
  if (device < 0 || device >= state.devices) return state.devices ? kInvalidDevice : kNoDevice;
  current_device = device;
  return kSuccess;
}
int hipDeviceGetAttribute(int* value, int attribute, int device) {
  const Target* target = find_target(state.arch);
  if (!target || device < 0 || device >= state.devices) return kInvalidDevice;
  switch (attribute) {
    case 29: *value = 2147483647; return kSuccess;  // grid x
    case 30: case 31: *value = 65536; return kSuccess;  // y, z
    case 56: *value = 1024; return kSuccess;  // threads
    case 74: *value = target->shared_bytes; return kSuccess;
    default: return kInvalidValue;
  }
}
int hipGetDevicePropertiesR0600(void* properties, int device) {
  if (device < 0 || device >= state.devices) return kInvalidDevice;
  std::memset(properties, 0, 1472);
  const std::string name = state.arch + state.suffix;
  std::memcpy(static_cast<char*>(properties) + 1160, name.c_str(), name.size() + 1);
  return kSuccess;
}
const char* hipGetErrorName(int error) { return error == kNoDevice ? "hipErrorNoDevice" : "hipError"; }
const char* hipGetErrorString(int error) {
  switch (error) {
    case kInvalidValue: return "invalid argument";
    case kInvalidConfiguration: return "invalid configuration argument";
    case kNoDevice: return "no ROCm-capable device is detected";
    case kInvalidDevice: return "invalid device ordinal";
    case kInvalidImage: return "device kernel image is invalid";
    case kNoBinaryForGpu: return "no kernel image is available for execution on the device";
    case kNotFound: return "named symbol not found";
    case kOutOfResources: return "out of resource";
    case kLaunchFailure: return "unspecified launch failure";
    case kCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "unknown error";
  }
}

int hipMalloc(void** address, std::size_t size) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (is_capturing_any()) return kCaptureUnsupported;
  *address = std::aligned_alloc(256, (size + 511) / 256 * 256);
  if (!*address) return kOutOfMemory;
  state.memory[*address] = size;
  return kSuccess;
}
int hipFree(void* address) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (!state.memory.erase(address)) return kInvalidValue;
  std::free(address);
  return kSuccess;
}
int hipMemcpy(void* to, const void* from, std::size_t size, int) {
  std::memcpy(to, from, size);
  return kSuccess;
}
int hipRuntimeGetVersion(int* version) {
  *version = 0;  // no runtime has this one
  return kSuccess;
}
int hipDeviceSynchronize() { return kSuccess; }

int hipStreamIsCapturing(void* stream, int* status) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  *status = state.capturing.count(stream) ? 1 : 0;
  return kSuccess;
}
int hipStreamBeginCapture(void* stream, int) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.capturing.insert(stream);
  return kSuccess;
}
int hipStreamEndCapture(void* stream, void** graph) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  *graph = nullptr;
  return state.capturing.erase(stream) ? kSuccess : kInvalidValue;
}

int hipModuleLoadData(void** module, const void* image) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto* header = static_cast<const Elf64_Ehdr*>(image);
  const Target* target = find_target(state.arch);
  if (is_capturing_any()) return kCaptureUnsupported;
  if (state.fail_loads > 0) return --state.fail_loads, kOutOfMemory;
  if (std::memcmp(header->e_ident, ELFMAG, 4) != 0 || header->e_machine != EM_AMDGPU) return kInvalidImage;
  if (!target || (header->e_flags & 0xff) != target->mach) return kNoBinaryForGpu;
  auto* loaded = new Module{std::string(static_cast<const char*>(image), measure_image(*header))};
  state.modules.insert(loaded);
  *module = loaded;
  ++loads;
  return kSuccess;
}
int hipModuleUnload(void* module) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  auto* loaded = static_cast<Module*>(module);
  if (!state.modules.erase(loaded)) return kInvalidHandle;
  for (auto place = state.functions.begin(); place != state.functions.end();) {
    const bool is_its = (*place)->module == loaded;
    if (is_its) delete *place;
    place = is_its ? state.functions.erase(place) : std::next(place);
  }
  delete loaded;
  return kSuccess;
}
int hipModuleGetFunction(void** function, void* module, const char* symbol) {
  const std::lock_guard<std::mutex> lock(state.mutex);
  auto* loaded = static_cast<Module*>(module);
  if (!state.modules.count(loaded)) return kInvalidHandle;
  const std::uint32_t* descriptor = find_descriptor(loaded->image, std::string(symbol) + ".kd");
  if (!descriptor) return kNotFound;
  auto* found = new Function{loaded, symbol, descriptor[0], descriptor[2], current_device};
  state.functions.insert(found);
  *function = found;
  return kSuccess;
}

int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** parameters,
                          void** extra) {
  Emulator emulator;
  const auto* kernel = static_cast<Function*>(function);
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (!state.functions.count(static_cast<Function*>(function))) return kInvalidHandle;
    if (kernel->device != current_device) return kInvalidHandle;
    const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
    if (!grid_x || !grid_y || !grid_z || !threads) return kInvalidConfiguration;
    if (std::uint64_t{grid_x} * block_x > UINT32_MAX || grid_y > 65536 || grid_z > 65536) return kInvalidConfiguration;
    const auto limit = static_cast<unsigned>(find_target(state.arch)->shared_bytes);
    if (threads > 1024 || shared_bytes + kernel->group_bytes > limit) return kOutOfResources;
    if (state.capturing.count(stream)) return ++launches, kSuccess;  // recorded; this fake replays no graph
    emulator = state.emulator;
  }
  const Kernarg kernarg = read_extra(extra);
  if (parameters || !kernarg.bytes || kernarg.size != kernel->kernarg_bytes) return kInvalidValue;
  ++launches;
  if (!emulator) return kSuccess;
  const std::uint32_t grid[3] = {grid_x, grid_y, grid_z};
  const std::string& image = kernel->module->image;
  const int error = emulator(image.data(), image.size(), kernel->symbol.c_str(), grid, block_x, shared_bytes,
                             kernarg.bytes, kernarg.size);
  return error ? kLaunchFailure : kSuccess;
}
}
