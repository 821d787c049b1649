// What the launcher asks of libcuda -> answered without a GPU, and written down. Nothing is executed.
#include <cstddef>
#include <string>
#include <vector>

namespace {

bool is_started = false;
std::vector<int> contexts;  // the thread's stack of devices; contexts are device + 1
std::string story;          // what was called that matters, in order
int primaries[2] = {1, 2};

void tell(const std::string& what) { story += what + "\n"; }

}  // namespace

extern "C" {

const char* fake_cuda_story() { return story.c_str(); }
void fake_cuda_reset() {
  is_started = false;
  contexts.clear();
  story.clear();
}

int cuInit(unsigned) {
  is_started = true;
  tell("init");
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return is_started ? 0 : 3;
}
int cuCtxGetCurrent(void** context) {
  *context = contexts.empty() ? nullptr : &primaries[contexts.back()];
  return is_started ? 0 : 3;
}
int cuCtxGetDevice(int* device) {
  if (contexts.empty()) return 201;
  *device = contexts.back();
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (device < 0 || device > 1) return 101;
  tell("retain " + std::to_string(device));
  *context = &primaries[device];
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(static_cast<int>(static_cast<int*>(context) - primaries));
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = &primaries[contexts.back()];
  contexts.pop_back();
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device > 1) return 101;
  switch (attribute) {
    case 1: *value = 1024; return 0;
    case 5: *value = 2147483647; return 0;
    case 6: case 7: *value = 65535; return 0;
    case 75: *value = 9; return 0;
    case 76: *value = 0; return 0;
    case 97: *value = 232448; return 0;
    default: return 1;
  }
}
int cuModuleLoadData(void** module, const void* image) {
  if (contexts.empty()) return 201;
  tell("load on " + std::to_string(contexts.back()) + " " + std::string(static_cast<const char*>(image), 4));
  *module = &primaries[contexts.back()];
  return 0;
}
int cuModuleUnload(void*) {
  tell("unload");
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char* symbol) {
  tell(std::string("find ") + symbol);
  *function = module;
  return 0;
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  tell("attribute " + std::to_string(attribute) + " = " + std::to_string(value));
  return 0;
}
int cuStreamIsCapturing(void*, int* status) {
  *status = 0;
  return 0;
}
int cuLaunchKernel(void*, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned shared,
                   void*, void** parameters, void** extra) {
  if (contexts.empty() || parameters) return 201;
  std::string words = "launch on " + std::to_string(contexts.back());
  for (unsigned number : {x, y, z, threads, shared}) words += " " + std::to_string(number);
  // CU_LAUNCH_PARAM_BUFFER_POINTER 1, _SIZE 2, _END 0
  if (extra[0] != reinterpret_cast<void*>(1) || extra[2] != reinterpret_cast<void*>(2) || extra[4]) return 1;
  unsigned char first = *static_cast<unsigned char*>(extra[1]);
  words += " bytes " + std::to_string(*static_cast<std::size_t*>(extra[3])) + " from " + std::to_string(first);
  tell(words);
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 101 ? "invalid device ordinal" : "an error";
  return 0;
}
}
