// A pack's folder, a kernel's key and a fake HIP -> 0 if every call answered as it should, from many threads at once.
// Built with sanitizers together with the launcher's sources.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "../../launcher/rockiln.h"

namespace {

constexpr int kThreads = 8, kRounds = 200;
std::atomic<int> failures{0};

void expect(rockiln_status got, rockiln_status wanted, const char* what) {
  if (got == wanted) return;
  std::fprintf(stderr, "%s: %d, not %d: %s\n", what, got, wanted, rockiln_last_error());
  ++failures;
}

// Values that every check accepts: aligned addresses, numbers that everything divides.
std::vector<rockiln_value> make_values(const char* kinds) {
  std::vector<rockiln_value> values;
  for (const char* kind = kinds; *kind; ++kind) {
    rockiln_value value{};
    value.kind = static_cast<uint32_t>(*kind - '0');
    if (value.kind == ROCKILN_F32)
      value.as.number = 1.0f;
    else
      value.as.integer = 4096;
    values.push_back(value);
  }
  return values;
}

void launch_often(const rockiln_kernel* kernel, std::vector<rockiln_value> values, int number) {
  rockiln_call call{};
  call.struct_bytes = sizeof call;
  call.device = number % 2;
  call.kernel = kernel;
  call.grid[0] = call.grid[1] = call.grid[2] = 1;
  call.value_count = static_cast<uint32_t>(values.size());
  call.values = values.data();
  call.shapes = "x=bf16[1,4096]";
  for (int round = 0; round < kRounds; ++round) {
    expect(rockiln_launch(&call), ROCKILN_OK, "launch");
    --call.value_count;
    expect(rockiln_launch(&call), ROCKILN_BAD_ARGUMENT, "one argument less");
    if (!std::strstr(rockiln_last_error(), "arguments, not")) ++failures;
    ++call.value_count;
    call.grid[1] = 70000;
    expect(rockiln_launch(&call), ROCKILN_LIMIT, "a high grid");
    call.grid[1] = 1;
  }
}

void open_often(rockiln_runtime* runtime, const char* folder, const char* key) {
  for (int round = 0; round < kRounds / 10; ++round) {
    rockiln_pack* pack = nullptr;
    const rockiln_kernel* kernel = nullptr;
    expect(rockiln_open_pack(runtime, folder, &pack), ROCKILN_OK, "open");
    expect(rockiln_find_kernel(pack, key, &kernel), ROCKILN_OK, "find");
    expect(rockiln_preload(kernel, round % 2), ROCKILN_OK, "preload");
    expect(rockiln_find_kernel(pack, "nothing", &kernel), ROCKILN_UNKNOWN_KERNEL, "find nothing");
    expect(rockiln_open_pack(runtime, "/nowhere", &pack), ROCKILN_BAD_PACK, "open nothing");
    rockiln_close_pack(pack);
  }
}

void refuse_null() {
  expect(rockiln_launch(nullptr), ROCKILN_BAD_ARGUMENT, "launch null");
  expect(rockiln_preload(nullptr, 0), ROCKILN_BAD_ARGUMENT, "preload null");
  expect(rockiln_open_pack(nullptr, nullptr, nullptr), ROCKILN_BAD_ARGUMENT, "open null");
  expect(rockiln_open_runtime(ROCKILN_HIP, nullptr, nullptr), ROCKILN_BAD_ARGUMENT, "runtime null");
  rockiln_close_pack(nullptr);
  rockiln_close_runtime(nullptr);
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  const char *fake = words[1], *folder = words[2], *key = words[3], *kinds = words[4];
  void* library = dlopen(fake, RTLD_NOW);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  reinterpret_cast<void (*)(const char*, int, void*)>(dlsym(library, "fake_hip_reset"))("gfx942", 2, nullptr);
  rockiln_runtime* runtime = nullptr;
  rockiln_pack* pack = nullptr;
  const rockiln_kernel* kernel = nullptr;
  expect(rockiln_open_runtime(ROCKILN_HIP, fake, &runtime), ROCKILN_OK, "runtime");
  expect(rockiln_open_pack(runtime, folder, &pack), ROCKILN_OK, "pack");
  expect(rockiln_find_kernel(pack, key, &kernel), ROCKILN_OK, "kernel");
  if (failures) return 1;
  refuse_null();
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back(launch_often, kernel, make_values(kinds), number);
  threads.emplace_back(open_often, runtime, folder, key);
  threads.emplace_back(open_often, runtime, folder, key);
  for (std::thread& thread : threads) thread.join();
  rockiln_close_pack(pack);
  rockiln_close_runtime(runtime);
  return failures ? 1 : 0;
}
