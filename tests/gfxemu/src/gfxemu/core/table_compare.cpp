// Vector comparisons (CDNA3 ISA §12.10 "VOPC"): one bit a lane; an `n` name is true for NaN.
#include "tables.h"

namespace gfxemu {

#define FLOAT_COMPARES(SUFFIX, T)                                                                      \
  CMP(lt_##SUFFIX, T, a < b), CMP(eq_##SUFFIX, T, a == b), CMP(le_##SUFFIX, T, a <= b),                \
  CMP(gt_##SUFFIX, T, a > b), CMP(lg_##SUFFIX, T, a < b || a > b), CMP(ge_##SUFFIX, T, a >= b),        \
  CMP(o_##SUFFIX, T, a == a && b == b), CMP(u_##SUFFIX, T, a != a || b != b),                          \
  CMP(nge_##SUFFIX, T, !(a >= b)), CMP(nlg_##SUFFIX, T, !(a < b || a > b)), CMP(ngt_##SUFFIX, T, !(a > b)), \
  CMP(nle_##SUFFIX, T, !(a <= b)), CMP(neq_##SUFFIX, T, !(a == b)), CMP(nlt_##SUFFIX, T, !(a < b)),    \
  CMP(f_##SUFFIX, T, (void(a), void(b), false)), CMP(tru_##SUFFIX, T, (void(a), void(b), true))
#define INTEGER_COMPARES(SUFFIX, T)                                                                    \
  CMP(lt_##SUFFIX, T, a < b), CMP(eq_##SUFFIX, T, a == b), CMP(le_##SUFFIX, T, a <= b),                \
  CMP(gt_##SUFFIX, T, a > b), CMP(ne_##SUFFIX, T, a != b), CMP(ge_##SUFFIX, T, a >= b),                \
  CMP(f_##SUFFIX, T, (void(a), void(b), false)), CMP(t_##SUFFIX, T, (void(a), void(b), true))
#define CLASS(SUFFIX, T, BITS, MANTISSA)                                                               \
  {"v_cmp_class_" #SUFFIX, execute_compare, kValu, 4, type_codes<u32, T, u32>(),                       \
   (void*)+[](const Lanes& l) { loop2<u32, T, u32>(l, [](auto a, auto b) {                             \
     return u32(b >> classify(u64(a), BITS, MANTISSA) & 1); }); }, kAny, kNoFloat}

// V_CMP_CLASS's bit numbers: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, … 9 +inf.
static u32 classify(u64 bits, int width, int mantissa) {
  u64 fraction = bits & ((1ull << mantissa) - 1), top = (1ull << (width - 1 - mantissa)) - 1;
  u64 exponent = bits >> mantissa & top;
  bool negative = bits >> (width - 1) & 1;
  if (exponent == top && fraction) return fraction >> (mantissa - 1) & 1 ? 1 : 0;
  u32 rank = exponent == top ? 0 : exponent ? 1 : fraction ? 2 : 3;
  return negative ? 2 + rank : 9 - rank;
}

static const Entry kEntries[] = {
  FLOAT_COMPARES(f32, float), FLOAT_COMPARES(f16, half), FLOAT_COMPARES(f64, double),
  INTEGER_COMPARES(i32, i32), INTEGER_COMPARES(u32, u32), INTEGER_COMPARES(i16, i16), INTEGER_COMPARES(u16, u16),
  INTEGER_COMPARES(i64, i64), INTEGER_COMPARES(u64, u64),
  CLASS(f32, u32, 32, 23), CLASS(f16, u16, 16, 10), CLASS(f64, u64, 64, 52),
};

Table compare_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
