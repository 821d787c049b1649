// Rows → torch's own threads, as many as torch.set_num_threads allows.
#pragma once

#include <cstdint>

namespace rockiln_torch {

// The OpenMP library that torch is linked with; for a torch that has no parallel loop in its stable ABI (before 2.10).
void find_openmp(void* torch_library);

// Calls `work(begin, end, state)` for parts of 0 to `count` that are `grain` long at least, and waits for all of them.
// Without torch's threads, or within one of them, for the whole at once. `work` must not throw.
void split_range(int64_t count, int64_t grain, void (*work)(int64_t begin, int64_t end, void* state), void* state);

// The same of anything that is called as work(begin, end).
template <typename Work>
void split_range(int64_t count, int64_t grain, Work work) {
  split_range(count, grain, [](int64_t begin, int64_t end, void* own) { (*static_cast<Work*>(own))(begin, end); }, &work);
}

}  // namespace rockiln_torch
