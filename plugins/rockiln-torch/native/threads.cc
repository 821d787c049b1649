#include "threads.h"

#include <dlfcn.h>

#include "torch_abi.h"

namespace rockiln_torch {
namespace {

// What GCC makes of `#pragma omp parallel`, and LLVM's libomp has, too; torch's own loops call these.
struct OpenMp {
  void (*parallel)(void (*body)(void*), void* state, unsigned threads, unsigned flags) = nullptr;
  int (*count_allowed)() = nullptr;
  int (*is_within)() = nullptr;
  int (*count)() = nullptr;
  int (*number)() = nullptr;
  bool is_whole() const { return parallel && count_allowed && is_within && count && number; }
};
OpenMp openmp;

struct Split {
  int64_t count;
  void (*work)(int64_t, int64_t, void*);
  void* state;
};

void work_part(void* given) {
  const auto& split = *static_cast<const Split*>(given);
  const int64_t threads = openmp.count(), part = (split.count + threads - 1) / threads;
  const int64_t begin = openmp.number() * part, end = begin + part < split.count ? begin + part : split.count;
  if (begin < end) split.work(begin, end, split.state);
}

template <typename Function>
void find(void* library, const char* name, Function& place) {
  place = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

void find_openmp(void* torch_library) {  // dlsym looks through what the library is linked with
  find(torch_library, "GOMP_parallel", openmp.parallel);
  find(torch_library, "omp_get_max_threads", openmp.count_allowed);
  find(torch_library, "omp_in_parallel", openmp.is_within);
  find(torch_library, "omp_get_num_threads", openmp.count);
  find(torch_library, "omp_get_thread_num", openmp.number);
}

void split_range(int64_t count, int64_t grain, void (*work)(int64_t, int64_t, void*), void* state) {
  if (count <= grain) return work(0, count, state);
  if (torch.split_range != nullptr && torch.split_range(0, count, grain, work, state) == 0) return;
  if (!openmp.is_whole() || openmp.is_within()) return work(0, count, state);
  const int64_t parts = (count + grain - 1) / grain, allowed = openmp.count_allowed();
  const int64_t threads = parts < allowed ? parts : allowed;
  if (threads < 2) return work(0, count, state);
  Split split = {count, work, state};
  openmp.parallel(work_part, &split, static_cast<unsigned>(threads), 0);
}

}  // namespace rockiln_torch
