// A vector instruction: sources → lane loop → clamp, omod, merge under EXEC; undefined bits follow their own path.
#include <xmmintrin.h>
#include "vector.h"
#include "half.h"
#include "tables.h"

namespace gfxemu {

// MODE (CDNA3 ISA §3.3): bits 1:0 round f32, 3:2 round f64 and f16, 5:4 denormals f32, 7:6 denormals f64 and f16.
void set_float_mode(Wave& w, u8 float_class) {
  u32 round = w.mode >> (float_class == kFloat32 ? 0 : 2) & 3;
  u32 denormals = w.mode >> (float_class == kFloat32 ? 4 : 6) & 3;
  g_half_mode = {int(w.mode >> 2 & 3), (w.mode >> 6 & 3) == 0};
  static const u32 kRound[4] = {0x0000, 0x4000, 0x2000, 0x6000};  // nearest, +inf, -inf, zero
  u32 control = 0x1f80 | kRound[round];
  if (float_class == kFloat32 || float_class == kFloat64) {
    if (!(denormals & 1)) control |= 0x0040;                      // inputs
    if (!(denormals & 2)) control |= 0x8000;                      // outputs
  }
  if (control != w.group->machine->float_control) {
    _mm_setcsr(control);
    w.group->machine->float_control = control;
  }
}

static float clamp_unit(float x) { return x > 1 ? 1.0f : x > 0 ? x : 0.0f; }  // NaN → 0, as with DX10_CLAMP set

static void modify_float(const Op& op, u32* out, u32 mode) {
  float factor = op.omod == 1 ? 2.0f : op.omod == 2 ? 4.0f : op.omod == 3 ? 0.5f : 1.0f;
  bool scale = op.omod && !(mode >> 4 & 2);             // "ignored if output denormals are enabled"
  for (int i = 0; i < kLanes; i++) {
    float value = from_bits<float>(out[i]);
    if (scale) value *= factor;
    out[i] = to_bits(op.clamp ? clamp_unit(value) : value);
  }
}

static void modify_half(const Op& op, u32* out) {
  for (int i = 0; i < kLanes; i++) if (op.clamp) out[i] = float_to_half(clamp_unit(half_to_float(u16(out[i]))));
}

static void modify_double(const Op& op, u64* out) {
  for (int i = 0; i < kLanes; i++) {
    double value; std::memcpy(&value, &out[i], 8);
    if (op.clamp) value = value > 1 ? 1.0 : value > 0 ? value : 0.0;
    std::memcpy(&out[i], &value, 8);
  }
}

static void modify(const Wave& w, const Op& op, char type, Buffer& out) {
  if (type == 'f') modify_float(op, reinterpret_cast<u32*>(out.raw), w.mode);
  else if (type == 'h') modify_half(op, reinterpret_cast<u32*>(out.raw));
  else if (type == 'd') modify_double(op, out.raw);
}

// Where a 16-bit or SDWA result goes inside its register; `old` gives the bits that stay.
static void place_result(const Op& op, char type, u32* out, const u32* old) {
  if (op.flags & kSdwa) {
    u32 select = op.control & 7, unused = op.control >> 3 & 3;
    if (select == 6) return;
    int shift = select < 4 ? int(select) * 8 : int(select - 4) * 16, bits = select < 4 ? 8 : 16;
    u32 mask = ((1u << bits) - 1) << shift;
    for (int i = 0; i < kLanes; i++) {
      u32 value = out[i] << shift & mask;
      u32 rest = unused == 2 ? old[i] & ~mask : unused == 1 && out[i] >> (bits - 1) & 1 ? ~(mask | (mask - 1)) : 0;
      out[i] = value | rest;
    }
    return;
  }
  if (type != 's' && type != 't' && type != 'h' && type != 'b') return;
  if (op.opsel & 8) { for (int i = 0; i < kLanes; i++) out[i] = out[i] << 16 | (old[i] & 0xffff); return; }
  if (op.flags & kZeroHigh) return;
  for (int i = 0; i < kLanes; i++) out[i] = (out[i] & 0xffff) | (old[i] & 0xffff0000);
}

static bool keeps_old(const Op& op, char type) {
  if (op.flags & kSdwa) return (op.control & 7) != 6 && (op.control >> 3 & 3) == 2;
  bool is_short = type == 's' || type == 't' || type == 'h' || type == 'b';
  return is_short && (op.opsel & 8 || !(op.flags & kZeroHigh));
}

static void combine_shadows(const Entry& e, const Lanes& values, const Lanes& shadows, int count, bool wide);

static void store_result(Wave& w, const Op& op, char type, Buffer& out, const Buffer* shadow, u64 mask) {
  u32 reg = op.dst.index;
  if (type == 'U' || type == 'I' || type == 'd') {
    u32 low[kLanes], high[kLanes], shadow_low[kLanes], shadow_high[kLanes];
    for (int i = 0; i < kLanes; i++) { low[i] = u32(out.raw[i]); high[i] = u32(out.raw[i] >> 32); }
    if (!shadow) { store_vector(w, reg, low, mask); store_vector(w, reg + 1, high, mask); return; }
    for (int i = 0; i < kLanes; i++) { shadow_low[i] = u32(shadow->raw[i]); shadow_high[i] = u32(shadow->raw[i] >> 32); }
    store_shadowed(w, reg, low, shadow_low, mask);
    store_shadowed(w, reg + 1, high, shadow_high, mask);
    return;
  }
  auto* values = reinterpret_cast<u32*>(out.raw);
  bool keeps = keeps_old(op, type);
  place_result(op, type, values, w.v[reg]);
  if (!shadow && !(keeps && (mask & ~w.clean[reg]))) { store_vector(w, reg, values, mask); return; }
  u32 placed[kLanes] = {}, old[kLanes];
  if (shadow) std::memcpy(placed, shadow->raw, sizeof placed);
  for (int i = 0; i < kLanes; i++) old[i] = shadow_of(w, reg, i);
  place_result(op, type, placed, old);
  store_shadowed(w, reg, values, placed, mask);
}

void execute_vector(Wave& w, const Op& op) {
  const Entry& e = entry_of(op.op);
  const char* types = e.types;
  int count = int(std::strlen(types)) - 1;
  if (e.float_class) set_float_mode(w, e.float_class);
  Buffer in[3], out;
  Lanes lanes{w.lanes(), out.raw, {}, w.exec, &w, &op};
  for (int i = 0; i < count; i++) lanes.in[i] = fetch(w, op, i, types[i + 1], in[i]);
  reinterpret_cast<LaneLoop>(e.lanes)(lanes);
  if (op.clamp || op.omod) modify(w, op, types[0], out);
  u64 mask = op.flags & (kDpp | kDpp8) ? dpp_mask(w, op) : w.exec;
  if (sources_clean(w, op, count, mask)) { store_result(w, op, types[0], out, nullptr, mask); return; }
  Buffer shadow_in[3], shadow_out;
  Lanes shadows{w.lanes(), shadow_out.raw, {}, w.exec, &w, &op};
  for (int i = 0; i < count; i++) shadows.in[i] = fetch_shadow(w, op, i, types[i + 1], shadow_in[i]);
  combine_shadows(e, lanes, shadows, count, false);
  store_result(w, op, types[0], out, &shadow_out, mask);
}

static bool is_wide(char type) { return type == 'U' || type == 'I' || type == 'd'; }

static u64 at(const void* from, char type, int lane) {
  return is_wide(type) ? static_cast<const u64*>(from)[lane] : static_cast<const u32*>(from)[lane];
}

static u64 combine(u8 taint, const u64* v, const u64* t, int count) {
  u64 any = t[0] | (count > 1 ? t[1] : 0) | (count > 2 ? t[2] : 0);
  switch (taint) {
    case kUnion: return any;
    case kLeft: return any ? ~((any & (0 - any)) - 1) : 0;              // carries only move up
    case kAnd: return (t[0] & t[1]) | (t[0] & v[1]) | (v[0] & t[1]);
    case kOr: return (t[0] & t[1]) | (t[0] & ~v[1]) | (~v[0] & t[1]);
    case kAndOr: return (t[0] & t[1]) | (t[0] & v[1]) | (v[0] & t[1]) | t[2];
    case kShiftOr: return t[1] ? ~0ull : t[0] << (v[1] & 31) | t[2];
    case kSelect: return t[2] & 1 ? ~0ull : v[2] & 1 ? t[1] : t[0];
    case kBitSelect: return (v[0] & t[1]) | (~v[0] & t[2]) | t[0];
    default: return any ? ~0ull : 0;
  }
}

// Result bits that depend on undefined source bits; the scheme of memory checkers, per instruction class.
static void combine_shadows(const Entry& e, const Lanes& values, const Lanes& shadows, int count, bool) {
  bool wide = is_wide(e.types[0]);
  if (e.taint == kRerunB || e.taint == kRerunA || e.taint == kRerunAB) {  // the data operand's shadow moves as the data
    Lanes again = shadows;
    for (int i = 0; i < count; i++) {
      bool data = e.taint == kRerunB ? i == 1 : e.taint == kRerunA ? i == 0 : i < 2;
      if (!data) again.in[i] = values.in[i];
    }
    reinterpret_cast<LaneLoop>(e.lanes)(again);
  }
  for (int i = 0; i < shadows.count; i++) {
    u64 v[3] = {}, t[3] = {};
    for (int k = 0; k < count; k++) { v[k] = at(values.in[k], e.types[k + 1], i); t[k] = at(shadows.in[k], e.types[k + 1], i); }
    u64 out;
    if (e.taint == kRerunB || e.taint == kRerunA || e.taint == kRerunAB) {
      u64 control = e.taint == kRerunB ? t[0] : e.taint == kRerunA ? t[1] | t[2] : t[2];
      if (!control) continue;
      out = ~0ull;
    } else {
      out = combine(e.taint, v, t, count);
    }
    if (wide) static_cast<u64*>(shadows.out)[i] = out;
    else static_cast<u32*>(shadows.out)[i] = u32(out);
  }
}

void execute_compare(Wave& w, const Op& op) {
  const Entry& e = entry_of(op.op);
  int count = int(std::strlen(e.types)) - 1;
  if (e.float_class) set_float_mode(w, e.float_class);
  Buffer in[2], out;
  Lanes lanes{w.lanes(), out.raw, {}, w.exec, &w, &op};
  for (int i = 0; i < count; i++) lanes.in[i] = fetch(w, op, i, e.types[i + 1], in[i]);
  reinterpret_cast<LaneLoop>(e.lanes)(lanes);
  auto* truth = reinterpret_cast<u32*>(out.raw);
  u64 result = 0, shadow = 0;
  for (int i = 0; i < lanes.count; i++) result |= u64(truth[i] & 1) << i;
  result &= w.exec;
  if (!sources_clean(w, op, count, w.exec)) {
    Buffer shadow_in[2];
    const void* t[2];
    for (int i = 0; i < count; i++) t[i] = fetch_shadow(w, op, i, e.types[i + 1], shadow_in[i]);
    for (int i = 0; i < lanes.count; i++)
      for (int k = 0; k < count; k++) shadow |= u64(at(t[k], e.types[k + 1], i) != 0) << i;
    shadow &= w.exec;
  }
  if (op.dst.kind == Kind::scalar) write_mask(w, op.dst, result, shadow);
  if (op.flags & kAlternative) write_exec(w, result, shadow);           // v_cmpx
}

}  // namespace gfxemu
