// A call of an op on tensors in the host's memory → run by a kernel for CPUs.
#pragma once

#include "arguments.h"

namespace rockiln_torch {

struct CpuRefusal {
  const char* reason = nullptr;  // nullptr: a kernel ran the call, and the outputs are on the stack
  bool is_layout = false;        // contiguous copies would do
};

// Nothing was touched if it is refused.
CpuRefusal run_on_cpu(uint32_t row, bool is_out, Arguments& arguments, StackValue* stack);

// Called with every call that a kernel is about to run, in its thread. NULL ends it.
void observe_cpu(void (*observer)(uint32_t op, const rockiln_op_call* call));

}  // namespace rockiln_torch
