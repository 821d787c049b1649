// The kernels in the instructions that every CPU of this kind has, and which of all levels run here.
#include <atomic>
#include <cstring>
#include <initializer_list>

#define ROCKILN_LANES 4
#include "cpu_level.h"

namespace rockiln_torch {

#if defined(__x86_64__)
extern const CpuKernels kCpu_avx2, kCpu_avx512;
#endif

namespace {

const CpuKernels kBaseline = make_kernels("baseline");
std::atomic<const CpuKernels*> chosen{nullptr};

const CpuKernels* find_level(const char* level) {
#if defined(__x86_64__)
  for (const CpuKernels* kernels : {&kCpu_avx512, &kCpu_avx2})
    if ((*level == '\0' || !std::strcmp(level, kernels->level)) && has_cpu_level(kernels->level)) return kernels;
#endif
  return *level == '\0' || has_cpu_level(level) ? &kBaseline : nullptr;
}

}  // namespace

bool has_cpu_level(const char* level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (!std::strcmp(level, "avx2")) return has_avx2;
  if (!std::strcmp(level, "avx512"))
    return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
#endif
  return !std::strcmp(level, "baseline");
}

float find_code_scale(CpuCode code, float largest) {
  constexpr float (*kScales[kCpuCodes])(float) = {find_scale<kCpuE4m3>, find_scale<kCpuE5m2>, find_scale<kCpuE4m3fnuz>,
                                                  find_scale<kCpuE5m2fnuz>};
  return kScales[code](largest);
}

const CpuKernels& get_cpu_kernels() {
  const CpuKernels* known = chosen.load(std::memory_order_acquire);
  if (known == nullptr) chosen.store(known = find_level(""), std::memory_order_release);
  return *known;
}

bool choose_cpu_level(const char* level) {
  const CpuKernels* found = find_level(level);
  if (found != nullptr) chosen.store(found, std::memory_order_release);
  return found != nullptr;
}

}  // namespace rockiln_torch
