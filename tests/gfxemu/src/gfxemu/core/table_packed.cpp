// Packed and mixed-precision instructions (CDNA3 ISA §12.13 "VOP3P"): op_sel picks halves, neg_lo and neg_hi signs.
#include "float_rules.h"
#include "half.h"
#include "tables.h"
#include "vector.h"

namespace gfxemu {

struct Halves { u32 v[3][2][kLanes], t[3][2][kLanes]; bool clean; };

// 16-bit halves of each source as op_sel and op_sel_hi ask, signs flipped for floats.
static void fetch_halves(Wave& w, const Op& op, int count, bool is_float, Halves& h) {
  h.clean = sources_clean(w, op, count, w.exec);
  for (int s = 0; s < count; s++) {
    Buffer buffer;
    Op plain = op;
    plain.neg = plain.abs = plain.opsel = 0;
    auto split = [&](const u32* from, u32 (*to)[kLanes], bool flip) {
      for (int half = 0; half < 2; half++) {
        int shift = (half ? op.opsel_hi : op.opsel) >> s & 1 ? 16 : 0;
        u32 sign = flip && is_float && ((half ? op.neg_hi : op.neg) >> s & 1) ? 0x8000 : 0;
        for (int i = 0; i < kLanes; i++) to[half][i] = (from[i] >> shift & 0xffff) ^ sign;
      }
    };
    split(static_cast<const u32*>(fetch(w, plain, s, 'u', buffer)), h.v[s], true);
    if (!h.clean) split(static_cast<const u32*>(fetch_shadow(w, plain, s, 'u', buffer)), h.t[s], false);
  }
}

static void store_halves(Wave& w, const Op& op, int count, const Halves& h, const u32 (*out)[kLanes]) {
  u32 packed[kLanes], shadow[kLanes];
  for (int i = 0; i < kLanes; i++) packed[i] = (out[0][i] & 0xffff) | out[1][i] << 16;
  if (h.clean) { store_vector(w, op.dst.index, packed, w.exec); return; }
  for (int i = 0; i < kLanes; i++) {
    u32 low = 0, high = 0;
    for (int s = 0; s < count; s++) { low |= h.t[s][0][i]; high |= h.t[s][1][i]; }
    shadow[i] = (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
  }
  store_shadowed(w, op.dst.index, packed, shadow, w.exec);
}

// A packed instruction is the 16-bit instruction done twice; `lanes` of the entry is that instruction's loop.
static void execute_packed16(Wave& w, const Op& op) {
  const Entry& e = entry_of(op.op);
  int count = int(std::strlen(e.types)) - 1;
  bool is_float = e.types[0] == 'h' || e.types[0] == 'b';
  if (is_float) set_float_mode(w, kFloat16);
  Halves h;
  fetch_halves(w, op, count, is_float, h);
  u32 out[2][kLanes] = {};
  for (int half = 0; half < 2; half++) {
    Lanes lanes{w.lanes(), out[half], {h.v[0][half], h.v[1][half], h.v[2][half]}, w.exec, &w, &op};
    reinterpret_cast<LaneLoop>(e.lanes)(lanes);
    if (!op.clamp) continue;
    for (int i = 0; i < kLanes && is_float; i++) {
      float value = half_to_float(u16(out[half][i]));
      out[half][i] = float_to_half(value > 1 ? 1.0f : value > 0 ? value : 0.0f);
    }
  }
  store_halves(w, op, count, h, out);
}

// V_PK_*_F32, V_PK_MOV_B32: two dwords; a scalar or constant source gives both halves the chosen dword.
static const u32* dword_source(Wave& w, const Op& op, int s, bool high, Buffer& buffer, bool shadow) {
  Op plain = op;
  plain.abs = 0; plain.opsel = 0;
  plain.neg = (high ? op.neg_hi : op.neg) >> s & 1 ? u8(1 << s) : 0;
  bool second = (high ? op.opsel_hi : op.opsel) >> s & 1;
  if (second && plain.src[s].width == 2) plain.src[s].index++;
  plain.src[s].width = 1;
  if (plain.src[s].kind == Kind::constant && shadow) plain.src[s].low = 0;
  return static_cast<const u32*>(shadow ? fetch_shadow(w, plain, s, 'u', buffer) : fetch(w, plain, s, 'u', buffer));
}

template <int N> static void execute_packed32(Wave& w, const Op& op) {  // 0 add, 1 mul, 2 fma, 3 mov
  constexpr int count = N == 2 ? 3 : 2;
  set_float_mode(w, kFloat32);
  u32 out[2][kLanes], shadow[2][kLanes];
  bool clean = sources_clean(w, op, count, w.exec);
  for (int half = 0; half < 2; half++) {
    Buffer b[3], t[3];
    const u32* v[3] = {}; const u32* u[3] = {};
    for (int s = 0; s < count; s++) {
      // V_PK_MOV_B32: the low result is source 0's dword op_sel[0], the high one source 1's dword op_sel[1]
      v[s] = dword_source(w, op, s, N == 3 ? false : half, b[s], false);
      if (!clean) u[s] = dword_source(w, op, s, N == 3 ? false : half, t[s], true);
    }
    for (int i = 0; i < kLanes; i++) {
      float x = from_bits<float>(v[0][i]), y = from_bits<float>(v[1][i]), z = N == 2 ? from_bits<float>(v[2][i]) : 0;
      out[half][i] = N == 3 ? v[half][i] : to_bits(N == 0 ? x + y : N == 1 ? x * y : std::fma(x, y, z));
      if (clean) continue;
      u32 any = u[0][i] | u[1][i] | (N == 2 ? u[2][i] : 0);
      shadow[half][i] = N == 3 ? u[half][i] : any ? ~0u : 0;
    }
  }
  for (u32 half = 0; half < 2; half++) {
    if (op.clamp) for (int i = 0; i < kLanes; i++) {
      float x = from_bits<float>(out[half][i]);
      out[half][i] = to_bits(x > 1 ? 1.0f : x > 0 ? x : 0.0f);
    }
    if (clean) store_vector(w, op.dst.index + half, out[half], w.exec);
    else store_shadowed(w, op.dst.index + half, out[half], shadow[half], w.exec);
  }
}

// V_FMA_MIX: each source is f32, or the half op_sel names where op_sel_hi says f16 (neg_hi holds abs).
static void mix_source(Wave& w, const Op& op, int s, float* out, Buffer& buffer) {
  Op plain = op;
  plain.neg = plain.abs = plain.opsel = 0;
  auto* raw = static_cast<const u32*>(fetch(w, plain, s, 'u', buffer));
  bool is_half = op.opsel_hi >> s & 1, high = op.opsel >> s & 1;
  for (int i = 0; i < kLanes; i++) {
    float value = is_half ? half_to_float(u16(raw[i] >> (high ? 16 : 0))) : from_bits<float>(raw[i]);
    if (op.neg_hi >> s & 1) value = std::fabs(value);
    out[i] = op.neg >> s & 1 ? -value : value;
  }
}

// Undefined bits of what a source really reads: a half that is not chosen does not count.
static void mix_shadow(Wave& w, const Op& op, int s, u32* undefined, Buffer& buffer) {
  Op plain = op;
  plain.neg = plain.abs = plain.opsel = 0;
  if (plain.src[s].kind == Kind::constant) plain.src[s].low = 0;
  auto* raw = static_cast<const u32*>(fetch_shadow(w, plain, s, 'u', buffer));
  u32 read = op.opsel_hi >> s & 1 ? (op.opsel >> s & 1 ? 0xffff0000 : 0xffff) : ~0u;
  for (int i = 0; i < kLanes; i++) undefined[i] |= raw[i] & read;
}

template <int Place> static void execute_mix(Wave& w, const Op& op) {  // 0 f32, 1 low half, 2 high half
  set_float_mode(w, kFloat32);
  float v[3][kLanes];
  Buffer buffer;
  for (int s = 0; s < 3; s++) mix_source(w, op, s, v[s], buffer);
  bool clean = sources_clean(w, op, 3, w.exec);
  u32 out[kLanes], shadow[kLanes], old[kLanes], undefined[kLanes] = {};
  for (int s = 0; s < 3 && !clean; s++) mix_shadow(w, op, s, undefined, buffer);
  for (int i = 0; i < kLanes; i++) {
    float value = std::fma(v[0][i], v[1][i], v[2][i]);
    if (op.clamp) value = value > 1 ? 1.0f : value > 0 ? value : 0.0f;
    old[i] = w.v[op.dst.index][i];
    u32 rest = shadow_of(w, op.dst.index, i), bad = undefined[i] ? ~0u : 0;
    if (Place == 0) { out[i] = to_bits(value); shadow[i] = bad; continue; }
    u32 bits = float_to_half(value);
    out[i] = Place == 1 ? (old[i] & 0xffff0000) | bits : (old[i] & 0xffff) | bits << 16;
    shadow[i] = Place == 1 ? (rest & 0xffff0000) | (bad & 0xffff) : (rest & 0xffff) | (bad & 0xffff0000);
  }
  store_shadowed(w, op.dst.index, out, shadow, w.exec);
}

template <class T, int Bits> static i64 lane_dot(u32 a, u32 b) {
  i64 sum = 0;
  for (int i = 0; i < 32; i += Bits) {
    u32 x = a << (32 - Bits - i), y = b << (32 - Bits - i);
    if constexpr (std::is_signed_v<T>) sum += i64(i32(x) >> (32 - Bits)) * (i32(y) >> (32 - Bits));
    else sum += i64(x >> (32 - Bits)) * i64(y >> (32 - Bits));
  }
  return sum;
}
static float dot2_half(u32 a, u32 b, float c) {
  float low = half_to_float(u16(a)) * half_to_float(u16(b)), high = half_to_float(u16(a >> 16)) * half_to_float(u16(b >> 16));
  return float(add_to_odd(add_to_odd(double(low), double(high)), c));
}
static float dot2_bf16(u32 a, u32 b, float c) {
  float low = bf16_to_float(u16(a)) * bf16_to_float(u16(b)), high = bf16_to_float(u16(a >> 16)) * bf16_to_float(u16(b >> 16));
  return low + high + c;
}

#define PK1(NAME, D, A, B, EXPR) {#NAME, execute_packed16, kValu, 4, type_codes<D, A, B>(),                \
  (void*)+[](const Lanes& l) { loop2<D, A, B>(l, [](auto a, auto b) { return EXPR; }); }, kAny, 0}
#define PK3(NAME, T, EXPR) {#NAME, execute_packed16, kValu, 4, type_codes<T, T, T, T>(),                   \
  (void*)+[](const Lanes& l) { loop3<T, T, T, T>(l, [](auto a, auto b, auto c) { return EXPR; }); }, kAny, 0}
static const Entry kEntries[] = {
  PK1(v_pk_add_f16, half, half, half, a + b), PK1(v_pk_mul_f16, half, half, half, a * b),
  PK1(v_pk_min_f16, half, half, half, minimum_number(a, b)), PK1(v_pk_max_f16, half, half, half, maximum_number(a, b)),
  PK1(v_pk_minimum_f16, half, half, half, minimum(a, b)), PK1(v_pk_maximum_f16, half, half, half, maximum(a, b)),
  PK3(v_pk_fma_f16, half, fma_half(a, b, c)), PK3(v_pk_minimum3_f16, half, minimum(minimum(a, b), c)), PK3(v_pk_maximum3_f16, half, maximum(maximum(a, b), c)),
  PK1(v_pk_add_u16, u16, u16, u16, u16(a + b)), PK1(v_pk_sub_u16, u16, u16, u16, u16(a - b)),
  PK1(v_pk_add_i16, i16, i16, i16, i16(a + b)), PK1(v_pk_sub_i16, i16, i16, i16, i16(a - b)),
  PK1(v_pk_mul_lo_u16, u16, u16, u16, u16(u32(a) * b)), PK1(v_pk_lshlrev_b16, u16, u16, u16, u16(b << (a & 15))),
  PK1(v_pk_lshrrev_b16, u16, u16, u16, u16(b >> (a & 15))), PK1(v_pk_ashrrev_i16, i16, u16, i16, i16(b >> (a & 15))),
  PK1(v_pk_min_i16, i16, i16, i16, a < b ? a : b), PK1(v_pk_max_i16, i16, i16, i16, a > b ? a : b),
  PK1(v_pk_min_u16, u16, u16, u16, a < b ? a : b), PK1(v_pk_max_u16, u16, u16, u16, a > b ? a : b),
  PK3(v_pk_mad_u16, u16, u16(u32(a) * b + c)), PK3(v_pk_mad_i16, u16, u16(u32(a) * b + c)),
  {"v_pk_add_f32", execute_packed32<0>, kValu, 8, "fff", nullptr, kAny, kFloat32}, {"v_pk_mul_f32", execute_packed32<1>, kValu, 8, "fff", nullptr, kAny, kFloat32},
  {"v_pk_fma_f32", execute_packed32<2>, kValu, 8, "ffff", nullptr, kAny, kFloat32}, {"v_pk_mov_b32", execute_packed32<3>, kValu, 8, "uuu", nullptr, kAny, 0},
  {"v_fma_mix_f32", execute_mix<0>, kValu, 4, "ffff", nullptr, kAny, 0}, {"v_fma_mixlo_f16", execute_mix<1>, kValu, 4, "ffff", nullptr, kAny, 0},
  {"v_fma_mixhi_f16", execute_mix<2>, kValu, 4, "ffff", nullptr, kAny, 0},
  V3(v_dot2_f32_f16, float, u32, u32, float, kAny, dot2_half(a, b, c)), V3(v_dot2_f32_bf16, float, u32, u32, float, kAny, dot2_bf16(a, b, c)),
  V3(v_dot4_i32_i8, u32, u32, u32, u32, kAny, u32((lane_dot<i32, 8>(a, b))) + c), V3(v_dot4_u32_u8, u32, u32, u32, u32, kAny, u32((lane_dot<u32, 8>(a, b))) + c),
  V3(v_dot8_i32_i4, u32, u32, u32, u32, kAny, u32((lane_dot<i32, 4>(a, b))) + c), V3(v_dot8_u32_u4, u32, u32, u32, u32, kAny, u32((lane_dot<u32, 4>(a, b))) + c),
  V3(v_dot2_i32_i16, u32, u32, u32, u32, kAny, u32((lane_dot<i32, 16>(a, b))) + c), V3(v_dot2_u32_u16, u32, u32, u32, u32, kAny, u32((lane_dot<u32, 16>(a, b))) + c),
};

Table packed_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
