// Vector f32 arithmetic (CDNA3 ISA §12.8–12.11; RDNA3 ISA §16.7–16.12; IEEE 754). Transcendental functions are the
// correctly rounded values: within the documented 1 ulp; where the documents say "denormals are flushed" they are.
#include "float_rules.h"
#include "tables.h"

namespace gfxemu {

static float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
static float reduced(float turns, double (*f)(double)) {  // V_SIN/COS: input in turns, valid to 256 turns
  if (!std::isfinite(turns)) return std::numeric_limits<float>::quiet_NaN();
  return float(f(std::fmod(double(turns), 1.0) * 6.283185307179586476925286766559));
}
static float log2_flushed(float x) {
  x = flush(x);
  return x < 0 ? std::numeric_limits<float>::quiet_NaN() : flush(float(std::log2(double(x))));
}
static float ldexp_exact(float a, i32 b) { return std::ldexp(a, b > 400 ? 400 : b < -400 ? -400 : b); }
static float legacy_multiply(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }
static float fract(float a) { return std::isinf(a) ? std::numeric_limits<float>::quiet_NaN() : std::fmin(a - std::floor(a), 0x1.fffffep-1f); }
static float mantissa(float a) { int e; return std::isfinite(a) ? std::frexp(a, &e) : a; }
static i32 exponent(float a) { int e = 0; if (std::isfinite(a)) (void)std::frexp(a, &e); return e; }
static float square_root(float a) { return flush(std::sqrt(flush(a))); }
static float inverse_root(float a) { return flush(float(1.0 / std::sqrt(double(flush(a))))); }

static const Entry kEntries[] = {
  V2(v_add_f32, float, float, float, kAny, a + b), V2(v_sub_f32, float, float, float, kAny, a - b),
  V2(v_subrev_f32, float, float, float, kAny, b - a), V2(v_mul_f32, float, float, float, kAny, a * b),
  V2(v_mul_legacy_f32, float, float, float, kAny, legacy_multiply(a, b)),
  V2(v_min_f32, float, float, float, kAny, minimum_number(a, b)), V2(v_max_f32, float, float, float, kAny, maximum_number(a, b)),
  V2(v_minimum_f32, float, float, float, kAny, minimum(a, b)), V2(v_maximum_f32, float, float, float, kAny, maximum(a, b)),
  V2(v_ldexp_f32, float, float, i32, kAny, ldexp_exact(a, b)),
  V3(v_fma_f32, float, float, float, float, kAny, std::fma(a, b, c)), V3(v_mad_f32, float, float, float, float, kAny, a * b + c),
  V3(v_fma_legacy_f32, float, float, float, float, kAny, a == 0 || b == 0 ? c : std::fma(a, b, c)),
  V3(v_min3_f32, float, float, float, float, kAny, minimum_number(minimum_number(a, b), c)),
  V3(v_max3_f32, float, float, float, float, kAny, maximum_number(maximum_number(a, b), c)),
  V3(v_minimum3_f32, float, float, float, float, kAny, minimum(minimum(a, b), c)),
  V3(v_maximum3_f32, float, float, float, float, kAny, maximum(maximum(a, b), c)),
  V3(v_maxmin_f32, float, float, float, float, kAny, minimum_number(maximum_number(a, b), c)),
  V3(v_minmax_f32, float, float, float, float, kAny, maximum_number(minimum_number(a, b), c)),
  V3(v_maximumminimum_f32, float, float, float, float, kAny, minimum(maximum(a, b), c)),
  V3(v_minimummaximum_f32, float, float, float, float, kAny, maximum(minimum(a, b), c)),
  V3(v_med3_f32, float, float, float, float, kAny, median_number(a, b, c)),
  V3(v_div_fixup_f32, float, float, float, float, kAny, fix_division(a, b, c)),
  V1(v_exp_f32, float, float, kAny, flush(float(std::exp2(double(flush(a)))))), V1(v_log_f32, float, float, kAny, log2_flushed(a)),
  V1(v_rcp_f32, float, float, kAny, 1.0f / a), V1(v_rcp_iflag_f32, float, float, kAny, 1.0f / a),
  V1(v_rsq_f32, float, float, kAny, inverse_root(a)), V1(v_sqrt_f32, float, float, kAny, square_root(a)),
  V1(v_sin_f32, float, float, kAny, reduced(a, std::sin)), V1(v_cos_f32, float, float, kAny, reduced(a, std::cos)),
  V1(v_rndne_f32, float, float, kAny, round_even(a)), V1(v_floor_f32, float, float, kAny, std::floor(a)),
  V1(v_ceil_f32, float, float, kAny, std::ceil(a)), V1(v_trunc_f32, float, float, kAny, std::trunc(a)),
  V1(v_fract_f32, float, float, kAny, fract(a)), V1(v_frexp_mant_f32, float, float, kAny, mantissa(a)),
  V1(v_frexp_exp_i32_f32, i32, float, kAny, exponent(a)),
};

Table float_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
