// A HIP library without a GPU, a pack's folder and a kernel's key -> what librockiln answers to each question, a line
// each: status, then message. The same program asks the fake and the real runtime.
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "../../launcher/rockiln.h"

namespace {

void answer(const char* question, rockiln_status status) {
  std::printf("%s\t%d\t%s\n", question, status, status ? rockiln_last_error() : "");
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  void* library = dlopen(words[1], RTLD_NOW);
  if (!library) return std::printf("%s\n", dlerror()), 2;
  if (void* reset = dlsym(library, "fake_hip_reset"))
    reinterpret_cast<void (*)(const char*, int, void*)>(reset)("gfx942", 0, nullptr);
  rockiln_runtime* runtime = nullptr;
  rockiln_pack* pack = nullptr;
  const rockiln_kernel* kernel = nullptr;
  answer("open_runtime", rockiln_open_runtime(ROCKILN_HIP, words[1], &runtime));
  if (!runtime) return 1;
  int32_t devices = -1;
  answer("count_devices", rockiln_count_devices(runtime, &devices));
  rockiln_device_facts facts;
  answer("read_device", rockiln_read_device(runtime, 0, &facts));
  answer("open_pack", rockiln_open_pack(runtime, words[2], &pack));
  answer("find_kernel", rockiln_find_kernel(pack, words[3], &kernel));
  answer("preload", rockiln_preload(kernel, -1));
  answer("preload on device 0", rockiln_preload(kernel, 0));
  rockiln_call call{};
  call.struct_bytes = sizeof call;
  call.device = -1;
  call.kernel = kernel;
  call.op = "rms_norm";
  call.shapes = "x=bf16[4,1024]";
  answer("launch", rockiln_launch(&call));
  std::fflush(stdout);
  _Exit(0);  // the real runtime's own exit handlers are not what is asked about
}
