// The scalar ALU's op table. Types: u 32 bits, U 64 bits, c reads SCC (CDNA3 ISA §12.1–12.4; RDNA4 ISA for floats).
#include <algorithm>
#include <cmath>
#include "float_rules.h"
#include "scalar.h"
#include "tables.h"

namespace gfxemu {

static i32 s32(u64 a) { return i32(u32(a)); }
static float flt(u64 a) { return from_bits<float>(u32(a)); }
static i64 bfe_signed(u64 a, u64 offset, u64 width, int bits) {
  if (!width) return 0;
  u64 low = a >> offset;
  int shift = 64 - int(std::min<u64>(width, u64(bits)));
  return i64(low << shift) >> shift;
}
static u64 bfe(u64 a, u64 offset, u64 width) { return width >= 64 ? a >> offset : a >> offset & ((1ull << width) - 1); }
static u64 reverse(u64 a, int bits) {
  u64 out = 0;
  for (int i = 0; i < bits; i++) out |= (a >> i & 1) << (bits - 1 - i);
  return out;
}
static u64 whole_quads(u64 a) {
  u64 out = 0;
  for (int i = 0; i < 64; i += 4) if (a >> i & 15) out |= 15ull << i;
  return out;
}
template <class T> static u64 float_to(u64 bits) {
  float value = flt(bits);
  if (value != value) return 0;
  double whole = std::trunc(double(value));
  double low = double(std::numeric_limits<T>::min()), high = double(std::numeric_limits<T>::max());
  return u32(whole <= low ? std::numeric_limits<T>::min() : whole >= high ? std::numeric_limits<T>::max() : T(whole));
}
static u64 carry_out(Scalars& x, u64 sum) { x.scc = sum >> 32 & 1; return sum; }
static u64 overflow_out(Scalars& x, i64 sum) { x.scc = sum != i32(sum); return u64(sum); }
static u64 pick(Scalars& x, bool first) { x.scc = first; return first ? x.a : x.b; }
static u64 test(Scalars& x, bool truth) { x.scc = truth; return 0; }
static u64 save_exec(Scalars& x, u64 next) {
  Wave& w = *x.wave;
  u64 old = w.exec;
  if (scalar_shadow(w, x.op->src[0], w.lanes() == 64)) fail(FaultKind::uninitialized, "EXEC is set from undefined bits");
  w.exec = next & w.all();
  x.scc = w.exec != 0;
  return old;
}

#define SOP(NAME, TYPES, TAINT, SCC, EXPR)                                                          \
  {NAME, execute_scalar, kSalu, 1, TYPES, (void*)+[](Scalars& x) -> u64 {                           \
     [[maybe_unused]] u64 a = x.a, b = x.b; return u64(EXPR); }, TAINT, SCC}
#define BITWISE(NAME, TAINT, EXPR)                                                                  \
  SOP(NAME "_b32", "uuu", TAINT, kSccNonzero, u32(EXPR)), SOP(NAME "_b64", "UUU", TAINT, kSccNonzero, EXPR)
#define SAVEEXEC(NAME, EXPR)                                                                        \
  SOP("s_" NAME "_saveexec_b64", "UU", kAny, kSccRule, [&] { u64 e = x.wave->exec; (void)e; return save_exec(x, EXPR); }()), \
  SOP("s_" NAME "_saveexec_b32", "uu", kAny, kSccRule, [&] { u64 e = x.wave->exec; (void)e; return save_exec(x, EXPR); }())
#define COMPARES(NAME, OPERATOR)                                                                    \
  SOP("s_cmp_" NAME "_i32", "uuu", kAny, kSccRule, test(x, s32(a) OPERATOR s32(b))),                \
  SOP("s_cmp_" NAME "_u32", "uuu", kAny, kSccRule, test(x, u32(a) OPERATOR u32(b))),                \
  SOP("s_cmp_" NAME "_u64", "UUU", kAny, kSccRule, test(x, a OPERATOR b)),                          \
  SOP("s_cmp_" NAME "_f32", "uuu", kAny, kSccRule, test(x, flt(a) OPERATOR flt(b)))
#define NEGATED(NAME, OPERATOR) SOP("s_cmp_" NAME "_f32", "uuu", kAny, kSccRule, test(x, !(flt(a) OPERATOR flt(b))))
#define FLOAT2(NAME, EXPR) SOP(NAME, "uuu", kAny, kSccKeeps, to_bits(float(EXPR)))

static const Entry kEntries[] = {
  SOP("s_mov_b32", "uu", kUnion, kSccKeeps, a), SOP("s_mov_b64", "UU", kUnion, kSccKeeps, a),
  SOP("s_cmov_b32", "uuuc", kAny, kSccKeeps, x.scc_in ? a : b), SOP("s_cmov_b64", "UUUc", kAny, kSccKeeps, x.scc_in ? a : b),
  SOP("s_not_b32", "uu", kUnion, kSccNonzero, u32(~a)), SOP("s_not_b64", "UU", kUnion, kSccNonzero, ~a),
  BITWISE("s_and", kAnd, a & b), BITWISE("s_or", kOr, a | b), BITWISE("s_xor", kUnion, a ^ b),
  BITWISE("s_andn2", kUnion, a & ~b), BITWISE("s_orn2", kUnion, a | ~b), BITWISE("s_nand", kUnion, ~(a & b)),
  BITWISE("s_nor", kUnion, ~(a | b)), BITWISE("s_xnor", kUnion, ~(a ^ b)),
  SAVEEXEC("and", x.a & e), SAVEEXEC("or", x.a | e), SAVEEXEC("xor", x.a ^ e), SAVEEXEC("andn2", x.a & ~e), SAVEEXEC("orn2", x.a | ~e),
  SAVEEXEC("nand", ~(x.a & e)), SAVEEXEC("nor", ~(x.a | e)), SAVEEXEC("xnor", ~(x.a ^ e)), SAVEEXEC("andn1", ~x.a & e), SAVEEXEC("orn1", ~x.a | e),
  SOP("s_add_u32", "uuu", kAny, kSccRule, carry_out(x, a + b)), SOP("s_sub_u32", "uuu", kAny, kSccRule, carry_out(x, a - b)),
  SOP("s_addc_u32", "uuuc", kAny, kSccRule, carry_out(x, a + b + x.scc_in)), SOP("s_subb_u32", "uuuc", kAny, kSccRule, carry_out(x, a - b - x.scc_in)),
  SOP("s_add_i32", "uuu", kLeft, kSccRule, overflow_out(x, i64(s32(a)) + s32(b))), SOP("s_sub_i32", "uuu", kLeft, kSccRule, overflow_out(x, i64(s32(a)) - s32(b))),
  SOP("s_add_u64", "UUU", kLeft, kSccKeeps, a + b), SOP("s_sub_u64", "UUU", kLeft, kSccKeeps, a - b), SOP("s_mul_u64", "UUU", kLeft, kSccKeeps, a * b),
  SOP("s_mul_i32", "uuu", kLeft, kSccKeeps, u32(a) * u32(b)), SOP("s_mul_hi_u32", "uuu", kAny, kSccKeeps, a * b >> 32),
  SOP("s_mul_hi_i32", "uuu", kAny, kSccKeeps, u64(i64(s32(a)) * s32(b)) >> 32),
  SOP("s_min_i32", "uuu", kAny, kSccRule, pick(x, s32(a) < s32(b))), SOP("s_max_i32", "uuu", kAny, kSccRule, pick(x, s32(a) > s32(b))),
  SOP("s_min_u32", "uuu", kAny, kSccRule, pick(x, a < b)), SOP("s_max_u32", "uuu", kAny, kSccRule, pick(x, a > b)),
  SOP("s_cselect_b32", "uuuc", kSelect, kSccKeeps, x.scc_in ? a : b), SOP("s_cselect_b64", "UUUc", kSelect, kSccKeeps, x.scc_in ? a : b),
  SOP("s_lshl_b32", "uuu", kRerunA, kSccNonzero, u32(a << (b & 31))), SOP("s_lshl_b64", "UUu", kRerunA, kSccNonzero, a << (b & 63)),
  SOP("s_lshr_b32", "uuu", kRerunA, kSccNonzero, u32(a) >> (b & 31)), SOP("s_lshr_b64", "UUu", kRerunA, kSccNonzero, a >> (b & 63)),
  SOP("s_ashr_i32", "uuu", kRerunA, kSccNonzero, u32(s32(a) >> (b & 31))), SOP("s_ashr_i64", "UUu", kRerunA, kSccNonzero, u64(i64(a) >> (b & 63))),
  SOP("s_lshl1_add_u32", "uuu", kLeft, kSccRule, carry_out(x, (a << 1) + b)), SOP("s_lshl2_add_u32", "uuu", kLeft, kSccRule, carry_out(x, (a << 2) + b)),
  SOP("s_lshl3_add_u32", "uuu", kLeft, kSccRule, carry_out(x, (a << 3) + b)), SOP("s_lshl4_add_u32", "uuu", kLeft, kSccRule, carry_out(x, (a << 4) + b)),
  SOP("s_bfm_b32", "uuu", kAny, kSccKeeps, ((1u << (a & 31)) - 1) << (b & 31)), SOP("s_bfm_b64", "Uuu", kAny, kSccKeeps, ((1ull << (a & 63)) - 1) << (b & 63)),
  SOP("s_bfe_u32", "uuu", kRerunA, kSccNonzero, u32(bfe(u32(a), b & 31, b >> 16 & 127))), SOP("s_bfe_u64", "UUu", kRerunA, kSccNonzero, bfe(a, b & 63, b >> 16 & 127)),
  SOP("s_bfe_i32", "uuu", kRerunA, kSccNonzero, u32(bfe_signed(u64(i64(s32(a))), b & 31, b >> 16 & 127, 32))),
  SOP("s_bfe_i64", "UUu", kRerunA, kSccNonzero, u64(bfe_signed(a, b & 63, b >> 16 & 127, 64))),
  SOP("s_abs_i32", "uu", kAny, kSccNonzero, s32(a) < 0 ? 0u - u32(a) : u32(a)),
  SOP("s_sext_i32_i8", "uu", kAny, kSccKeeps, u32(i32(i8(a)))), SOP("s_sext_i32_i16", "uu", kAny, kSccKeeps, u32(i32(i16(a)))),
  SOP("s_absdiff_i32", "uuu", kAny, kSccNonzero, u32(std::llabs(i64(s32(a)) - s32(b)))),
  SOP("s_brev_b32", "uu", kRerunA, kSccKeeps, reverse(a, 32)), SOP("s_brev_b64", "UU", kRerunA, kSccKeeps, reverse(a, 64)),
  SOP("s_bcnt0_i32_b32", "uu", kAny, kSccNonzero, 32 - __builtin_popcount(u32(a))), SOP("s_bcnt0_i32_b64", "uU", kAny, kSccNonzero, 64 - __builtin_popcountll(a)),
  SOP("s_bcnt1_i32_b32", "uu", kAny, kSccNonzero, __builtin_popcount(u32(a))), SOP("s_bcnt1_i32_b64", "uU", kAny, kSccNonzero, __builtin_popcountll(a)),
  SOP("s_ff1_i32_b32", "uu", kAny, kSccKeeps, u32(a) ? __builtin_ctz(u32(a)) : ~0u), SOP("s_ff1_i32_b64", "uU", kAny, kSccKeeps, a ? __builtin_ctzll(a) : ~0u),
  SOP("s_flbit_i32_b32", "uu", kAny, kSccKeeps, u32(a) ? __builtin_clz(u32(a)) : ~0u), SOP("s_flbit_i32_b64", "uU", kAny, kSccKeeps, a ? __builtin_clzll(a) : ~0u),
  SOP("s_flbit_i32", "uu", kAny, kSccKeeps, u32(a) == 0 || u32(a) == ~0u ? ~0u : __builtin_clz(s32(a) < 0 ? ~u32(a) : u32(a))),
  SOP("s_bitset0_b32", "uuu", kAny, kSccKeeps, u32(b) & ~(1u << (a & 31))), SOP("s_bitset1_b32", "uuu", kAny, kSccKeeps, u32(b) | 1u << (a & 31)),
  SOP("s_wqm_b32", "uu", kAny, kSccNonzero, u32(whole_quads(u32(a)))), SOP("s_wqm_b64", "UU", kAny, kSccNonzero, whole_quads(a)),
  SOP("s_pack_ll_b32_b16", "uuu", kAny, kSccKeeps, (a & 0xffff) | b << 16), SOP("s_pack_lh_b32_b16", "uuu", kAny, kSccKeeps, (a & 0xffff) | (b & 0xffff0000)),
  SOP("s_pack_hh_b32_b16", "uuu", kAny, kSccKeeps, u32(a) >> 16 | (b & 0xffff0000)), SOP("s_pack_hl_b32_b16", "uuu", kAny, kSccKeeps, u32(a) >> 16 | b << 16),
  COMPARES("eq", ==), COMPARES("lg", !=), COMPARES("gt", >), COMPARES("ge", >=), COMPARES("lt", <), COMPARES("le", <=),
  NEGATED("neq", ==), NEGATED("ngt", >), NEGATED("nge", >=), NEGATED("nlt", <), NEGATED("nle", <=),
  SOP("s_cmp_o_f32", "uuu", kAny, kSccRule, test(x, flt(a) == flt(a) && flt(b) == flt(b))), SOP("s_cmp_u_f32", "uuu", kAny, kSccRule, test(x, flt(a) != flt(a) || flt(b) != flt(b))),
  SOP("s_bitcmp0_b32", "uuu", kAny, kSccRule, test(x, !(a >> (b & 31) & 1))), SOP("s_bitcmp1_b32", "uuu", kAny, kSccRule, test(x, a >> (b & 31) & 1)),
  SOP("s_bitcmp0_b64", "UUu", kAny, kSccRule, test(x, !(a >> (b & 63) & 1))), SOP("s_bitcmp1_b64", "UUu", kAny, kSccRule, test(x, a >> (b & 63) & 1)),
  FLOAT2("s_add_f32", flt(a) + flt(b)), FLOAT2("s_sub_f32", flt(a) - flt(b)), FLOAT2("s_mul_f32", flt(a) * flt(b)),
  FLOAT2("s_min_f32", minimum_number(flt(a), flt(b))), FLOAT2("s_max_f32", maximum_number(flt(a), flt(b))),
  FLOAT2("s_cvt_f32_i32", s32(a)), FLOAT2("s_cvt_f32_u32", u32(a)), FLOAT2("s_ceil_f32", std::ceil(flt(a))), FLOAT2("s_floor_f32", std::floor(flt(a))),
  FLOAT2("s_trunc_f32", std::trunc(flt(a))), FLOAT2("s_rndne_f32", round_even(flt(a))),
  SOP("s_fma_f32", "uuu", kAny, kSccKeeps, to_bits(std::fma(flt(a), flt(b), flt(scalar_value(*x.wave, x.op->src[2], false))))),
  FLOAT2("s_minimum_f32", minimum(flt(a), flt(b))), FLOAT2("s_maximum_f32", maximum(flt(a), flt(b))),
  SOP("s_cvt_i32_f32", "uu", kAny, kSccKeeps, float_to<i32>(a)), SOP("s_cvt_u32_f32", "uu", kAny, kSccKeeps, float_to<u32>(a)),
};

Table scalar_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
