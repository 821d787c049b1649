// Vector f16 and bf16 arithmetic (CDNA3 ISA §12.8–12.11): one rounding each, from float or double intermediates.
#include "float_rules.h"
#include "half.h"
#include "tables.h"

namespace gfxemu {

// f32 holds the exact sum, difference, product of two f16 closely enough: 24 >= 2 * 11 + 2 bits (Figueroa).
static double ldexp_half(float a, i16 b) { return std::ldexp(double(a), b); }
static float fract(float a) { return std::isinf(a) ? std::numeric_limits<float>::quiet_NaN() : std::fmin(a - std::floor(a), 0x1.ffcp-1f); }

static const Entry kEntries[] = {
  V2(v_add_f16, half, half, half, kAny, a + b), V2(v_sub_f16, half, half, half, kAny, a - b),
  V2(v_subrev_f16, half, half, half, kAny, b - a), V2(v_mul_f16, half, half, half, kAny, a * b),
  V2(v_min_f16, half, half, half, kAny, minimum_number(a, b)), V2(v_max_f16, half, half, half, kAny, maximum_number(a, b)),
  V2(v_minimum_f16, half, half, half, kAny, minimum(a, b)), V2(v_maximum_f16, half, half, half, kAny, maximum(a, b)),
  V2(v_ldexp_f16, half, half, i16, kAny, ldexp_half(a, b)),
  V3(v_fma_f16, half, half, half, half, kAny, fma_half(a, b, c)), V3(v_mad_f16, half, half, half, half, kAny, fma_half(a, b, c)),
  V3(v_min3_f16, half, half, half, half, kAny, minimum_number(minimum_number(a, b), c)),
  V3(v_max3_f16, half, half, half, half, kAny, maximum_number(maximum_number(a, b), c)),
  V3(v_minimum3_f16, half, half, half, half, kAny, minimum(minimum(a, b), c)),
  V3(v_maximum3_f16, half, half, half, half, kAny, maximum(maximum(a, b), c)),
  V3(v_maxmin_f16, half, half, half, half, kAny, minimum_number(maximum_number(a, b), c)),
  V3(v_minmax_f16, half, half, half, half, kAny, maximum_number(minimum_number(a, b), c)),
  V3(v_med3_f16, half, half, half, half, kAny, median_number(a, b, c)),
  V3(v_div_fixup_f16, half, half, half, half, kAny, fix_division(a, b, c)),
  V1(v_exp_f16, half, half, kAny, std::exp2(double(a))), V1(v_log_f16, half, half, kAny, std::log2(double(a))),
  V1(v_rcp_f16, half, half, kAny, 1.0 / double(a)), V1(v_rsq_f16, half, half, kAny, 1.0 / std::sqrt(double(a))),
  V1(v_sqrt_f16, half, half, kAny, std::sqrt(double(a))),
  V1(v_sin_f16, half, half, kAny, std::sin(std::fmod(double(a), 1.0) * 6.283185307179586)),
  V1(v_cos_f16, half, half, kAny, std::cos(std::fmod(double(a), 1.0) * 6.283185307179586)),
  V1(v_rndne_f16, half, half, kAny, round_even(a)), V1(v_floor_f16, half, half, kAny, std::floor(a)),
  V1(v_ceil_f16, half, half, kAny, std::ceil(a)), V1(v_trunc_f16, half, half, kAny, std::trunc(a)),
  V1(v_fract_f16, half, half, kAny, fract(a)),
};

Table half_table() { return {kEntries, int(std::size(kEntries))}; }

static double ldexp_double(double a, i32 b) { return std::ldexp(a, b > 4000 ? 4000 : b < -4000 ? -4000 : b); }
static double mantissa(double a) { int e; return std::isfinite(a) ? std::frexp(a, &e) : a; }
static i32 exponent(double a) { int e = 0; if (std::isfinite(a)) (void)std::frexp(a, &e); return e; }
static double fract64(double a) { return std::isinf(a) ? std::numeric_limits<double>::quiet_NaN() : std::fmin(a - std::floor(a), 0x1.fffffffffffffp-1); }

static const Entry kDoubles[] = {
  V2(v_add_f64, double, double, double, kAny, a + b), V2(v_mul_f64, double, double, double, kAny, a * b),
  V2(v_min_f64, double, double, double, kAny, minimum_number(a, b)), V2(v_max_f64, double, double, double, kAny, maximum_number(a, b)),
  V2(v_minimum_f64, double, double, double, kAny, minimum(a, b)), V2(v_maximum_f64, double, double, double, kAny, maximum(a, b)),
  V2(v_ldexp_f64, double, double, i32, kAny, ldexp_double(a, b)),
  V3(v_fma_f64, double, double, double, double, kAny, std::fma(a, b, c)),
  V3(v_div_fixup_f64, double, double, double, double, kAny, fix_division(a, b, c)),
  V1(v_rcp_f64, double, double, kAny, 1.0 / a), V1(v_rsq_f64, double, double, kAny, 1.0 / std::sqrt(a)),
  V1(v_sqrt_f64, double, double, kAny, std::sqrt(a)), V1(v_rndne_f64, double, double, kAny, round_even(a)),
  V1(v_floor_f64, double, double, kAny, std::floor(a)), V1(v_ceil_f64, double, double, kAny, std::ceil(a)),
  V1(v_trunc_f64, double, double, kAny, std::trunc(a)), V1(v_fract_f64, double, double, kAny, fract64(a)),
  V1(v_frexp_mant_f64, double, double, kAny, mantissa(a)), V1(v_frexp_exp_i32_f64, i32, double, kAny, exponent(a)),
};

Table double_table() { return {kDoubles, int(std::size(kDoubles))}; }

}  // namespace gfxemu
