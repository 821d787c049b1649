// The kernels of one level, as a table. Included once by each cpu_LEVEL.cc.
#pragma once

#include "cpu_choices.h"
#include "cpu_elements.h"
#include "cpu_gates.h"
#include "cpu_kernels.h"
#include "cpu_norms.h"
#include "cpu_quant.h"
#include "cpu_rope.h"

namespace rockiln_torch {
namespace {

#define ROCKILN_OF_NUMBERS(kernel) {kernel<F32>, kernel<F16>, kernel<Bf16>}
#define ROCKILN_GATE(gate) {gate_rows<F32, gate>, gate_rows<F16, gate>, gate_rows<Bf16, gate>}
#define ROCKILN_QUANT(Number) \
  {quant_rows<Number, kCpuE4m3>, quant_rows<Number, kCpuE5m2>, quant_rows<Number, kCpuE4m3fnuz>, \
   quant_rows<Number, kCpuE5m2fnuz>}

constexpr CpuKernels make_kernels(const char* level) {
  return {level,
          {ROCKILN_GATE(kCpuSilu), ROCKILN_GATE(kCpuGelu), ROCKILN_GATE(kCpuGeluTanh)},
          gate_rows<Bf16, kCpuSilu, SumRow>,
          ROCKILN_OF_NUMBERS(norm_rows),
          ROCKILN_OF_NUMBERS(rope_rows),
          {ROCKILN_QUANT(F32), ROCKILN_QUANT(F16), ROCKILN_QUANT(Bf16)},
          ROCKILN_OF_NUMBERS(choose_by_softmax),
          ROCKILN_OF_NUMBERS(choose_by_sigmoid),
          {activate_numbers<kCpuSilu>, activate_numbers<kCpuGelu>, activate_numbers<kCpuGeluTanh>},
          negate_halves,
          has_nan_half,
          is_finite,
          ROCKILN_OF_NUMBERS(find_largest_rows)};
}

}  // namespace
}  // namespace rockiln_torch
