// Conversions between integers and f16, bf16, f32, f64 (CDNA3 ISA §12.9 "VOP1", §12.11 "VOP3").
#include "float_rules.h"
#include "half.h"
#include "tables.h"

namespace gfxemu {

template <class T, class F> static T to_integer(F value) {  // toward zero, saturating, NaN → 0
  if (value != value) return 0;
  double whole = std::trunc(double(value));
  constexpr double low = double(std::numeric_limits<T>::min()), high = double(std::numeric_limits<T>::max());
  return whole <= low ? std::numeric_limits<T>::min() : whole >= high ? std::numeric_limits<T>::max() : T(whole);
}
static i32 round_nearest(float a) { return to_integer<i32>(std::floor(double(a) + 0.5)); }
static u32 pack(u16 low, u16 high) { return u32(high) << 16 | low; }
static u16 to_half_toward_zero(float value) {
  HalfMode saved = g_half_mode;
  g_half_mode.round = 3;
  u16 out = float_to_half(value);
  g_half_mode = saved;
  return out;
}
template <class T> static u16 normalized(float value, float scale) {
  float limit = std::numeric_limits<T>::is_signed ? -1.0f : 0.0f;
  float clamped = value != value ? 0.0f : value < limit ? limit : value > 1 ? 1.0f : value;
  return u16(T(round_even(clamped * scale)));
}
static u32 pack_byte(float value, u32 index, u32 old) {   // V_CVT_PK_U8_F32
  u32 shift = (index & 3) * 8;
  float rounded = round_even(value);
  return (old & ~(0xffu << shift)) | u32(rounded > 0 ? (rounded < 255 ? rounded : 255) : 0) << shift;
}
template <int N> static float byte_of(u32 a) { return float(a >> (8 * N) & 0xff); }

static const Entry kEntries[] = {
  V1(v_cvt_f32_i32, float, i32, kAny, float(a)), V1(v_cvt_f32_u32, float, u32, kAny, float(a)),
  V1(v_cvt_i32_f32, i32, float, kAny, to_integer<i32>(a)), V1(v_cvt_u32_f32, u32, float, kAny, to_integer<u32>(a)),
  V1(v_cvt_f64_i32, double, i32, kAny, double(a)), V1(v_cvt_f64_u32, double, u32, kAny, double(a)),
  V1(v_cvt_i32_f64, i32, double, kAny, to_integer<i32>(a)), V1(v_cvt_u32_f64, u32, double, kAny, to_integer<u32>(a)),
  V1(v_cvt_f32_f64, float, double, kAny, float(a)), V1(v_cvt_f64_f32, double, float, kAny, double(a)),
  V1(v_cvt_f16_f32, half, float, kAny, a), V1(v_cvt_f32_f16, float, half, kAny, a),
  V1(v_cvt_f16_u16, half, u16, kAny, double(a)), V1(v_cvt_f16_i16, half, i16, kAny, double(a)),
  V1(v_cvt_u16_f16, u16, half, kAny, to_integer<u16>(a)), V1(v_cvt_i16_f16, i16, half, kAny, to_integer<i16>(a)),
  V1(v_cvt_i32_i16, i32, i16, kAny, i32(a)), V1(v_cvt_u32_u16, u32, u16, kAny, u32(a)),
  V1(v_cvt_rpi_i32_f32, i32, float, kAny, round_nearest(a)), V1(v_cvt_flr_i32_f32, i32, float, kAny, to_integer<i32>(std::floor(a))),
  V1(v_cvt_f32_bf16, float, bf16, kAny, a),
  V1(v_cvt_f32_ubyte0, float, u32, kAny, byte_of<0>(a)), V1(v_cvt_f32_ubyte1, float, u32, kAny, byte_of<1>(a)),
  V1(v_cvt_f32_ubyte2, float, u32, kAny, byte_of<2>(a)), V1(v_cvt_f32_ubyte3, float, u32, kAny, byte_of<3>(a)),
  V2(v_cvt_pk_bf16_f32, u32, float, float, kAny, pack(float_to_bf16(a), float_to_bf16(b))),
  V2(v_cvt_pkrtz_f16_f32, u32, float, float, kAny, pack(to_half_toward_zero(a), to_half_toward_zero(b))),
  V2(v_cvt_pk_f16_f32, u32, float, float, kAny, pack(float_to_half(a), float_to_half(b))),
  V2(v_cvt_pknorm_i16_f32, u32, float, float, kAny, pack(normalized<i16>(a, 32767), normalized<i16>(b, 32767))),
  V2(v_cvt_pknorm_u16_f32, u32, float, float, kAny, pack(normalized<u16>(a, 65535), normalized<u16>(b, 65535))),
  V2(v_cvt_pk_i16_f32, u32, float, float, kAny, pack(u16(to_integer<i16>(a)), u16(to_integer<i16>(b)))),
  V2(v_cvt_pk_u16_f32, u32, float, float, kAny, pack(to_integer<u16>(a), to_integer<u16>(b))),
  V3(v_cvt_pk_u8_f32, u32, float, u32, u32, kAny, pack_byte(a, b, c)),
};

Table convert_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
