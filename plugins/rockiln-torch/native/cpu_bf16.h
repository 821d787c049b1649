// Products in bf16 by AVX512_BF16 or AMX: they stay in f32 until the epilogue is done, and are rounded once.
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

struct Bf16Block {  // rows of a, packed
  const Bf16Product& product;
  const uint32_t* a;
  int64_t row, rows;
  bool has_failed;
};

// Multiplies panels of b from `begin` to before `end` with a Bf16Block.
using Bf16Worker = void (*)(int64_t begin, int64_t end, void* block);
#define ROCKILN_EPILOGUES(worker) \
  {worker<kCpuPlain>, worker<kCpuSiluOf>, worker<kCpuGeluOf>, worker<kCpuGeluTanhOf>, worker<kCpuSwigluOf>}

// Whether this CPU has AVX512_BF16.
bool has_bf16_product();

// Whether it has AMX for bf16, too, and this process may use it.
bool has_tiles();
extern const Bf16Worker kTileWorkers[kCpuEpilogues];

// False if there is no memory.
bool multiply_bf16(const Bf16Product& product);

}  // namespace rockiln_torch
