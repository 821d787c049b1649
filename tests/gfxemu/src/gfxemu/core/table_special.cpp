// Vector instructions with a second result, a mask operand, or two halves: carries, division steps, dot products.
#include "float_rules.h"
#include "half.h"
#include "tables.h"
#include "vector.h"

namespace gfxemu {

using CarryStep = u64 (*)(u64 a, u64 b, u64 carry);     // bit 32 of the result is the carry or borrow

// V_ADD_CO_U32 and its family: the carry of every lane goes to VCC or an SGPR pair.
template <int N> static void execute_carry(Wave& w, const Op& op) {
  static const CarryStep kSteps[] = {
    [](u64 a, u64 b, u64) { return a + b; }, [](u64 a, u64 b, u64 c) { return a + b + c; },
    [](u64 a, u64 b, u64) { return a - b; }, [](u64 a, u64 b, u64 c) { return a - b - c; },
    [](u64 a, u64 b, u64) { return b - a; }, [](u64 a, u64 b, u64 c) { return b - a - c; }};
  constexpr int count = N % 2 ? 3 : 2;
  Buffer in[3], shadow_in[3];
  const u32* v[3] = {}; const u32* t[3] = {};
  u32 out[kLanes], shadow[kLanes];
  u64 carry = 0, carry_shadow = 0;
  bool clean = sources_clean(w, op, count, w.exec);
  for (int i = 0; i < count; i++) {
    v[i] = static_cast<const u32*>(fetch(w, op, i, i == 2 ? 'm' : 'u', in[i]));
    if (!clean) t[i] = static_cast<const u32*>(fetch_shadow(w, op, i, i == 2 ? 'm' : 'u', shadow_in[i]));
  }
  for (int i = 0; i < kLanes; i++) {
    u64 sum = kSteps[N](v[0][i], v[1][i], count == 3 ? v[2][i] & 1 : 0);
    out[i] = u32(sum);
    carry |= (sum >> 32 & 1) << i;
    if (clean) continue;
    u32 any = t[0][i] | t[1][i] | (count == 3 ? t[2][i] & 1 : 0);
    shadow[i] = any ? ~((any & (0 - any)) - 1) : 0;
    carry_shadow |= u64(any != 0) << i;
  }
  u64 mask = op.flags & kDpp ? dpp_mask(w, op) : w.exec;
  if (clean) store_vector(w, op.dst.index, out, mask);
  else store_shadowed(w, op.dst.index, out, shadow, mask);
  write_mask(w, op.dst2, carry & w.exec, carry_shadow & w.exec);
}

// V_MAD_U64_U32, V_MAD_I64_I32: 64-bit sums; the carry out goes to an SGPR mask that code seldom reads.
template <bool Signed> static void execute_mad64(Wave& w, const Op& op) {
  Op plain = op;
  plain.op = u16(find_op(Signed ? "v_mad_i64_i32_plain" : "v_mad_u64_u32_plain"));
  Buffer in[3];
  auto* a = static_cast<const u32*>(fetch(w, op, 0, 'u', in[0]));
  auto* b = static_cast<const u32*>(fetch(w, op, 1, 'u', in[1]));
  auto* c = static_cast<const u64*>(fetch(w, op, 2, 'U', in[2]));
  u64 carry = 0;
  for (int i = 0; i < kLanes; i++) {
    unsigned __int128 product = Signed ? (unsigned __int128)(u64(i64(i32(a[i])) * i32(b[i]))) : u64(a[i]) * b[i];
    carry |= u64((product + c[i]) >> 64 & 1) << i;
  }
  bool clean = sources_clean(w, op, 3, w.exec);
  execute_vector(w, plain);
  write_mask(w, op.dst2, carry & w.exec, clean ? 0 : w.exec);
}

struct Scaled { double value; bool flag; };

// V_DIV_SCALE_F32/F64 (CDNA3 ISA §12.12 "VOP3SD"): S1 denominator, S2 numerator, S0 the one of them to be scaled.
template <class T> static Scaled scale_division(T s0, T s1, T s2) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int step = wide ? 128 : 64, far = wide ? 768 : 96, tiny = wide ? 53 : 23;
  const T smallest = std::numeric_limits<T>::min();
  auto denormal = [&](T x) { return x != 0 && std::fabs(x) < smallest; };
  auto scaled = [&](int by) { return double(std::ldexp(s0, by)); };
  bool same_down = s0 == s1, same_up = s0 == s2;
  if (s1 == 0 || s2 == 0) return {std::numeric_limits<double>::quiet_NaN(), false};
  if (exponent_field(s2) - exponent_field(s1) >= far) return {same_down ? scaled(step) : double(s0), true};
  if (denormal(s1)) return {scaled(step), false};
  // The document takes 1 / S1 as a double for both widths, so that no f32 has a denormal inverse.
  bool inverse_denormal = wide && denormal(T(1) / s1), quotient_denormal = denormal(s2 / s1) || (s2 / s1 == 0);
  if (inverse_denormal && quotient_denormal) return {same_down ? scaled(step) : double(s0), true};
  if (inverse_denormal) return {scaled(-step), false};
  if (quotient_denormal) return {same_up ? scaled(step) : double(s0), true};
  if (exponent_field(s2) <= tiny) return {scaled(step), false};
  return {double(s0), false};
}

template <class T, class Bits> static void execute_div_scale(Wave& w, const Op& op) {
  constexpr char type = sizeof(T) == 8 ? 'd' : 'f';
  set_float_mode(w, sizeof(T) == 8 ? kFloat64 : kFloat32);
  Buffer in[3];
  const Bits* v[3];
  for (int i = 0; i < 3; i++) v[i] = static_cast<const Bits*>(fetch(w, op, i, type, in[i]));
  u32 low[kLanes] = {}, high[kLanes] = {}, all[kLanes];
  u64 flags = 0;
  for (int i = 0; i < w.lanes(); i++) {
    T s[3];
    for (int k = 0; k < 3; k++) std::memcpy(&s[k], &v[k][i], sizeof(T));
    Scaled result = scale_division<T>(s[0], s[1], s[2]);
    T out = T(result.value);
    u64 bits = 0; std::memcpy(&bits, &out, sizeof out);
    low[i] = u32(bits); high[i] = u32(bits >> 32);
    flags |= u64(result.flag) << i;
    all[i] = ~0u;
  }
  bool clean = sources_clean(w, op, 3, w.exec);
  for (u32 part = 0; part < sizeof(T) / 4; part++) {
    const u32* values = part ? high : low;
    if (clean) store_vector(w, op.dst.index + part, values, w.exec);
    else store_shadowed(w, op.dst.index + part, values, all, w.exec);
  }
  write_mask(w, op.dst2, flags & w.exec, clean ? 0 : w.exec);
}

static float scaled_fma(const Lanes& l, int i, float a, float b, float c) {
  float out = std::fma(a, b, c);
  if (!(read_mask(*l.wave, Operand{Kind::scalar, 2, kVcc, 0, 0}) >> i & 1)) return out;
  return std::ldexp(out, exponent_field(c) > 127 ? 64 : -64);
}
static double scaled_fma(const Lanes& l, int i, double a, double b, double c) {
  double out = std::fma(a, b, c);
  if (!(read_mask(*l.wave, Operand{Kind::scalar, 2, kVcc, 0, 0}) >> i & 1)) return out;
  return std::ldexp(out, exponent_field(c) > 1023 ? 128 : -128);
}
template <class T> static void loop_div_fmas(const Lanes& l) {  // V_DIV_FMAS (RDNA3 ISA §16.12: scales both ways)
  using S = typename Slot<T>::stored;
  for (int i = 0; i < l.count; i++) {
    auto at = [&](int k) { return Slot<T>::load(static_cast<const S*>(l.in[k])[i]); };
    static_cast<S*>(l.out)[i] = Slot<T>::store(scaled_fma(l, i, at(0), at(1), at(2)));
  }
}

static void loop_bitop3(const Lanes& l) {               // V_BITOP3 (CDNA4 ISA §12.11): truth table in `control`
  u32 table = l.op->control & 0xff;
  auto* a = static_cast<const u32*>(l.in[0]); auto* b = static_cast<const u32*>(l.in[1]); auto* c = static_cast<const u32*>(l.in[2]);
  for (int i = 0; i < l.count; i++) {
    u32 out = 0;
    for (u32 row = 0; row < 8; row++)
      if (table >> row & 1) out |= (row & 4 ? a[i] : ~a[i]) & (row & 2 ? b[i] : ~b[i]) & (row & 1 ? c[i] : ~c[i]);
    static_cast<u32*>(l.out)[i] = out;
  }
}

template <int First> static void loop_mbcnt(const Lanes& l) {  // V_MBCNT_LO/HI: set bits of the mask below this lane
  auto* a = static_cast<const u32*>(l.in[0]); auto* b = static_cast<const u32*>(l.in[1]);
  for (int i = 0; i < l.count; i++) {
    int below = i - First;
    u32 mask = below <= 0 ? 0 : below >= 32 ? ~0u : (1u << below) - 1;
    static_cast<u32*>(l.out)[i] = u32(__builtin_popcount(a[i] & mask)) + b[i];
  }
}

static void execute_swap(Wave& w, const Op& op) {       // V_SWAP_B32
  u32 a = op.dst.index, b = op.src[0].index;
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    std::swap(w.v[a][i], w.v[b][i]);
    u32 sa = shadow_of(w, a, i), sb = shadow_of(w, b, i);
    w.shadow[a][i] = sb; w.shadow[b][i] = sa;
    w.clean[a] = (w.clean[a] & ~(1ull << i)) | u64(sb == 0) << i;
    w.clean[b] = (w.clean[b] & ~(1ull << i)) | u64(sa == 0) << i;
  }
}

static void execute_nop(Wave&, const Op&) {}

// RDNA4's V_S_*: a transcendental of a scalar, with a scalar result; the vector op's loop does it for one lane.
static void execute_one_lane(Wave& w, const Op& op) {
  std::string name = std::string("v_") + (entry_of(op.op).name + 4);
  const Entry& vector = entry_of(u16(find_op(name.c_str())));
  set_float_mode(w, vector.float_class);
  Buffer in, out;
  Lanes lanes{1, out.raw, {fetch(w, op, 0, vector.types[1], in), nullptr, nullptr}, 1, &w, &op};
  reinterpret_cast<LaneLoop>(vector.lanes)(lanes);
  write_scalar(w, op.dst.index, u32(out.raw[0]), scalar_shadow(w, op.src[0], false) ? ~0u : 0);
}

#define CUSTOM(NAME, TYPES, LOOP, TAINT, CLASS) {NAME, execute_vector, kValu, 4, TYPES, (void*)+LOOP, TAINT, CLASS}
static const Entry kEntries[] = {
  {"v_add_co_u32", execute_carry<0>, kValu, 4, "uuu", nullptr, kAny, 0}, {"v_addc_co_u32", execute_carry<1>, kValu, 4, "uuum", nullptr, kAny, 0},
  {"v_sub_co_u32", execute_carry<2>, kValu, 4, "uuu", nullptr, kAny, 0}, {"v_subb_co_u32", execute_carry<3>, kValu, 4, "uuum", nullptr, kAny, 0},
  {"v_subrev_co_u32", execute_carry<4>, kValu, 4, "uuu", nullptr, kAny, 0}, {"v_subbrev_co_u32", execute_carry<5>, kValu, 4, "uuum", nullptr, kAny, 0},
  {"v_mad_u64_u32", execute_mad64<false>, kValu, 16, "UuuU", nullptr, kAny, 0}, {"v_mad_i64_i32", execute_mad64<true>, kValu, 16, "IiiI", nullptr, kAny, 0},
  {"v_div_scale_f32", execute_div_scale<float, u32>, kValu, 4, "ffff", nullptr, kAny, kFloat32},
  {"v_div_scale_f64", execute_div_scale<double, u64>, kValu, 8, "dddd", nullptr, kAny, kFloat64},
  CUSTOM("v_div_fmas_f32", "ffff", loop_div_fmas<float>, kAny, kFloat32), CUSTOM("v_div_fmas_f64", "dddd", loop_div_fmas<double>, kAny, kFloat64),
  CUSTOM("v_bitop3_b32", "uuuu", loop_bitop3, kAny, 0), CUSTOM("v_bitop3_b16", "ssss", loop_bitop3, kAny, 0),
  CUSTOM("v_mbcnt_lo_u32_b32", "uuu", loop_mbcnt<0>, kAny, 0), CUSTOM("v_mbcnt_hi_u32_b32", "uuu", loop_mbcnt<32>, kAny, 0),
  {"v_s_exp_f32", execute_one_lane, kValu, 4, "ff", nullptr, kAny, 0}, {"v_s_exp_f16", execute_one_lane, kValu, 4, "hh", nullptr, kAny, 0},
  {"v_s_log_f32", execute_one_lane, kValu, 4, "ff", nullptr, kAny, 0}, {"v_s_log_f16", execute_one_lane, kValu, 4, "hh", nullptr, kAny, 0},
  {"v_s_rcp_f32", execute_one_lane, kValu, 4, "ff", nullptr, kAny, 0}, {"v_s_rcp_f16", execute_one_lane, kValu, 4, "hh", nullptr, kAny, 0},
  {"v_s_rsq_f32", execute_one_lane, kValu, 4, "ff", nullptr, kAny, 0}, {"v_s_rsq_f16", execute_one_lane, kValu, 4, "hh", nullptr, kAny, 0},
  {"v_s_sqrt_f32", execute_one_lane, kValu, 4, "ff", nullptr, kAny, 0}, {"v_s_sqrt_f16", execute_one_lane, kValu, 4, "hh", nullptr, kAny, 0},
  {"v_swap_b32", execute_swap, kValu, 4, "uu", nullptr, kAny, 0}, {"v_nop", execute_nop, kValu, 4, "", nullptr, kAny, 0},
};

Table special_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
