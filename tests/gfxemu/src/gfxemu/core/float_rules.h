// NaN and division rules of the float units (CDNA3 ISA §4.? "IEEE mode"; RDNA4 ISA "V_MINIMUM_F32").
#pragma once
#include <cmath>
#include <limits>
#include "lanes.h"

namespace gfxemu {

// minNum and maxNum of IEEE 754-2008: a number beats a NaN; -0 is less than +0.
template <class T> inline T minimum_number(T a, T b) {
  if (a != a) return b != b ? a + b : b;
  if (b != b) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T> inline T maximum_number(T a, T b) {
  if (a != a) return b != b ? a + b : b;
  if (b != b) return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
// minimum and maximum of IEEE 754-2019: NaN wins.
template <class T> inline T minimum(T a, T b) { return a != a || b != b ? a + b : minimum_number(a, b); }
template <class T> inline T maximum(T a, T b) { return a != a || b != b ? a + b : maximum_number(a, b); }

// V_MED3: "if any is NaN then the minimum of the three" (minNum), else the middle one.
template <class T> inline T median_number(T a, T b, T c) {
  if (a != a || b != b || c != c) return minimum_number(minimum_number(a, b), c);
  return maximum_number(minimum_number(a, b), minimum_number(maximum_number(a, b), c));
}

template <class T> inline T round_even(T a) {           // independent of MODE's round bits
  T whole = std::floor(a), rest = a - whole;
  if (!(rest == rest) || rest == 0) return a;
  T out = rest > T(0.5) || (rest == T(0.5) && std::fmod(whole, T(2)) != 0) ? whole + 1 : whole;
  return std::copysign(out, a);
}

template <class T> inline int exponent_field(T a) {
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
  Bits bits; std::memcpy(&bits, &a, sizeof a);
  return sizeof(T) == 8 ? int(bits >> (sizeof(T) * 8 - 12) & 0x7ff) : int(bits >> (sizeof(T) * 8 - 9) & 0xff);
}

// V_DIV_FIXUP: a = quotient so far, b = denominator, c = numerator (CDNA3 ISA §12.11, pseudocode of V_DIV_FIXUP_F32).
template <class T> inline T fix_division(T quotient, T denominator, T numerator) {
  bool negative = std::signbit(denominator) != std::signbit(numerator);
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  if (numerator != numerator) return numerator + numerator;
  if (denominator != denominator) return denominator + denominator;
  if (denominator == 0 && numerator == 0) return -nan;
  if (std::isinf(denominator) && std::isinf(numerator)) return -nan;
  if (denominator == 0 || std::isinf(numerator)) return negative ? -infinity : infinity;
  if (std::isinf(denominator) || numerator == 0) return negative ? -T(0) : T(0);
  constexpr int lowest = sizeof(T) == 8 ? -1075 : -150;
  if (exponent_field(numerator) - exponent_field(denominator) < lowest) return negative ? -T(0) : T(0);
  // The document's overflow test (exponent of S1 = 255) cannot be meant: quotients beyond the range are infinite.
  int top = 0, bottom = 0;
  (void)std::frexp(numerator, &top);
  (void)std::frexp(denominator, &bottom);
  if (top - bottom > std::numeric_limits<T>::max_exponent) return negative ? -infinity : infinity;
  return negative ? -std::fabs(quotient) : std::fabs(quotient);
}

}  // namespace gfxemu
