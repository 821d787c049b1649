// Sixteen f32 at a time, in GCC's vector types: bf16 widened and rounded, and the gates' curves. For the CPU's kernels.
#pragma once

#include <cstdint>
#include <cstring>

#pragma GCC diagnostic ignored "-Wpsabi"  // all of this is inlined: no call passes a vector

#if defined(__x86_64__)
#define ROCKILN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ROCKILN_CLONES
#endif
#define ROCKILN_INLINE inline __attribute__((always_inline))

namespace rockiln_tensorflow {

constexpr int LANES = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef std::uint32_t Words __attribute__((vector_size(64)));
typedef std::uint16_t Halves __attribute__((vector_size(32)));

// A bf16 is the upper half of an f32.
ROCKILN_INLINE Floats widen(const std::uint16_t* source) {
  Halves own;
  std::memcpy(&own, source, sizeof own);
  return reinterpret_cast<Floats>(__builtin_convertvector(own, Words) << 16);
}

// The first and second of sixteen pairs.
ROCKILN_INLINE void widen_pairs(const std::uint16_t* source, Floats& first, Floats& second) {
  Words own;
  std::memcpy(&own, source, sizeof own);
  first = reinterpret_cast<Floats>(own << 16);
  second = reinterpret_cast<Floats>(own & 0xFFFF0000u);
}

// To nearest even, in the lower half of each word; NaN stays NaN.
ROCKILN_INLINE Words round_bf16(Floats value) {
  const Words bits = reinterpret_cast<Words>(value);
  const Words rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return value != value ? (bits >> 16) | 0x40u : rounded;
}

ROCKILN_INLINE void narrow(Floats value, std::uint16_t* target) {
  const Halves own = __builtin_convertvector(round_bf16(value), Halves);
  std::memcpy(target, &own, sizeof own);
}

ROCKILN_INLINE void narrow_pairs(Floats first, Floats second, std::uint16_t* target) {
  const Words own = round_bf16(first) | (round_bf16(second) << 16);
  std::memcpy(target, &own, sizeof own);
}

// exp(x) of x <= 0 within 2e-7 of itself; 0 below -87, also of -inf; NaN of NaN. Cody and Waite's reduction by ln 2.
ROCKILN_INLINE Floats exp_negative(Floats x) {
  constexpr float MAGIC = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to a whole number
  const Floats shifted = x * 1.44269504f + MAGIC;
  const Floats count = shifted - MAGIC;
  const Floats r = (x - count * 0.693359375f) + count * 2.12194440e-4f;
  Floats sum = r * (1.0f / 720.0f) + (1.0f / 120.0f);
  sum = sum * r + (1.0f / 24.0f);
  sum = sum * r + (1.0f / 6.0f);
  sum = sum * r + 0.5f;
  sum = sum * (r * r) + r + 1.0f;
  const Floats power = reinterpret_cast<Floats>((reinterpret_cast<Words>(shifted) + 127u) << 23);
  return x < -87.0f ? Floats{} : sum * power;
}

// g * sigmoid(z). Below 0 by the root of exp(z), twice, so that no part leaves f32's range before the product does.
ROCKILN_INLINE Floats gate_sigmoid(Floats g, Floats z) {
  const Floats root = exp_negative(reinterpret_cast<Floats>(reinterpret_cast<Words>(z) | 0x80000000u) * 0.5f);
  return (z >= 0.0f ? g : g * root * root) / (1.0f + root * root);
}

// g / 2 * erfc(-g / sqrt 2): W. J. Press et al., Numerical Recipes, erfcc, within 1.2e-7 of itself.
ROCKILN_INLINE Floats gate_gelu(Floats g) {
  const Floats x = reinterpret_cast<Floats>(reinterpret_cast<Words>(g) & 0x7FFFFFFFu) * 0.70710678f;
  const Floats t = 1.0f / (1.0f + 0.5f * x);
  constexpr float TERMS[] = {-0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f,
                             -0.18628806f, 0.09678418f, 0.37409196f,  1.00002368f};
  Floats sum = t * 0.17087277f;
  for (const float term : TERMS) sum = (sum + term) * t;
  const Floats root = exp_negative((sum - 1.26551223f - 0.5f * g * g) * 0.5f);
  const Floats half = 0.5f * g;
  return g >= 0.0f ? g * (1.0f - 0.5f * t * root * root) : half * t * root * root;
}

}  // namespace rockiln_tensorflow
