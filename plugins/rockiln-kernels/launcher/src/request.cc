// What the planner is asked -> rockiln_request.
#include "request.h"

#include "call_key.h"
#include "dispatcher.h"
#include "guard.h"

rockiln_request::rockiln_request(const rockiln_op_call& asked, rockiln_runtime& opened, const std::string& arch_name,
                                 std::uint64_t made_in)
    : call(asked), runtime(opened), arch(arch_name), generation(made_in) {
  call.input_count = rockiln::count_inputs(asked);
  strides_.reserve(call.input_count);
  for (std::uint32_t place = 0; place < call.input_count; ++place) {
    rockiln_array input = asked.inputs[place];
    alignments.push_back(rockiln::find_alignment(input.data));
    if (input.dtype != ROCKILN_ABSENT && !input.strides) {
      strides_.emplace_back(input.rank);
      rockiln::fill_strides(input.shape, input.rank, strides_.back().data());
      input.strides = strides_.back().data();
    }
    inputs.push_back(input);
  }
  call.inputs = inputs.data();
}

void rockiln_request::take(const rockiln_answer& answer) {
  rockiln::require(answer.struct_bytes >= sizeof answer, "answer: struct_bytes is too small for this ABI");
  auto made = std::make_unique<rockiln_plan>(call, answer, arch, generation);
  if (answer.provider == ROCKILN_BY_PACK) {
    rockiln::require(answer.launches || !answer.launch_count, "answer: launches is null");
    rockiln::require(answer.pack || !answer.launch_count, "answer: launches of no pack");
    if (answer.launch_count) made->add_launches(answer, rockiln::Dispatcher::get().open_pack(runtime, answer.pack));
  }
  plan = std::move(made);
  status = ROCKILN_OK;
}
