// exp, the logistic function and the normal distribution of vectors of f32, within a few units of the last place.
#pragma once

#include "cpu_kernels.h"
#include "cpu_vector.h"

namespace rockiln_torch {
namespace {

// As long as it lives, results too small for normal numbers are 0. Some CPUs take a hundred times as long to make
// subnormal ones, of which far negative gates have many.
class FlushScope {
 public:
#if defined(__x86_64__)
  FlushScope() {
    asm volatile("stmxcsr %0" : "=m"(before_)::"memory");
    const uint32_t own = before_ | 0x8000;
    asm volatile("ldmxcsr %0" ::"m"(own) : "memory");
  }
  ~FlushScope() { asm volatile("ldmxcsr %0" ::"m"(before_) : "memory"); }

 private:
  uint32_t before_;
#else
  FlushScope() {}
#endif
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;
};

// exp in two factors: a number near 1 and a power of 2.
struct Exponential {
  Floats near_one;
#if ROCKILN_LANES == 16
  Floats power;
#else
  Ints power;
#endif

  // exp * y, which has a value where exp alone is too small for one. Results beyond f32's normal numbers are rounded,
  // and not wrong; within a FlushScope they are 0.
  ROCKILN_INLINE Floats multiply(Floats y) const {
#if ROCKILN_LANES == 16
    const Floats product = near_one * y;
    return reinterpret_cast<Floats>(
        _mm512_maskz_scalef_ps(0xffff, reinterpret_cast<__m512>(product), reinterpret_cast<__m512>(power)));
#else
    const Ints half = power >> 1;
    const Floats first = reinterpret_cast<Floats>((half + 127) << 23);
    const Floats second = reinterpret_cast<Floats>((power - half + 127) << 23);
    return near_one * y * first * second;
#endif
  }
};

// exp(x + rest); rest is small. 2^n exp(r) with |r| <= ln(2) / 2, exp(r) by Cephes' polynomial (Moshier, expf).
ROCKILN_INLINE Exponential split_exponential(Floats x, Floats rest) {
  x = cut_below(cut_above(x, splat(100.0f)), splat(-150.0f));
  const Floats shifter = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number in the low bits
  const Floats shifted = x * 1.44269504088896341f + shifter;
  const Floats whole = shifted - shifter;
  const Floats r = ((x - whole * 0.693359375f) - whole * -2.12194440e-4f) + rest;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
#if ROCKILN_LANES == 16
  return {p, whole};
#else
  return {p, reinterpret_cast<Ints>(shifted) - 0x4b400000};
#endif
}

ROCKILN_INLINE Floats exponentiate(Floats x) { return split_exponential(x, Floats{}).multiply(splat(1.0f)); }

ROCKILN_INLINE Floats logistic(Floats x) { return 1.0f / (1.0f + exponentiate(-x)); }

// The normal distribution at -a of a >= 0: exp(-a^2 / 2) times a polynomial in t = 1 / (1 + 0.35 a), fitted for the
// least relative error, 4e-8, on 0 to 16, behind which f32 has only 0. a^2 is taken in two parts, the first one exact.
ROCKILN_INLINE Exponential split_tail(Floats a) {
  a = cut_above(a, splat(16.0f));
  const Floats t = 1.0f / (1.0f + 0.35f * a);
  Floats p = t * -0.029164927080273628f + 0.1440657675266266f;
  p = p * t - 0.25591233372688293f;
  p = p * t + 0.15940514206886292f;
  p = p * t - 0.02327246218919754f;
  p = p * t + 0.10557854920625687f;
  p = p * t + 0.11981452256441116f;
  p = p * t + 0.1398644745349884f;
  p = p * t + 0.13962124288082123f;
  const Floats high = as_floats(as_words(a) & 0xfffff000u);
  const Floats rest = (a - high) * (a + high) * -0.5f;
  Exponential result = split_exponential(high * high * -0.5f, rest);
  result.near_one *= p * t;
  return result;
}

// exp(e) y; NaN of infinite y, of which no exponential is 0.
ROCKILN_INLINE Floats multiply_finite(const Exponential& e, Floats y) { return e.multiply(y) - (y - y); }

// x times the normal distribution at x. Near 0 from above it is 1 - tail, which loses nothing there.
ROCKILN_INLINE Floats gate_gelu(Floats x) {
  const Exponential tail = split_tail(magnitude(x));
  return x > 0.0f ? x * (1.0f - tail.multiply(splat(1.0f))) : multiply_finite(tail, x);
}

// x / (1 + exp(-t)); t has the sign of x. The exponential is of -|t|, which does not overflow where the result is a number.
ROCKILN_INLINE Floats multiply_logistic(Floats x, Floats t) {
  Exponential part = split_exponential(as_floats(as_words(t) | 0x80000000u), Floats{});
  const Floats sum = 1.0f + part.multiply(splat(1.0f));
  part.power += 1;
  return (t < 0.0f ? multiply_finite(part, x * 0.5f) : x) / sum;  // half: near_one x of the largest x is too large
}

ROCKILN_INLINE Floats gate_silu(Floats x, float alpha) { return multiply_logistic(x, x * alpha); }

ROCKILN_INLINE Floats gate_gelu_tanh(Floats x) {
  return multiply_logistic(x, (x + 0.044715f * x * x * x) * 1.5957691216057308f);  // 2 sqrt(2 / pi)
}

template <CpuGate Gate>
ROCKILN_INLINE Floats activate(Floats x, float alpha = 1.0f) {
  if constexpr (Gate == kCpuSilu) return gate_silu(x, alpha);
  else if constexpr (Gate == kCpuGelu) return gate_gelu(x);
  else return gate_gelu_tanh(x);
}

}  // namespace
}  // namespace rockiln_torch
