// Operands of vector instructions: registers, constants, modifiers, DPP, SDWA → lane buffers; results → registers.
#include "vector.h"
#include "half.h"
#include "cross_lane.h"

namespace gfxemu {

void fail(FaultKind kind, std::string text, u64 lanes, u64 address) {
  throw Fault{kind, std::move(text), lanes, address};
}

static bool wide_type(char type) { return type == 'U' || type == 'I' || type == 'd'; }
static bool short_type(char type) { return type == 's' || type == 't' || type == 'h' || type == 'b'; }

static void broadcast(Buffer& buffer, u64 value, bool wide) {
  if (wide) { for (int i = 0; i < kLanes; i++) buffer.raw[i] = value; return; }
  auto* out = reinterpret_cast<u32*>(buffer.raw);
  for (int i = 0; i < kLanes; i++) out[i] = u32(value);
}

static void spread_mask(Buffer& buffer, u64 bits) {
  auto* out = reinterpret_cast<u32*>(buffer.raw);
  for (int i = 0; i < kLanes; i++) out[i] = u32(bits >> i & 1);
}

static void join_pair(Buffer& buffer, const u32* low, const u32* high) {
  for (int i = 0; i < kLanes; i++) buffer.raw[i] = u64(high[i]) << 32 | low[i];
}

// SDWA (Vega ISA §13.3.2 "SDWA"): a byte or word of a source, zero- or sign-extended.
static void select_sdwa(u32* out, const u32* in, u32 select, bool sign) {
  int shift = select < 4 ? int(select) * 8 : select < 6 ? int(select - 4) * 16 : 0;
  int bits = select < 4 ? 8 : select < 6 ? 16 : 32;
  for (int i = 0; i < kLanes; i++) {
    u32 value = in[i] >> shift;
    out[i] = bits == 32 ? value : sign ? u32(i32(value << (32 - bits)) >> (32 - bits)) : value & ((1u << bits) - 1);
  }
}

static const void* place(const Op& op, int source, char type, const void* in, Buffer& buffer, bool shadow) {
  auto* out = reinterpret_cast<u32*>(buffer.raw);
  auto* values = static_cast<const u32*>(in);
  if (op.flags & kSdwa && source < 2) {
    select_sdwa(out, values, op.control >> (8 + 4 * source) & 7, op.control >> (16 + source) & 1);
    values = out;
  }
  if (short_type(type)) {
    int shift = !(op.flags & kSdwa) && op.opsel >> source & 1 ? 16 : 0;
    for (int i = 0; i < kLanes; i++) out[i] = values[i] >> shift & 0xffff;
    values = out;
  }
  bool negate = op.neg >> source & 1, absolute = op.abs >> source & 1;
  if (shadow || !(negate || absolute)) return values;
  if (wide_type(type)) {
    auto* from = static_cast<const u64*>(static_cast<const void*>(values));
    for (int i = 0; i < kLanes; i++) {
      u64 value = absolute ? from[i] & ~(1ull << 63) : from[i];
      buffer.raw[i] = negate ? value ^ 1ull << 63 : value;
    }
    return buffer.raw;
  }
  u32 sign = short_type(type) ? 0x8000u : 0x80000000u;
  for (int i = 0; i < kLanes; i++) {
    u32 value = absolute ? values[i] & ~sign : values[i];
    out[i] = negate ? value ^ sign : value;
  }
  return out;
}

const void* fetch(Wave& w, const Op& op, int source, char type, Buffer& buffer) {
  const Operand& from = op.src[source];
  if (type == 'm') { spread_mask(buffer, read_mask(w, from)); return buffer.raw; }
  bool wide = wide_type(type);
  const void* values = buffer.raw;
  if (from.kind == Kind::vector) {
    if (wide) join_pair(buffer, w.v[from.index], w.v[from.index + 1]);
    else values = w.v[from.index];
  } else {
    broadcast(buffer, scalar_value(w, from, wide), wide);
  }
  if (source == 0 && op.flags & (kDpp | kDpp8)) { permute_dpp(w, op, values, buffer, wide); values = buffer.raw; }
  return place(op, source, type, values, buffer, false);
}

u32 shadow_of(const Wave& w, u32 reg, int lane) { return w.clean[reg] >> lane & 1 ? 0 : w.shadow[reg][lane]; }

const void* fetch_shadow(Wave& w, const Op& op, int source, char type, Buffer& buffer) {
  const Operand& from = op.src[source];
  if (type == 'm') { spread_mask(buffer, scalar_shadow(w, from, w.lanes() == 64)); return buffer.raw; }
  bool wide = wide_type(type);
  auto* out = reinterpret_cast<u32*>(buffer.raw);
  if (from.kind == Kind::vector) {
    for (int i = 0; i < kLanes; i++) {
      if (wide) buffer.raw[i] = u64(shadow_of(w, from.index + 1u, i)) << 32 | shadow_of(w, from.index, i);
      else out[i] = shadow_of(w, from.index, i);
    }
  } else {
    broadcast(buffer, scalar_shadow(w, from, wide), wide);
  }
  if (source == 0 && op.flags & (kDpp | kDpp8)) permute_dpp(w, op, buffer.raw, buffer, wide);
  return place(op, source, type, buffer.raw, buffer, true);
}

bool sources_clean(const Wave& w, const Op& op, int count, u64 lanes) {
  for (int i = 0; i < count; i++) {
    const Operand& from = op.src[i];
    if (from.kind == Kind::vector) {
      u64 needed = i == 0 && op.flags & (kDpp | kDpp8) ? w.all() : lanes;
      for (u32 r = from.index; r < u32(from.index + from.width); r++) if (needed & ~w.clean[r]) return false;
    } else if (from.kind != Kind::constant && from.kind != Kind::none && scalar_shadow(w, from, from.width == 2)) {
      return false;
    }
  }
  return true;
}

void store_vector(Wave& w, u32 reg, const u32* values, u64 mask) {
  u32* out = w.v[reg];
  if (mask == w.all()) {
    std::memcpy(out, values, sizeof(u32) * size_t(w.lanes()));
  } else {
    for (int i = 0; i < kLanes; i++) { u32 m = 0u - u32(mask >> i & 1); out[i] = (out[i] & ~m) | (values[i] & m); }
  }
  w.clean[reg] |= mask;
}

void store_shadowed(Wave& w, u32 reg, const u32* values, const u32* shadow, u64 mask) {
  for (int i = 0; i < kLanes; i++) {
    if (!(mask >> i & 1)) continue;
    w.v[reg][i] = values[i];
    w.shadow[reg][i] = shadow[i];
    w.clean[reg] = (w.clean[reg] & ~(1ull << i)) | u64(shadow[i] == 0) << i;
  }
}

}  // namespace gfxemu
