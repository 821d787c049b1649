// f16 conversions: bits → float and back, in MODE's round mode (CDNA3 ISA §3.3 "MODE register"; IEEE 754 binary16).
#include "half.h"
#include <cfenv>

namespace gfxemu {

HalfMode g_half_mode;

float half_to_float(u16 bits) {
  u32 sign = u32(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  if (exponent == 31) return from_bits<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    float value = g_half_mode.flush ? 0.0f : float(mantissa) * 0x1p-24f;
    return from_bits<float>(sign | to_bits(value));
  }
  return from_bits<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

// A finite double, not negative, onto binary16: exact scaling, then one rounding in the wanted direction.
static u16 round_half(double magnitude, bool negative, int mode) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);                     // magnitude = m * 2^exponent, m in [0.5, 1)
  int quantum = std::max(exponent - 11, -24);
  double scaled = std::ldexp(magnitude, -quantum), whole = std::floor(scaled), rest = scaled - whole;
  bool up = mode == 0 ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)
          : mode == 1 ? rest > 0 && !negative : mode == 2 ? rest > 0 && negative : false;
  double rounded = std::ldexp(whole + (up ? 1 : 0), quantum);
  if (rounded >= 65536.0) {
    bool to_infinity = mode == 0 || (mode == 1 && !negative) || (mode == 2 && negative);
    return to_infinity ? 0x7c00 : 0x7bff;
  }
  if (rounded < 0x1p-14) return g_half_mode.flush ? 0 : u16(std::ldexp(rounded, 24));
  int result = 0;
  double fraction = std::frexp(rounded, &result);
  return u16((result + 14) << 10 | (u32(std::ldexp(fraction, 11)) & 0x3ff));
}

u16 double_to_half(double value) {
  u16 sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (value == 0) return sign;
  return sign | round_half(std::fabs(value), sign != 0, g_half_mode.round);
}

static u16 nearest_half(u32 bits) {                     // bits of a float without its sign; round to nearest even
  if (bits >= 0x47800000) return bits > 0x7f800000 ? u16(0x7e00 | (bits >> 13 & 0x1ff)) : 0x7c00;
  if (bits < 0x38800000) return u16(to_bits(from_bits<float>(bits) + 0.5f) - 0x3f000000);
  return u16((bits + 0xc8000fff + (bits >> 13 & 1)) >> 13);
}

u16 float_to_half(float value) {
  u32 bits = to_bits(value);
  u16 sign = u16(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (g_half_mode.round == 0 && !g_half_mode.flush) return sign | nearest_half(bits);
  if (bits > 0x7f800000) return u16(sign | 0x7e00 | (bits >> 13 & 0x1ff));
  return double_to_half(value);
}

// Sum whose lost bits are remembered in the last one, so that a second, shorter rounding is right (round to odd).
double add_to_odd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  double back = sum - a, error = (a - (sum - back)) + (b - back);
  u64 bits; std::memcpy(&bits, &sum, 8);
  if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : ~0ull;
  std::memcpy(&sum, &bits, 8);
  return sum;
}

}  // namespace gfxemu
