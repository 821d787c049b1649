#include "cpu_call.h"

#include <atomic>
#include <mutex>

#include "cpu_plan.h"
#include "cpu_product.h"
#include "outputs.h"
#include "threads.h"

namespace rockiln_torch {
namespace {

constexpr int64_t kGrain = 32768;  // numbers that are worth a thread; as torch's own GRAIN_SIZE

std::atomic<void (*)(uint32_t, const rockiln_op_call*)> told{nullptr};

template <typename Work>
void split_rows(const CpuPlan& plan, Work work) {
  split_range(plan.rows, (kGrain + plan.row_cost - 1) / plan.row_cost, work);
}

void run_rows(const CpuPlan& plan, const CpuRows& rows) {
  split_rows(plan, [&](int64_t begin, int64_t end) { plan.kernel(rows, begin, end); });
}

float find_scale(const CpuPlan& plan, const QuantRows& rows) {
  std::mutex lock;
  float largest = 0.0f;
  split_rows(plan, [&](int64_t begin, int64_t end) {
    const float own = get_cpu_kernels().find_largest[plan.number](rows, begin, end);
    const std::lock_guard<std::mutex> guard(lock);
    if (own > largest || own != own) largest = own;
  });
  return find_code_scale(plan.code, largest);
}

void run_plan(CpuPlan& plan, void* const* addresses) {
  CpuRows& rows = std::visit([](auto& work) -> CpuRows& { return work; }, plan.work);
  for (uint32_t place = 0; place < plan.output_count; ++place) rows.outputs[place] = addresses[place];
  if (!plan.has_one_scale) return run_rows(plan, rows);
  auto& quant = std::get<QuantRows>(plan.work);
  auto* scale = static_cast<float*>(addresses[1]);
  *scale = find_scale(plan, quant);
  quant.scale = scale;
  run_rows(plan, rows);
}

void tell_cpu(uint32_t row, const rockiln_op_call& call) {
  if (const auto tell = told.load(std::memory_order_relaxed)) tell(row, &call);
}

}  // namespace

void observe_cpu(void (*observer)(uint32_t, const rockiln_op_call*)) { told.store(observer); }

CpuRefusal run_on_cpu(uint32_t row, bool is_out, Arguments& arguments, StackValue* stack) {
  if (!arguments.describe(true)) return {"the CPU's kernels take no such dtypes or devices", false};
  const rockiln_op_call& call = arguments.call();
  if (is_product(kOps[row].name)) {
    const CpuRefusal refusal = run_product(kOps[row].name, is_out, arguments, stack);
    if (refusal.reason == nullptr) tell_cpu(row, call);
    return refusal;
  }
  CpuPlan plan;
  if (const char* misfit = plan_on_cpu(kOps[row].name, call, plan)) return {misfit, misfit == kCpuLayout};
  if (const char* misfit = find_data_misfit(plan, call)) return {misfit, false};
  void* addresses[kCpuOutputs] = {};
  Tensors outputs;
  const Planned planned = {plan.outputs, plan.output_count, 1};
  if (is_out ? !take_outputs(arguments, planned, addresses) : !make_outputs(arguments, planned, outputs, addresses))
    return {"the outputs cannot be written directly", is_out};
  tell_cpu(row, call);
  run_plan(plan, addresses);
  outputs.hand_over(stack);
  return {};
}

}  // namespace rockiln_torch
