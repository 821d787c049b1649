// One lane's bytes: bounds, alignment, undefined bits, atomics' arithmetic.
#include "memory.h"
#include <algorithm>
#include <cstdio>
#include "float_rules.h"
#include "half.h"

namespace gfxemu {

std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

static std::string sized(u32 bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

Region& region_at(Wave& w, u64 address, u32 bytes, int lane, bool write) {
  Machine& m = *w.group->machine;
  Region* r = m.last;
  if (!r || address < r->base || address + bytes > r->base + r->size) {
    auto after = std::upper_bound(m.regions.begin(), m.regions.end(), address, [](u64 a, const Region& x) { return a < x.base; });
    r = after == m.regions.begin() ? nullptr : &*(after - 1);
    if (!r || address + bytes > r->base + r->size)
      fail(FaultKind::out_of_bounds, std::string(write ? "store of " : "load of ") + sized(bytes) + " at " + hex(address) +
           " is outside of every buffer", lane < 0 ? 0 : 1ull << lane, address);
    m.last = r;
  }
  if (write && !r->writable) fail(FaultKind::out_of_bounds, "store to read-only memory at " + hex(address), lane < 0 ? 0 : 1ull << lane, address);
  return *r;
}

Place lds_place(Wave& w, u64 address, u32 bytes, int lane) {
  Group& g = *w.group;
  if (address + bytes > g.lds.size())
    fail(FaultKind::out_of_bounds, sized(bytes) + " at LDS " + hex(address) + " of " + std::to_string(g.lds.size()) + " bytes",
         1ull << lane, address);
  return {&g.lds[address], &g.lds_shadow[address], &g.stamps, address, address, nullptr, false};
}

void check_alignment(Wave& w, u64 address, u32 bytes, int lane, bool always) {
  auto policy = Alignment(w.group->machine->launch.arch.checks >> 4 & 3);
  u32 natural = bytes == 12 ? 4 : bytes;
  u32 needed = always || policy == Alignment::natural ? natural : policy == Alignment::dword ? std::min(natural, 4u) : 1;
  if (address % needed)
    fail(FaultKind::misaligned, sized(bytes) + " at " + hex(address) + ", not aligned to " + std::to_string(needed), 1ull << lane, address);
}

void require_clean(Wave& w, u32 reg, u32 count, const char* what) {
  if (!w.group->machine->checks()) return;
  for (u32 r = reg; r < reg + count; r++)
    if (u64 bad = w.exec & ~w.clean[r])
      fail(FaultKind::uninitialized, std::string(what) + " in " + (r < 256 ? "v" : "a") + std::to_string(r & 255) + " has undefined bits", bad);
}

u32 data_shadow(const Wave& w, u32 reg, u32 bytes, int lane, u32 index, bool high) {
  u32 shadow = shadow_of(w, reg + index, lane);
  if (bytes >= 4) return shadow;
  return (high ? shadow >> 16 : shadow) & (bytes == 1 ? 0xffu : 0xffffu);
}

void read_lane(const Place& p, u32 bytes, u32 control, int lane, Loaded& out) {
  if (bytes >= 4) {
    for (u32 k = 0; k < bytes / 4; k++) {
      std::memcpy(&out.values[k][lane], p.at + 4 * k, 4);
      out.shadow[k][lane] = 0;
      if (p.shadow) std::memcpy(&out.shadow[k][lane], p.shadow + 4 * k, 4);
      out.clean &= out.shadow[k][lane] == 0;
    }
    return;
  }
  u32 value = p.at[0], shadow = p.shadow ? p.shadow[0] : 0;
  if (bytes == 2) { value |= u32(p.at[1]) << 8; if (p.shadow) shadow |= u32(p.shadow[1]) << 8; }
  u32 sign = bytes == 2 ? 0x8000 : 0x80;
  if (control & kSigned) { value = (value ^ sign) - sign; shadow = (shadow ^ sign) - sign; }
  out.values[0][lane] = value;
  out.shadow[0][lane] = shadow;
  out.clean &= shadow == 0;
}

// d16 loads write one half. With SRAM ECC (all our gfx9 parts) the other half is not kept: it becomes undefined.
void write_loaded(Wave& w, const Op& op, u32 reg, const u32 (*values)[kLanes], const u32 (*shadow)[kLanes], u32 bytes, bool clean) {
  u32 half = op.control & (kD16 | kD16High);
  if (!half) {
    for (u32 k = 0; k < std::max(1u, bytes / 4); k++) {
      if (clean) store_vector(w, reg + k, values[k], w.exec);
      else store_shadowed(w, reg + k, values[k], shadow[k], w.exec);
    }
    return;
  }
  bool high = half & kD16High, keeps = w.group->machine->generation() >= 10;
  u32 merged[kLanes], merged_shadow[kLanes];
  for (int i = 0; i < kLanes; i++) {
    u32 old = w.v[reg][i], rest = keeps ? shadow_of(w, reg, i) : ~0u;
    u32 value = values[0][i] & 0xffff, bad = shadow[0][i] & 0xffff;
    merged[i] = high ? value << 16 | (old & 0xffff) : value | (old & 0xffff0000);
    merged_shadow[i] = high ? bad << 16 | (rest & 0xffff) : bad | (rest & 0xffff0000);
  }
  store_shadowed(w, reg, merged, merged_shadow, w.exec);
}

static void lane_bytes(const Wave& w, u32 reg, u32 bytes, int lane, bool high, u8* out) {
  for (u32 k = 0; k < std::max(1u, bytes / 4); k++) {
    u32 value = w.v[reg + k][lane] >> (high ? 16 : 0);
    std::memcpy(out + 4 * k, &value, std::min(4u, bytes));
  }
}

void write_lane(Wave& w, const Place& p, const Op& op, u32 reg, u32 bytes, int lane) {
  u8 data[16];
  bool high = op.control & kD16High, checks = w.group->machine->checks();
  lane_bytes(w, reg, bytes, lane, high, data);
  for (u32 k = 0; checks && k < std::max(1u, bytes / 4); k++) {
    u32 shadow = data_shadow(w, reg, bytes, lane, k, high);
    if (!p.shadow && shadow)
      fail(FaultKind::uninitialized, "stored data has undefined bits " + hex(shadow), 1ull << lane, p.address);
    if (p.shadow) std::memcpy(p.shadow + 4 * k, &shadow, std::min(4u, bytes));
  }
  if (p.stamps && is_shared(w))
    note_access(w, {p.stamps, p.offset, bytes, Touch::write, p.at, data, lane, p.address});
  std::memcpy(p.at, data, bytes);
}

void check_lane_conflicts(Wave& w, const Op& op, const Place* places, u32 reg, u32 bytes) {
  if (!w.group->machine->checks()) return;
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1) || !places[i].at) continue;
    u8 data[16];
    lane_bytes(w, reg, bytes, i, op.control & kD16High, data);
    if (std::memcmp(data, places[i].at, bytes))
      fail(FaultKind::race, "two lanes of one store write different values to " + hex(places[i].address), 1ull << i, places[i].address);
  }
}

static float as_float(u64 a) { return from_bits<float>(u32(a)); }
static double as_double(u64 a) { double out; std::memcpy(&out, &a, 8); return out; }
static u64 double_bits(double a) { u64 out; std::memcpy(&out, &a, 8); return out; }
static u64 packed_add(u64 a, u64 b, bool brain) {
  u64 out = 0;
  for (int s = 0; s < 32; s += 16) {
    u16 x = u16(a >> s), y = u16(b >> s);
    u64 sum = brain ? float_to_bf16(bf16_to_float(x) + bf16_to_float(y)) : float_to_half(half_to_float(x) + half_to_float(y));
    out |= sum << s;
  }
  return out;
}

// Atomic operations, numbered as lower.ATOMICS (CDNA3 ISA §12.15 "FLAT, Scratch and Global", pseudocode of each).
u64 atomic_result(u32 operation, u64 old, u64 data, u64 compare, bool wide) {
  i64 a = wide ? i64(old) : i32(u32(old)), b = wide ? i64(data) : i32(u32(data));
  switch (operation) {
    case 0: return data;
    case 1: return old == compare ? data : old;
    case 2: return old + data;
    case 3: return old - data;
    case 4: return a < b ? old : data;
    case 5: return old < data ? old : data;
    case 6: return a > b ? old : data;
    case 7: return old > data ? old : data;
    case 8: return old & data;
    case 9: return old | data;
    case 10: return old ^ data;
    case 11: return old >= data ? 0 : old + 1;
    case 12: return old == 0 || old > data ? data : old - 1;
    case 13: return wide ? double_bits(as_double(old) + as_double(data)) : to_bits(as_float(old) + as_float(data));
    case 14: return wide ? double_bits(minimum_number(as_double(old), as_double(data))) : to_bits(minimum_number(as_float(old), as_float(data)));
    case 15: return wide ? double_bits(maximum_number(as_double(old), as_double(data))) : to_bits(maximum_number(as_float(old), as_float(data)));
    case 16: return packed_add(old, data, false);
    case 17: return packed_add(old, data, true);
    case 18: return data - old;
    default: fail(FaultKind::unknown_opcode, "atomic operation " + std::to_string(operation));
  }
}

}  // namespace gfxemu
