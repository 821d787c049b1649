#include "call.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "cpu_call.h"
#include "outputs.h"
#include "python_error.h"

namespace rockiln_torch {
namespace {

rockiln_torch_compose compose_in_python = nullptr;
rockiln_torch_find_dispatch find_dispatch = nullptr;
std::atomic<const rockiln_dispatch_api*> dispatch{nullptr};
std::atomic<bool> is_dispatch_asked{false};
std::atomic<bool> accepts_host{false};
std::array<std::atomic<const rockiln_op*>, kOpLimit> ops{};
std::atomic<int32_t (*)(const char*)> push_range{nullptr};
std::atomic<int32_t (*)()> pop_range{nullptr};

// A call's range in a profile, if somebody profiles.
class Range {
 public:
  explicit Range(const char* name) : pop_(pop_range.load(std::memory_order_relaxed)) {
    const auto push = push_range.load(std::memory_order_relaxed);
    if (push == nullptr || pop_ == nullptr) pop_ = nullptr;
    else push((std::string("rockiln::") + name).c_str());
  }
  ~Range() {
    if (pop_ != nullptr) pop_();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  int32_t (*pop_)();
};

// A plan that is given back when the call is over.
class Plan {
 public:
  Plan(const rockiln_dispatch_api& api, const rockiln_op_call& call) : api_(api), status_(api.find_plan(&call, &plan_)) {}
  ~Plan() {
    if (plan_ != nullptr) api_.release_plan(plan_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  rockiln_status status() const { return status_; }
  const rockiln_plan* get() const { return plan_; }
  const rockiln_plan_facts& facts() const { return *api_.describe_plan(plan_); }

 private:
  const rockiln_dispatch_api& api_;
  const rockiln_plan* plan_ = nullptr;
  rockiln_status status_;
};

// Asked once. Threads that come meanwhile wait, without Python's lock, as torch lets go of it around every op: else
// their first calls would be composed.
const rockiln_dispatch_api* get_dispatch() {
  static std::mutex asking;
  thread_local bool asks = false;
  if (is_dispatch_asked.load(std::memory_order_acquire)) return dispatch.load(std::memory_order_acquire);
  if (asks) return nullptr;  // an op within the answer itself
  const std::lock_guard<std::mutex> guard(asking);
  if (is_dispatch_asked.load(std::memory_order_acquire)) return dispatch.load(std::memory_order_acquire);
  asks = true;
  read_gpu_torch();
  const auto* found = reinterpret_cast<const rockiln_dispatch_api*>(find_dispatch());
  asks = false;
  if (found != nullptr && found->abi_version != ROCKILN_DISPATCH_ABI_VERSION) found = nullptr;
  dispatch.store(found, std::memory_order_release);
  is_dispatch_asked.store(true, std::memory_order_release);
  return found;
}

const rockiln_op* get_op(const rockiln_dispatch_api& api, uint32_t row) {
  if (const auto* known = ops[row].load(std::memory_order_acquire)) return known;
  const rockiln_op* found = nullptr;
  if (api.find_op(kOps[row].name, &found)) return nullptr;
  ops[row].store(found, std::memory_order_release);
  return found;
}

void call_python(uint32_t row, bool is_out, rockiln_torch_cause cause, const char* text, Arguments& arguments,
                 StackValue* stack) {
  uint64_t results[kOutputLimit + 3] = {};
  if (compose_in_python(row, is_out, cause, text, arguments.hand_over(), results)) rethrow_python(results);
  if (!is_out) std::memcpy(stack, results, kOps[row].outputs * sizeof *stack);
}

bool read_stream(const Arguments& arguments, void** stream) {
  *stream = nullptr;
  if (arguments.device_type() != cuda_device_type) return true;  // the host's memory, in tests
  return torch.read_stream != nullptr && torch.read_stream(arguments.device_index(), stream) == 0;
}

// Returns the status of the run, or -1 where Python has to make the outputs.
int run_plan(const rockiln_dispatch_api& api, const Plan& plan, const Arguments& arguments, bool is_out, Tensors& outputs) {
  const rockiln_plan_facts& facts = plan.facts();
  void* addresses[kOutputLimit] = {};
  rockiln_plan_run run = {};
  if (facts.output_count > kOutputLimit || !read_stream(arguments, &run.stream)) return -1;
  const Planned planned = {facts.outputs, facts.output_count, 256};
  if (is_out ? !take_outputs(arguments, planned, addresses) : !make_outputs(arguments, planned, outputs, addresses)) return -1;
  Tensors scratch;
  if (facts.workspace_bytes != 0) {
    const int64_t size = static_cast<int64_t>(facts.workspace_bytes);
    if (!scratch.add_empty(1, &size, find_dtype(ROCKILN_DTYPE_U8), arguments)) return -1;
    if (torch.read_data(scratch[0], &run.workspace)) return -1;
  }
  run.struct_bytes = sizeof run;
  run.input_count = arguments.call().input_count;
  run.output_count = facts.output_count;
  run.inputs = arguments.addresses();
  run.outputs = addresses;
  return api.run_plan(plan.get(), &run);
}

}  // namespace

void set_callbacks(rockiln_torch_compose compose, rockiln_torch_find_dispatch find) {
  compose_in_python = compose;
  find_dispatch = find;
}

void forget_dispatch() {
  dispatch.store(nullptr);
  is_dispatch_asked.store(false);
  for (auto& op : ops) op.store(nullptr);
}

void trace_calls(int32_t (*push)(const char*), int32_t (*pop)()) {
  push_range.store(push);
  pop_range.store(pop);
}

void accept_host(bool accepts) { accepts_host.store(accepts); }

void serve_call(uint32_t row, bool is_out, StackValue* stack) {
  Arguments arguments(kOps[row], is_out, stack);
  const Range range(kOps[row].name);
  if (arguments.device_type() == cpu_device_type && !accepts_host.load()) {
    const CpuRefusal refusal = run_on_cpu(row, is_out, arguments, stack);
    if (refusal.reason == nullptr) return;
    const rockiln_torch_cause cause = refusal.is_layout ? ROCKILN_TORCH_LAYOUT : ROCKILN_TORCH_UNPLANNED;
    return call_python(row, is_out, cause, refusal.reason, arguments, stack);
  }
  const rockiln_dispatch_api* api = get_dispatch();
  if (api == nullptr || !arguments.describe(accepts_host.load()))
    return call_python(row, is_out, ROCKILN_TORCH_UNPLANNED, "", arguments, stack);
  rockiln_op_call call = arguments.call();
  call.op = get_op(*api, row);
  const Plan plan(*api, call);
  if (plan.status() == ROCKILN_NOT_SELECTED) throw std::runtime_error(api->last_error());
  if (plan.status() != ROCKILN_OK)
    return call_python(row, is_out, ROCKILN_TORCH_UNPLANNED, api->last_error(), arguments, stack);
  if (plan.facts().provider != ROCKILN_BY_PACK)
    return call_python(row, is_out, ROCKILN_TORCH_PLANNED, plan.facts().reason, arguments, stack);
  Tensors outputs;
  const int status = run_plan(*api, plan, arguments, is_out, outputs);
  if (status == -1) return call_python(row, is_out, ROCKILN_TORCH_OUTPUTS, "", arguments, stack);
  if (status == ROCKILN_CAPTURING)
    return call_python(row, is_out, ROCKILN_TORCH_CAPTURING, api->last_error(), arguments, stack);
  if (status != ROCKILN_OK) throw std::runtime_error(api->last_error());
  outputs.hand_over(stack);
}

}  // namespace rockiln_torch
