// a b^T with an epilogue on a CPU, by oneDNN as torch has it, called without Python.
#pragma once

#include "arguments.h"
#include "cpu_call.h"

namespace rockiln_torch {

bool is_product(const char* op);

// nullptr, or why this path does not run a call. Reads no data.
const char* judge_product(const char* op, const rockiln_op_call& call);

// As run_on_cpu, of arguments that are described.
CpuRefusal run_product(const char* op, bool is_out, Arguments& arguments, StackValue* stack);

}  // namespace rockiln_torch
