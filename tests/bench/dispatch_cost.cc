// A planned call and the launch that it comes to -> nanoseconds of each, median of batches. Loaded by dispatch_cost.py.
#include <algorithm>
#include <chrono>
#include <vector>

#include "../../plugins/rockiln-kernels/launcher/rockiln_dispatch.h"

namespace {

constexpr int kBatches = 200, kCalls = 500;

template <typename Work>
double measure(const Work& work) {
  std::vector<double> batches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) work();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    batches.push_back(taken.count() / kCalls);
  }
  std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
  return batches[kBatches / 2];
}

}  // namespace

// out: the bare launch, finding and releasing the plan, running it, and both. Returns the first status that is not 0.
extern "C" int measure_dispatch(const rockiln_dispatch_api* api, rockiln_status (*launch)(const rockiln_call*),
                                const rockiln_call* bare, const rockiln_op_call* call, const rockiln_plan_run* run,
                                double* out) {
  int failed = 0;
  const auto note = [&](rockiln_status status) {
    if (status && !failed) failed = status;
  };
  const rockiln_plan* held = nullptr;
  note(api->find_plan(call, &held));
  if (failed) return failed;
  out[0] = measure([&] { note(launch(bare)); });
  out[1] = measure([&] {
    const rockiln_plan* plan = nullptr;
    note(api->find_plan(call, &plan));
    api->release_plan(plan);
  });
  out[2] = measure([&] { note(api->run_plan(held, run)); });
  out[3] = measure([&] {
    const rockiln_plan* plan = nullptr;
    note(api->find_plan(call, &plan));
    note(api->run_plan(plan, run));
    api->release_plan(plan);
  });
  api->release_plan(held);
  return failed;
}
