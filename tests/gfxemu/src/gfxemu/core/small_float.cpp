// Small floats (OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0 §5.3; CDNA3 ISA §2.? for fnuz).
#include "small_float.h"
#include <algorithm>
#include "vector.h"
#include "half.h"
#include "tables.h"

namespace gfxemu {

Layout layout_of(Format f) {
  switch (f) {
    case kE4M3: return {4, 3, 7, false, false, true};
    case kE5M2: return {5, 2, 15, true, false, true};
    case kE2M3: return {2, 3, 1, false, false, false};
    case kE3M2: return {3, 2, 3, false, false, false};
    case kE2M1: return {2, 1, 1, false, false, false};
    case kE4M3Fnuz: return {4, 3, 8, false, true, true};
    default: return {5, 2, 16, false, true, true};
  }
}

int width_of(Format f) {
  switch (f) {
    case kF32: case kXf32: return 32;
    case kF64: return 64;
    case kF16: case kBf16: return 16;
    case kE2M3: case kE3M2: return 6;
    case kE2M1: case kI4: case kU4: return 4;
    default: return 8;
  }
}

float decode_small(Format f, u32 bits) {
  Layout l = layout_of(f);
  u32 sign = bits >> (l.exponent + l.mantissa) & 1, mantissa = bits & ((1u << l.mantissa) - 1);
  u32 exponent = bits >> l.mantissa & ((1u << l.exponent) - 1), top = (1u << l.exponent) - 1;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (l.fnuz && sign && !exponent && !mantissa) return nan;
  if (l.infinity && exponent == top) return mantissa ? nan : sign ? -INFINITY : INFINITY;
  if (l.nan && !l.fnuz && !l.infinity && exponent == top && mantissa == (1u << l.mantissa) - 1) return nan;
  double value = exponent ? std::ldexp(double((1u << l.mantissa) | mantissa), int(exponent) - l.bias - l.mantissa)
                          : std::ldexp(double(mantissa), 1 - l.bias - l.mantissa);
  return float(sign ? -value : value);
}

static u32 largest(const Layout& l) {
  u32 all = (1u << (l.exponent + l.mantissa)) - 1;
  return l.infinity ? all - (1u << l.mantissa) : l.nan && !l.fnuz ? all - 1 : all;
}
static u32 overflow(const Layout& l, u32 sign, bool saturate) {
  if (saturate || !l.nan) return sign | largest(l);
  if (l.fnuz) return 1u << (l.exponent + l.mantissa);
  return l.infinity ? sign | ((1u << l.exponent) - 1) << l.mantissa : sign | ((1u << (l.exponent + l.mantissa)) - 1);
}

u32 encode_small(Format f, float value, bool saturate) {
  Layout l = layout_of(f);
  u32 sign = std::signbit(value) ? 1u << (l.exponent + l.mantissa) : 0;
  if (value != value) {
    if (!l.nan) return sign | largest(l);
    return l.fnuz ? 1u << (l.exponent + l.mantissa) : sign | ((1u << (l.exponent + l.mantissa)) - 1);
  }
  if (std::isinf(value)) return overflow(l, sign, saturate);
  if (value == 0) return l.fnuz ? 0 : sign;
  int exponent = 0;
  double magnitude = std::fabs(double(value));
  (void)std::frexp(magnitude, &exponent);
  int quantum = std::max(exponent - 1, 1 - l.bias) - l.mantissa;
  double scaled = std::ldexp(magnitude, -quantum), whole = std::floor(scaled), rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)) whole += 1;
  u32 units = u32(whole);                               // carries into the exponent by itself
  u32 out = units + (quantum + l.mantissa > 1 - l.bias ? u32(quantum + l.mantissa - (1 - l.bias)) << l.mantissa : 0);
  if (out > largest(l)) return overflow(l, sign, saturate);
  return l.fnuz && out == 0 ? 0 : sign | out;
}

u32 encode_small_stochastic(Format f, float value, u32 random, bool saturate) {
  u32 bits = to_bits(value);
  if ((bits & 0x7f800000) == 0x7f800000) return encode_small(f, value, saturate);
  u32 keep = 23u - u32(layout_of(f).mantissa), mask = (1u << keep) - 1;
  bits = (bits + (random >> (32 - keep) & mask)) & ~mask;
  return encode_small(f, from_bits<float>(bits), saturate);
}

static bool saturates(const Wave& w) { return w.mode >> 23 & 1; }       // MODE.FP16_OVFL
static Format flavour(const Wave& w, bool five) {
  bool fnuz = w.group->machine->launch.arch.has_fnuz;
  return fnuz ? (five ? kE5M2Fnuz : kE4M3Fnuz) : (five ? kE5M2 : kE4M3);
}
static float power(u32 scale_bits) { return std::ldexp(1.0f, int(scale_bits >> 23 & 0xff) - 127); }  // exponent of an f32

struct Small { const u32 *a, *b, *c; Buffer buffer[3]; bool clean; };
static void fetch_small(Wave& w, const Op& op, int count, Small& s) {
  Op plain = op;
  const u32** to[3] = {&s.a, &s.b, &s.c};
  for (int i = 0; i < count; i++) {
    plain.opsel = 0;
    *to[i] = static_cast<const u32*>(fetch(w, plain, i, 'u', s.buffer[i]));
  }
  s.clean = sources_clean(w, op, count, w.exec);
}

// `control`: format | source type << 4 (0 f32, 1 f16, 2 bf16) | 1 << 8 scaled | 1 << 9 stochastic.
static float source_value(u32 type, u32 bits, bool high) {
  if (type == 0) return from_bits<float>(bits);
  u16 half = u16(bits >> (high ? 16 : 0));
  return type == 1 ? half_to_float(half) : bf16_to_float(half);
}

static void store_part(Wave& w, const Op& op, const u32* values, u32 shift, u32 bits, bool clean) {
  u32 mask = (bits == 32 ? ~0u : (1u << bits) - 1) << shift, out[kLanes], shadow[kLanes], reg = op.dst.index;
  for (int i = 0; i < kLanes; i++) {
    out[i] = (w.v[reg][i] & ~mask) | (values[i] << shift & mask);
    shadow[i] = (shadow_of(w, reg, i) & ~mask) | (clean ? 0 : mask);
  }
  store_shadowed(w, reg, out, shadow, w.exec);
}

// V_CVT_PK_FP8_F32 and kin, V_CVT_SCALEF32_PK_*: two values → two small floats in the part of vdst op_sel names.
static void pack_small(Wave& w, const Op& op) {
  u32 type = op.control >> 4 & 15, kind = op.control & 15;
  bool scaled = op.control >> 8 & 1, from_pair = type != 0;
  Format f = kind == kE4M3 || kind == kE5M2 ? flavour(w, kind == kE5M2) : Format(kind);
  if (scaled && kind <= kE5M2) f = Format(kind);
  Small s;
  Op real = op;
  real.opsel = 0;
  fetch_small(w, real, from_pair ? (scaled ? 2 : 1) : (scaled ? 3 : 2), s);
  u32 out[kLanes], width = u32(width_of(f));
  for (int i = 0; i < kLanes; i++) {
    float x = source_value(type, s.a[i], false), y = from_pair ? source_value(type, s.a[i], true) : source_value(0, s.b[i], false);
    float scale = scaled ? power(from_pair ? s.b[i] : s.c[i]) : 1.0f;
    out[i] = encode_small(f, x / scale, saturates(w)) | encode_small(f, y / scale, saturates(w)) << width;
  }
  u32 select = width == 4 ? op.opsel >> 2 & 3 : op.opsel >> 3 & 1;
  store_part(w, op, out, select * 2 * width, 2 * width, s.clean);
}

static void pack_stochastic(Wave& w, const Op& op) {    // V_CVT_SR_FP8_F32: byte op_sel[3:2]
  Small s;
  fetch_small(w, op, 2, s);
  Format f = flavour(w, (op.control & 15) == kE5M2);
  u32 out[kLanes];
  for (int i = 0; i < kLanes; i++) out[i] = encode_small_stochastic(f, from_bits<float>(s.a[i]), s.b[i], saturates(w));
  store_part(w, op, out, (op.opsel >> 2 & 3) * 8, 8, s.clean);
}

static u32 result_bits(u32 type, float value) { return type == 0 ? to_bits(value) : type == 1 ? float_to_half(value) : float_to_bf16(value); }

// V_CVT_F32_FP8, V_CVT_PK_F32_FP8, V_CVT_SCALEF32_PK_*_FP8/FP4: small floats → one or two values.
static void unpack_small(Wave& w, const Op& op) {
  u32 type = op.control >> 4 & 15, kind = op.control & 15, count = op.control >> 10 & 3;
  bool scaled = op.control >> 8 & 1;
  Format f = !scaled && kind <= kE5M2 ? flavour(w, kind == kE5M2) : Format(kind);
  u32 width = u32(width_of(f));
  Small s;
  if (op.flags & kSdwa) { Buffer b; (void)b; }
  fetch_small(w, op, scaled ? 2 : 1, s);
  u32 select = count == 1 ? (op.opsel & 1) << 1 | (op.opsel >> 1 & 1) : width == 4 ? op.opsel & 3 : op.opsel & 1;
  if (op.flags & kSdwa) select = 0;
  if (count == 1 && op.control >> 12 & 1) select = op.opsel & 3;
  u32 shift = select * width * count, low[kLanes], high[kLanes], mask = (1u << width) - 1;
  for (int i = 0; i < kLanes; i++) {
    float scale = scaled ? power(s.b[i]) : 1.0f;
    low[i] = result_bits(type, decode_small(f, s.a[i] >> shift & mask) * scale);
    high[i] = count == 2 ? result_bits(type, decode_small(f, s.a[i] >> (shift + width) & mask) * scale) : 0;
    if (type && count == 2) low[i] |= high[i] << 16;
  }
  u32 bits = type && count == 1 ? 16 : 32;
  store_part(w, op, low, type && count == 1 && op.opsel & 8 ? 16 : 0, bits, s.clean);
  if (!type && count == 2) { Op second = op; second.dst.index++; store_part(w, second, high, 0, 32, s.clean); }
}

static const Entry kEntries[] = {
  {"pack_small", pack_small, kValu, 4, "", nullptr, 0, 0}, {"unpack_small", unpack_small, kValu, 4, "", nullptr, 0, 0},
  {"pack_stochastic", pack_stochastic, kValu, 4, "", nullptr, 0, 0},
};

Table small_float_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
