// Vector integer and bit instructions (CDNA3 ISA §12.9 "VOP1", §12.8 "VOP2", §12.11 "VOP3"; RDNA3 ISA §16.7–16.12).
#include <algorithm>
#include <cstdlib>
#include "tables.h"

namespace gfxemu {

static u32 perm_byte(u64 data, u32 select) {            // V_PERM_B32's byte selector
  if (select >= 13) return 0xff;
  if (select == 12) return 0;
  if (select >= 8) return (data >> ((select - 8) * 16 + 15) & 1) ? 0xff : 0;
  return u32(data >> (select * 8) & 0xff);
}
static u32 permute_bytes(u32 a, u32 b, u32 select) {
  u64 data = u64(a) << 32 | b;
  u32 out = 0;
  for (int i = 0; i < 4; i++) out |= perm_byte(data, select >> (8 * i) & 0xff) << (8 * i);
  return out;
}
static u32 reverse_bits(u32 a) {
  u32 out = 0;
  for (int i = 0; i < 32; i++) out |= (a >> i & 1) << (31 - i);
  return out;
}
template <class T> T median(T a, T b, T c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }
template <class T, class Wide> T saturate(Wide value) {
  constexpr Wide low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return T(value < low ? low : value > high ? high : value);
}
static u32 extract(u32 a, u32 offset, u32 width) {
  width &= 31;
  return a >> (offset & 31) & ((1u << width) - 1);
}
static u32 extract_signed(u32 a, u32 offset, u32 width) {
  width &= 31;
  if (!width) return 0;
  u32 sign = 1u << (width - 1), value = extract(a, offset, width);
  return (value ^ sign) - sign;
}
static i32 sign24(i32 a) { return i32(u32(a) << 8) >> 8; }
static u32 sad_u8(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) c += u32(std::abs(int(a >> i & 255) - int(b >> i & 255)));
  return c;
}

static const Entry kEntries[] = {
  V1(v_mov_b32, u32, u32, kUnion, a), V1(v_mov_b64, u64, u64, kUnion, a), V1(v_mov_b16, u16, u16, kUnion, a),
  V1(v_not_b32, u32, u32, kUnion, ~a), V1(v_not_b16, u16, u16, kUnion, u16(~a)),
  V1(v_bfrev_b32, u32, u32, kRerunA, reverse_bits(a)),
  V1(v_ffbh_u32, u32, u32, kAny, a ? u32(__builtin_clz(a)) : ~0u),
  V1(v_ffbl_b32, u32, u32, kAny, a ? u32(__builtin_ctz(a)) : ~0u),
  V1(v_ffbh_i32, u32, u32, kAny, a == 0 || a == ~0u ? ~0u : u32(__builtin_clz(i32(a) < 0 ? ~a : a))),
  V2(v_and_b32, u32, u32, u32, kAnd, a & b), V2(v_or_b32, u32, u32, u32, kOr, a | b),
  V2(v_xor_b32, u32, u32, u32, kUnion, a ^ b), V2(v_xnor_b32, u32, u32, u32, kUnion, ~(a ^ b)),
  V2(v_and_b16, u16, u16, u16, kAnd, u16(a & b)), V2(v_or_b16, u16, u16, u16, kOr, u16(a | b)),
  V2(v_xor_b16, u16, u16, u16, kUnion, u16(a ^ b)),
  V2(v_add_u32, u32, u32, u32, kLeft, a + b), V2(v_sub_u32, u32, u32, u32, kLeft, a - b),
  V2(v_subrev_u32, u32, u32, u32, kLeft, b - a),
  V2(v_add_u32_sat, u32, u32, u32, kAny, (saturate<u32, i64>(i64(a) + b))),
  V2(v_sub_u32_sat, u32, u32, u32, kAny, (saturate<u32, i64>(i64(a) - b))),
  V2(v_subrev_u32_sat, u32, u32, u32, kAny, (saturate<u32, i64>(i64(b) - a))),
  V2(v_add_i32, u32, u32, u32, kLeft, a + b), V2(v_sub_i32, u32, u32, u32, kLeft, a - b),
  V2(v_add_i32_sat, i32, i32, i32, kAny, (saturate<i32, i64>(i64(a) + b))),
  V2(v_sub_i32_sat, i32, i32, i32, kAny, (saturate<i32, i64>(i64(a) - b))),
  V2(v_add_u64, u64, u64, u64, kLeft, a + b),
  V2(v_lshlrev_b32, u32, u32, u32, kRerunB, b << (a & 31)), V2(v_lshrrev_b32, u32, u32, u32, kRerunB, b >> (a & 31)),
  V2(v_ashrrev_i32, i32, u32, i32, kRerunB, b >> (a & 31)),
  V2(v_lshlrev_b64, u64, u32, u64, kRerunB, b << (a & 63)), V2(v_lshrrev_b64, u64, u32, u64, kRerunB, b >> (a & 63)),
  V2(v_ashrrev_i64, i64, u32, i64, kRerunB, b >> (a & 63)),
  V2(v_lshlrev_b16, u16, u16, u16, kRerunB, u16(b << (a & 15))),
  V2(v_lshrrev_b16, u16, u16, u16, kRerunB, u16(b >> (a & 15))),
  V2(v_ashrrev_i16, i16, u16, i16, kRerunB, i16(b >> (a & 15))),
  V2(v_mul_lo_u32, u32, u32, u32, kLeft, a * b), V2(v_mul_hi_u32, u32, u32, u32, kAny, u32(u64(a) * b >> 32)),
  V2(v_mul_hi_i32, u32, i32, i32, kAny, u32(u64(i64(a) * b) >> 32)),
  V2(v_mul_u32_u24, u32, u32, u32, kLeft, (a & 0xffffff) * (b & 0xffffff)),
  V2(v_mul_hi_u32_u24, u32, u32, u32, kAny, u32(u64(a & 0xffffff) * (b & 0xffffff) >> 32)),
  V2(v_mul_i32_i24, u32, i32, i32, kLeft, u32(sign24(a)) * u32(sign24(b))),
  V2(v_mul_hi_i32_i24, u32, i32, i32, kAny, u32(u64(i64(sign24(a)) * sign24(b)) >> 32)),
  V2(v_min_i32, i32, i32, i32, kAny, std::min(a, b)), V2(v_max_i32, i32, i32, i32, kAny, std::max(a, b)),
  V2(v_min_u32, u32, u32, u32, kAny, std::min(a, b)), V2(v_max_u32, u32, u32, u32, kAny, std::max(a, b)),
  V2(v_min_i16, i16, i16, i16, kAny, std::min(a, b)), V2(v_max_i16, i16, i16, i16, kAny, std::max(a, b)),
  V2(v_min_u16, u16, u16, u16, kAny, std::min(a, b)), V2(v_max_u16, u16, u16, u16, kAny, std::max(a, b)),
  V2(v_add_u16, u16, u16, u16, kLeft, u16(a + b)), V2(v_sub_u16, u16, u16, u16, kLeft, u16(a - b)),
  V2(v_subrev_u16, u16, u16, u16, kLeft, u16(b - a)), V2(v_mul_lo_u16, u16, u16, u16, kLeft, u16(u32(a) * b)),
  V2(v_add_u16_sat, u16, u16, u16, kAny, (saturate<u16, i32>(i32(a) + b))),
  V2(v_sub_u16_sat, u16, u16, u16, kAny, (saturate<u16, i32>(i32(a) - b))),
  V2(v_add_i16, i16, i16, i16, kLeft, i16(a + b)), V2(v_sub_i16, i16, i16, i16, kLeft, i16(a - b)),
  V2(v_add_i16_sat, i16, i16, i16, kAny, (saturate<i16, i32>(a + b))),
  V2(v_sub_i16_sat, i16, i16, i16, kAny, (saturate<i16, i32>(a - b))),
  V2(v_bfm_b32, u32, u32, u32, kAny, ((1u << (a & 31)) - 1) << (b & 31)),
  V2(v_bcnt_u32_b32, u32, u32, u32, kAny, u32(__builtin_popcount(a)) + b),
  V2(v_pack_b32_f16, u32, u16, u16, kShiftOr, u32(a) | u32(b) << 16),
  V2(v_cvt_pk_u16_u32, u32, u32, u32, kAny, std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16),
  V2(v_cvt_pk_i16_i32, u32, i32, i32, kAny,
     u32(u16(saturate<i16, i32>(a))) | u32(u16(saturate<i16, i32>(b))) << 16),
  V3(v_add3_u32, u32, u32, u32, u32, kLeft, a + b + c), V3(v_lshl_add_u32, u32, u32, u32, u32, kLeft, (a << (b & 31)) + c),
  V3(v_add_lshl_u32, u32, u32, u32, u32, kLeft, (a + b) << (c & 31)), V3(v_xad_u32, u32, u32, u32, u32, kLeft, (a ^ b) + c),
  V3(v_lshl_or_b32, u32, u32, u32, u32, kShiftOr, a << (b & 31) | c), V3(v_and_or_b32, u32, u32, u32, u32, kAndOr, (a & b) | c),
  V3(v_or3_b32, u32, u32, u32, u32, kUnion, a | b | c), V3(v_xor3_b32, u32, u32, u32, u32, kUnion, a ^ b ^ c),
  V3(v_lshl_add_u64, u64, u64, u32, u64, kLeft, (a << (b & 7)) + c),
  V3(v_bfe_u32, u32, u32, u32, u32, kRerunA, extract(a, b, c)),
  V3(v_bfe_i32, u32, u32, u32, u32, kRerunA, extract_signed(a, b, c)),
  V3(v_bfi_b32, u32, u32, u32, u32, kBitSelect, (a & b) | (~a & c)),
  V3(v_alignbit_b32, u32, u32, u32, u32, kRerunAB, u32((u64(a) << 32 | b) >> (c & 31))),
  V3(v_alignbyte_b32, u32, u32, u32, u32, kRerunAB, u32((u64(a) << 32 | b) >> ((c & 3) * 8))),
  V3(v_perm_b32, u32, u32, u32, u32, kRerunAB, permute_bytes(a, b, c)),
  V3(v_cndmask_b32, u32, u32, u32, mask, kSelect, c & 1 ? b : a),
  V3(v_cndmask_b16, u16, u16, u16, mask, kSelect, c & 1 ? b : a),
  V3(v_mad_u32_u24, u32, u32, u32, u32, kLeft, (a & 0xffffff) * (b & 0xffffff) + c),
  V3(v_mad_i32_i24, u32, i32, i32, u32, kLeft, u32(sign24(a)) * u32(sign24(b)) + c),
  V3(v_mad_u16, u16, u16, u16, u16, kLeft, u16(u32(a) * b + c)), V3(v_mad_i16, u16, u16, u16, u16, kLeft, u16(u32(a) * b + c)),
  V3(v_mad_u32_u16, u32, u16, u16, u32, kLeft, u32(a) * b + c),
  V3(v_mad_i32_i16, u32, i16, i16, u32, kLeft, u32(i32(a) * b) + c),
  V3(v_mad_u64_u32_plain, u64, u32, u32, u64, kLeft, u64(a) * b + c),
  V3(v_mad_i64_i32_plain, u64, i32, i32, u64, kLeft, u64(i64(a) * b) + c),
  V3(v_min3_i32, i32, i32, i32, i32, kAny, std::min(std::min(a, b), c)), V3(v_max3_i32, i32, i32, i32, i32, kAny, std::max(std::max(a, b), c)),
  V3(v_min3_u32, u32, u32, u32, u32, kAny, std::min(std::min(a, b), c)), V3(v_max3_u32, u32, u32, u32, u32, kAny, std::max(std::max(a, b), c)),
  V3(v_med3_i32, i32, i32, i32, i32, kAny, median(a, b, c)), V3(v_med3_u32, u32, u32, u32, u32, kAny, median(a, b, c)),
  V3(v_min3_i16, i16, i16, i16, i16, kAny, std::min(std::min(a, b), c)), V3(v_max3_i16, i16, i16, i16, i16, kAny, std::max(std::max(a, b), c)),
  V3(v_min3_u16, u16, u16, u16, u16, kAny, std::min(std::min(a, b), c)), V3(v_max3_u16, u16, u16, u16, u16, kAny, std::max(std::max(a, b), c)),
  V3(v_med3_i16, i16, i16, i16, i16, kAny, median(a, b, c)), V3(v_med3_u16, u16, u16, u16, u16, kAny, median(a, b, c)),
  V3(v_maxmin_i32, i32, i32, i32, i32, kAny, std::min(std::max(a, b), c)), V3(v_minmax_i32, i32, i32, i32, i32, kAny, std::max(std::min(a, b), c)),
  V3(v_maxmin_u32, u32, u32, u32, u32, kAny, std::min(std::max(a, b), c)), V3(v_minmax_u32, u32, u32, u32, u32, kAny, std::max(std::min(a, b), c)),
  V3(v_sad_u8, u32, u32, u32, u32, kAny, sad_u8(a, b, c)),
  V3(v_sad_u32, u32, u32, u32, u32, kAny, (a > b ? a - b : b - a) + c),
  V3(v_lerp_u8, u32, u32, u32, u32, kAny, [&] { u32 r = 0; for (int i = 0; i < 32; i += 8)
     r |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1 << i; return r; }()),
};

Table integer_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
