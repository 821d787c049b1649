// Products in bf16 by AVX512_BF16: they stay in f32 until the epilogue is done, and are rounded once.
#pragma once

#include <cstdint>

#include "cpu_kernels.h"

namespace rockiln_torch {

enum CpuEpilogue {  // that of a gate is its number and 1
  kCpuPlain,
  kCpuSiluOf = kCpuSilu + 1,
  kCpuGeluOf = kCpuGelu + 1,
  kCpuGeluTanhOf = kCpuGeluTanh + 1,
  kCpuSwigluOf = kCpuGates + 1,
  kCpuEpilogues
};

struct Bf16Product {  // y [m, n] of a [m, k] and b [n, k]; with kCpuSwigluOf y [m, n / 2], of the halves of b, or in turn
  const uint16_t *a, *b, *bias;  // bias: [n] or null
  uint16_t* y;
  int64_t m, n, k, a_stride, b_stride;
  CpuEpilogue epilogue;
  bool interleaved;
};

// Whether this CPU has the instruction, and no matrix unit (AMX), of which oneDNN makes more.
bool has_bf16_product();

// False if there is no memory.
bool multiply_bf16(const Bf16Product& product);

}  // namespace rockiln_torch
