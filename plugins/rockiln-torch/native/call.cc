#include "call.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include "arguments.h"
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

// Tensors that are deleted unless they are handed on.
struct Tensors {
  Handle handles[kOutputLimit + 1] = {};
  uint32_t count = 0;
  ~Tensors() {
    for (uint32_t place = 0; place < count; ++place)
      if (handles[place] != nullptr) torch.delete_tensor(handles[place]);
  }
  bool add_empty(uint32_t rank, const int64_t* shape, int32_t dtype, const Arguments& like) {
    int64_t strides[ROCKILN_RANK_LIMIT];
    int64_t step = 1;
    for (uint32_t dim = rank; dim-- > 0; step *= shape[dim] > 1 ? shape[dim] : 1) strides[dim] = step;
    if (torch.make_empty(rank, shape, strides, dtype, like.device_type(), like.device_index(), &handles[count])) return false;
    ++count;
    return true;
  }
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

bool has_layout(Handle tensor, const rockiln_output& output, const Arguments& like) {
  int32_t dtype = -1, type = -1, index = -1;
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr, step = 1;
  if (torch.read_dtype(tensor, &dtype) || torch.read_rank(tensor, &rank)) return false;
  if (torch.read_device_type(tensor, &type) || torch.read_device_index(tensor, &index)) return false;
  if (torch.read_sizes(tensor, &sizes) || torch.read_strides(tensor, &strides)) return false;
  if (name_dtype(dtype) != output.dtype || rank != output.rank) return false;
  if (type != like.device_type() || index != like.device_index()) return false;
  for (uint32_t dim = output.rank; dim-- > 0; step *= sizes[dim])
    if (sizes[dim] != output.shape[dim] || (sizes[dim] > 1 && strides[dim] != step)) return false;
  return true;
}

// Where an array begins and ends in memory; strides of torch are never negative.
struct Extent {
  uintptr_t first = 0, last = 0;
  bool meets(const Extent& other) const { return first < other.last && other.first < last; }
};

size_t count_bytes(uint32_t dtype) {
  switch (dtype) {
    case ROCKILN_DTYPE_I64: return 8;
    case ROCKILN_DTYPE_F32:
    case ROCKILN_DTYPE_I32: return 4;
    case ROCKILN_DTYPE_F16:
    case ROCKILN_DTYPE_BF16: return 2;
    default: return 1;
  }
}

Extent measure(Handle tensor, size_t size_bytes) {
  void* data = nullptr;
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
  torch.read_data(tensor, &data);
  torch.read_rank(tensor, &rank);
  torch.read_sizes(tensor, &sizes);
  torch.read_strides(tensor, &strides);
  int64_t elements = 1;
  for (int64_t dim = 0; dim < rank; ++dim) elements = sizes[dim] == 0 ? 0 : elements + (sizes[dim] - 1) * strides[dim];
  const auto first = reinterpret_cast<uintptr_t>(data);
  return {first, first + static_cast<uintptr_t>(elements < 0 ? 0 : elements) * size_bytes};
}

Extent measure(const rockiln_array& array) {
  int64_t elements = 1;
  for (uint32_t dim = 0; dim < array.rank; ++dim) {
    if (array.shape[dim] == 0) return {};
    elements += (array.shape[dim] - 1) * array.strides[dim];
  }
  const auto first = reinterpret_cast<uintptr_t>(array.data);
  return {first, first + static_cast<uintptr_t>(elements) * count_bytes(array.dtype)};
}

// An out-variant's outputs: of the planned layout, aligned, apart from the inputs and from each other.
bool take_outputs(const Arguments& arguments, const rockiln_plan_facts& facts, void** addresses) {
  Extent taken[kOutputLimit];
  for (uint32_t place = 0; place < facts.output_count; ++place) {
    const Handle tensor = arguments.output(place);
    if (!has_layout(tensor, facts.outputs[place], arguments) || torch.read_data(tensor, &addresses[place])) return false;
    if (reinterpret_cast<uintptr_t>(addresses[place]) % 256) return false;
    taken[place] = measure(tensor, count_bytes(facts.outputs[place].dtype));
    for (uint32_t other = 0; other < place; ++other)
      if (taken[place].meets(taken[other])) return false;
    for (uint32_t input = 0; input < arguments.call().input_count; ++input)
      if (arguments.call().inputs[input].dtype != ROCKILN_ABSENT &&
          taken[place].meets(measure(arguments.call().inputs[input])))
        return false;
  }
  return true;
}

bool make_outputs(const Arguments& arguments, const rockiln_plan_facts& facts, Tensors& outputs, void** addresses) {
  for (uint32_t place = 0; place < facts.output_count; ++place) {
    const rockiln_output& output = facts.outputs[place];
    if (!outputs.add_empty(output.rank, output.shape, find_dtype(output.dtype), arguments)) return false;
    if (torch.read_data(outputs.handles[place], &addresses[place])) return false;
  }
  return true;
}

// Returns the status of the run, or -1 where Python has to make the outputs.
int run_plan(const rockiln_dispatch_api& api, const Plan& plan, const Arguments& arguments, bool is_out, Tensors& outputs) {
  const rockiln_plan_facts& facts = plan.facts();
  void* addresses[kOutputLimit] = {};
  rockiln_plan_run run = {};
  if (facts.output_count > kOutputLimit || !read_stream(arguments, &run.stream)) return -1;
  if (is_out ? !take_outputs(arguments, facts, addresses) : !make_outputs(arguments, facts, outputs, addresses)) return -1;
  Tensors scratch;
  if (facts.workspace_bytes != 0) {
    const int64_t size = static_cast<int64_t>(facts.workspace_bytes);
    if (!scratch.add_empty(1, &size, find_dtype(ROCKILN_DTYPE_U8), arguments)) return -1;
    if (torch.read_data(scratch.handles[0], &run.workspace)) return -1;
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
  for (uint32_t place = 0; place < outputs.count; ++place) stack[place] = reinterpret_cast<StackValue>(outputs.handles[place]);
  outputs.count = 0;
}

}  // namespace rockiln_torch
