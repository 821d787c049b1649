// a b^T with an epilogue on a CPU, by torch's oneDNN or BLAS, called without Python.
#pragma once

#include "arguments.h"
#include "cpu_call.h"

namespace rockiln_torch {

// Whether torch's BLAS multiplies f32 [m, k] and [n, k] sooner than oneDNN does. On Intel's CPUs that is MKL, which is
// the faster one of few rows, of many, and by small matrices; others run its slow paths.
bool prefers_blas(int64_t m, int64_t n, int64_t k);

bool is_product(const char* op);

// nullptr, or why this path does not run a call. Reads no data.
const char* judge_product(const char* op, const rockiln_op_call& call);

// As run_on_cpu, of arguments that are described.
CpuRefusal run_product(const char* op, bool is_out, Arguments& arguments, StackValue* stack);

}  // namespace rockiln_torch
