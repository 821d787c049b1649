// An answer of the planner -> rockiln_plan.
#include "plan.h"

#include <algorithm>

#include "call_key.h"
#include "guard.h"
#include "launch.h"

using rockiln::fail;
using rockiln::require;

namespace {

bool is_empty(const std::int64_t* shape, std::uint32_t rank) {
  return std::find(shape, shape + rank, 0) != shape + rank;
}

std::string copy_text(const char* text) { return text ? text : ""; }

}  // namespace

rockiln_plan::rockiln_plan(const rockiln_op_call& call, const rockiln_answer& answer, const std::string& arch_name,
                           std::uint64_t made_in)
    : generation(made_in), op_(rockiln_op_name(call.op)), arch_(arch_name), kernel_(copy_text(answer.kernel)),
      reason_(copy_text(answer.reason)), rejected_(copy_text(answer.rejected)), call_(copy_text(answer.call)) {
  require(answer.provider >= ROCKILN_BY_PACK && answer.provider <= ROCKILN_BY_FRAMEWORK, "answer: unknown provider");
  require(answer.outputs || !answer.output_count, "answer: outputs is null");
  require(answer.output_count <= ROCKILN_INPUT_LIMIT, "answer: more outputs than ROCKILN_INPUT_LIMIT");
  for (std::uint32_t place = 0; place < rockiln::count_inputs(call); ++place) {
    const rockiln_array& input = call.inputs[place];
    filled_inputs_.push_back(input.dtype != ROCKILN_ABSENT && !is_empty(input.shape, input.rank));
  }
  add_outputs(answer);
  facts.struct_bytes = sizeof facts;
  facts.provider = answer.provider;
  facts.op = op_.c_str();
  facts.arch = arch_.c_str();
  facts.kernel = kernel_.c_str();
  facts.reason = reason_.c_str();
  facts.rejected = rejected_.c_str();
  facts.call = call_.c_str();
  facts.outputs = output_facts_.data();
  facts.output_count = answer.output_count;
  facts.workspace_bytes = answer.workspace_bytes;
  facts.device = call.device;
}

void rockiln_plan::add_outputs(const rockiln_answer& answer) {
  outputs_.reserve(answer.output_count);  // the facts point into it
  for (std::uint32_t place = 0; place < answer.output_count; ++place) {
    const rockiln_output& output = answer.outputs[place];
    require(output.rank <= ROCKILN_RANK_LIMIT && (output.shape || !output.rank), "answer: the shape of an output");
    outputs_.push_back({copy_text(output.name), {output.shape, output.shape + output.rank},
                        is_empty(output.shape, output.rank)});
    const rockiln::PlannedOutput& kept = outputs_.back();
    output_facts_.push_back({kept.name.c_str(), kept.shape.data(), output.rank, output.dtype});
  }
}

void rockiln_plan::add_launches(const rockiln_answer& answer, const rockiln_pack& pack) {
  for (std::uint32_t place = 0; place < answer.launch_count; ++place) add_launch(answer.launches[place], pack);
  facts.launch_count = answer.launch_count;
}

void rockiln_plan::add_launch(const rockiln_planned_launch& launch, const rockiln_pack& pack) {
  const rockiln_kernel* kernel = nullptr;
  if (const rockiln_status status = rockiln_find_kernel(&pack, launch.key, &kernel)) fail(status, rockiln_last_error());
  require(launch.value_count == kernel->value_count && launch.value_count <= rockiln::kValueLimit,
          "answer: another number of values than the kernel takes");
  rockiln::PlannedLaunch planned{kernel, {launch.grid[0], launch.grid[1], launch.grid[2]}, {}, {}};
  for (std::uint32_t place = 0; place < launch.value_count; ++place) {
    rockiln_planned_value value = launch.values[place];
    const bool is_known = value.source == ROCKILN_CONSTANT ||
                          (value.source == ROCKILN_INPUT && value.place < filled_inputs_.size()) ||
                          (value.source == ROCKILN_OUTPUT && value.place < outputs_.size()) ||
                          (value.source == ROCKILN_WORKSPACE && value.place <= facts.workspace_bytes);
    require(is_known && (value.source == ROCKILN_CONSTANT || value.value.kind == ROCKILN_POINTER),
            "answer: a value that names nothing");
    planned.values.push_back(value.value);
    value.reserved = place;
    if (value.source != ROCKILN_CONSTANT) planned.addresses.push_back(value);
  }
  launches_.push_back(std::move(planned));
}

void rockiln_plan::run(const rockiln_plan_run& run) const {
  if (facts.provider != ROCKILN_BY_PACK)
    fail(ROCKILN_BAD_ARGUMENT, op_ + ": the plan is not the pack's to run: " + reason_);
  check_addresses(run);
  load_kernels(run.stream);
  for (const rockiln::PlannedLaunch& planned : launches_) launch(planned, run);
}

void rockiln_plan::check_addresses(const rockiln_plan_run& run) const {
  if (run.input_count < filled_inputs_.size() || run.output_count < outputs_.size())
    fail(ROCKILN_BAD_ARGUMENT, op_ + " [" + call_ + "]: " + std::to_string(run.input_count) + " inputs and " +
                                   std::to_string(run.output_count) + " outputs, not " +
                                   std::to_string(filled_inputs_.size()) + " and " + std::to_string(outputs_.size()));
  require((run.inputs || filled_inputs_.empty()) && (run.outputs || outputs_.empty()),
          "rockiln_run_plan: inputs or outputs is null");
  for (std::size_t place = 0; place < filled_inputs_.size(); ++place)
    if (filled_inputs_[place] && !run.inputs[place])
      fail(ROCKILN_BAD_ARGUMENT, op_ + " [" + call_ + "]: input " + std::to_string(place) + " has no address");
  for (std::size_t place = 0; place < outputs_.size(); ++place)
    if (!outputs_[place].is_empty && !run.outputs[place])
      fail(ROCKILN_BAD_ARGUMENT, op_ + " [" + call_ + "]: output " + outputs_[place].name + " has no address");
  if (facts.workspace_bytes && !run.workspace)
    fail(ROCKILN_BAD_ARGUMENT, op_ + " [" + call_ + "]: there is no workspace");
}

// All before the first launch, so that a capture gets all of a plan or nothing.
void rockiln_plan::load_kernels(void* stream) const {
  const bool is_loaded = std::all_of(launches_.begin(), launches_.end(), [&](const auto& planned) {
    return planned.kernel->find_function(facts.device) != nullptr;
  });
  if (is_loaded) return;
  rockiln::Driver& driver = *launches_.front().kernel->pack->runtime.driver;
  const rockiln::DeviceScope scope(driver, facts.device);
  if (driver.is_capturing(stream))
    fail(ROCKILN_CAPTURING, op_ + " [" + call_ + "]: a kernel is not loaded and the stream captures: call it once, or "
                                                 "rockiln_preload_plan, before the capture");
  preload();
}

void rockiln_plan::preload() const {
  for (const rockiln::PlannedLaunch& planned : launches_) rockiln::preload_kernel(*planned.kernel, facts.device);
}

void rockiln_plan::launch(const rockiln::PlannedLaunch& planned, const rockiln_plan_run& run) const {
  std::array<rockiln_value, rockiln::kValueLimit> values;
  std::copy(planned.values.begin(), planned.values.end(), values.begin());
  for (const rockiln_planned_value& address : planned.addresses) {
    const void* base = address.source == ROCKILN_INPUT    ? run.inputs[address.place]
                       : address.source == ROCKILN_OUTPUT ? run.outputs[address.place]
                                                          : run.workspace;
    const std::uint64_t offset = address.source == ROCKILN_WORKSPACE ? address.place : 0;
    values[address.reserved].as.address = reinterpret_cast<std::uintptr_t>(base) + offset;
  }
  rockiln_call call{};
  call.struct_bytes = sizeof call;
  call.device = facts.device;
  call.kernel = planned.kernel;
  call.stream = run.stream;
  std::copy(planned.grid.begin(), planned.grid.end(), call.grid);
  call.value_count = static_cast<std::uint32_t>(planned.values.size());
  call.values = values.data();
  call.op = op_.c_str();
  call.shapes = call_.c_str();
  rockiln::launch_call(call);
}
