// A call of an op on a CPU → who computes its rows, and its outputs; or why no kernel does.
#pragma once

#include <variant>

#include "cpu_kernels.h"
#include "rockiln_dispatch.h"

namespace rockiln_torch {

constexpr uint32_t kCpuOutputs = 2;

struct CpuPlan {
  CpuKernel kernel = nullptr;
  std::variant<GateRows, NormRows, RopeRows, QuantRows, ChoiceRows> work;
  int64_t rows = 0;
  int64_t row_cost = 1;  // numbers read, for how many rows are worth a thread
  bool has_one_scale = false;  // quant_fp8_tensor: first the largest of all rows, in work's QuantRows
  CpuNumber number = kCpuF32;
  CpuCode code = kCpuE4m3;
  rockiln_output outputs[kCpuOutputs] = {};
  int64_t shapes[kCpuOutputs][ROCKILN_RANK_LIMIT];
  uint32_t output_count = 0;

  CpuPlan() = default;
  CpuPlan(const CpuPlan&) = delete;
  CpuPlan& operator=(const CpuPlan&) = delete;
};

// The leading dims of an array as one: how many rows, and elements between them.
struct FoldedRows {
  int64_t rows = 1, stride = 0;
  const char* misfit = nullptr;
};

// `own`: dims of a row, which must be contiguous.
FoldedRows fold_rows(const rockiln_array& array, uint32_t own);

// Whether there is a kernel for an op at all.
bool has_cpu_kernel(const char* op);

// What plan_on_cpu says where contiguous copies of the inputs would do.
extern const char* const kCpuLayout;

// nullptr, or why not: another dtype or layout, nothing to do, or no call of the op, which Python says better. Reads no
// data, so that it answers for a call that is only asked about.
const char* plan_on_cpu(const char* op, const rockiln_op_call& call, CpuPlan& plan);

// What only the data show; for a call that is to be run.
const char* find_data_misfit(const CpuPlan& plan, const rockiln_op_call& call);

}  // namespace rockiln_torch
