// Rows of an op in the host's memory → its outputs: what the kernels for CPUs take, and which of them this CPU runs.
//
// Each is compiled for three levels of x86-64 (its plain instructions, AVX2, AVX512), for other processors once, from
// one source in C++ of vectors (cpu_vector.h). All compute in f32 and round once, as the compositions of
// rockiln_torch.framework do, and pass the same golden files.
#pragma once

#include <cstdint>

namespace rockiln_torch {

enum CpuNumber { kCpuF32, kCpuF16, kCpuBf16, kCpuNumbers };
enum CpuGate { kCpuSilu, kCpuGelu, kCpuGeluTanh, kCpuGates };
enum CpuCode { kCpuE4m3, kCpuE5m2, kCpuE4m3fnuz, kCpuE5m2fnuz, kCpuCodes };

constexpr int64_t kCpuExperts = 1024;  // as the ops' own limits
constexpr int64_t kCpuChoices = 32;
constexpr int64_t kCpuGroups = 32;

// Strides are those between rows, in elements; within a row all is contiguous, and outputs are contiguous.
struct CpuRows {
  void* outputs[2] = {};
};

struct GateRows : CpuRows {  // y [M, width] of x [M, 2 width]; with `low`, of low - x
  const void *x, *low;
  int64_t stride, width;
  float limit, alpha, up_offset;
  bool interleaved;
};

struct NormRows : CpuRows {  // y, and with a residual x + residual; [M, width]
  const void *x, *residual, *weight;  // residual: null if there is none
  int64_t stride, residual_stride, width;
  float eps, weight_offset;
};

struct RopeRows : CpuRows {  // y [L, heads, width]
  const void* x;
  const float *cos, *sin;  // [P, pairs]
  const int32_t* positions;
  int64_t stride, heads, width, pairs;
  bool interleaved;
};

struct QuantRows : CpuRows {  // q [M, width] and q_scale [M, cdiv(width, group)]; q alone where `scale` is given
  const void* x;
  const float* scale;
  int64_t stride, width, group;
};

struct ChoiceRows : CpuRows {  // weights f32 and ids i32, [M, top]
  const void* logits;
  const float* bias;  // [experts] or null
  int64_t stride, experts, top, groups, keep;
  float scaling;
  bool renormalise;
};

// Rows from `begin` to before `end`. Different rows may be computed by different threads.
using CpuKernel = void (*)(const CpuRows& rows, int64_t begin, int64_t end);

struct CpuKernels {
  const char* level;
  CpuKernel gates[kCpuGates][kCpuNumbers];
  CpuKernel sum_gate;  // of silu, in bf16, of low - x
  CpuKernel norms[kCpuNumbers];
  CpuKernel ropes[kCpuNumbers];
  CpuKernel quants[kCpuNumbers][kCpuCodes];
  CpuKernel softmax_choices[kCpuNumbers];
  CpuKernel sigmoid_choices[kCpuNumbers];
  void (*activations[kCpuGates])(float* numbers, int64_t count);
  void (*negate)(uint16_t* halves, int64_t count);
  bool (*has_nan)(const uint16_t* halves, int64_t count, uint16_t infinity);
  bool (*is_finite)(const float* numbers, int64_t count);
  // The largest magnitude of QuantRows' rows, which are at least one; NaN if there is one.
  float (*find_largest[kCpuNumbers])(const QuantRows& rows, int64_t begin, int64_t end);
};

float find_code_scale(CpuCode code, float largest);  // the scale with which `largest` has the largest code of a format

// Whether this CPU has all instructions of a level, by name.
bool has_cpu_level(const char* level);

// Those of the best level that this CPU has.
const CpuKernels& get_cpu_kernels();

// Tests: those of a level by name, if this CPU has it; "" is the best again.
bool choose_cpu_level(const char* level);

}  // namespace rockiln_torch
