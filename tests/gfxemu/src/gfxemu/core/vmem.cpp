// Vector memory: global, flat, scratch, buffer (CDNA3 ISA §9 "Vector Memory Operations", §10 "Flat Memory"; RDNA3 ISA
// §8, §11; RDNA4 ISA §10, §12).
#include "memory.h"
#include <algorithm>
#include "tables.h"

namespace gfxemu {

static Space space_of(const Op& op) { return Space(op.control >> 16 & 3); }
static Counts& counts(Wave& w) { return w.group->machine->counts; }

static void touch_lines(Region& r, u64 offset, u32 bytes, u8 bit) {
  if (r.lines.empty()) r.lines.assign(r.size / 128 + 2, 0);
  u64 base = (r.base & 127) + offset;
  for (u64 line = base / 128; line <= (base + bytes - 1) / 128; line++) r.lines[line] |= bit;
}

static void start_stamps(const Wave& w, Region& r) {
  if (!is_shared(w) || !r.stamps.write.empty()) return;
  r.stamps.write.assign(r.size, 0);
  r.stamps.read.assign(r.size, 0);
}

static Place global_place(Wave& w, u64 address, u32 bytes, int lane, bool write) {
  Region& r = region_at(w, address, bytes, lane, write);
  u64 offset = address - r.base;
  start_stamps(w, r);
  touch_lines(r, offset, bytes, write ? 2 : 1);
  return {r.host + offset, nullptr, r.stamps.write.empty() ? nullptr : &r.stamps, offset, address, &r, false};
}

static Place scratch_place(Wave& w, u64 offset, u32 bytes, int lane) {
  u64 each = w.group->machine->launch.scratch_bytes;
  if (offset + bytes > each)
    fail(FaultKind::out_of_bounds, std::to_string(bytes) + " bytes at scratch offset " + hex(offset) + " of " + std::to_string(each), 1ull << lane, offset);
  u64 at = each * u64(lane) + offset;
  counts(w).scratch_bytes += bytes;
  return {&w.scratch[at], &w.scratch_shadow[at], nullptr, at, offset, nullptr, true};
}

static u64 scalar_base(Wave& w, const Operand& from, bool wide) {
  if (scalar_shadow(w, from, wide)) fail(FaultKind::uninitialized, "the scalar address is undefined");
  return scalar_value(w, from, wide);
}

// Raw buffers (CDNA3 ISA §9.1.5): a dword outside of num_records reads as zero and is not written.
struct Buffers { u64 base; u64 records; u32 scalar_offset; bool thread_swizzle; };
static Buffers read_resource(Wave& w, const Op& op) {
  u32 word[4];
  for (u32 k = 0; k < 4; k++) {
    Operand one{Kind::scalar, 1, u16(op.src[2].index + k), 0, 0};
    word[k] = u32(scalar_base(w, one, false));
  }
  u32 stride = word[1] >> 16 & 0x3fff;
  bool gfx9 = w.group->machine->generation() == 9;
  bool add_tid = gfx9 && word[3] >> 23 & 1;
  if (stride && !add_tid) fail(FaultKind::unsupported, "structured buffers (stride " + std::to_string(stride) + ")");
  return {u64(word[1] & 0xffff) << 32 | word[0], word[2], u32(scalar_base(w, op.src[3], false)), add_tid};
}

struct Addressing { u64 scalar; Buffers buffer; };

static Addressing prepare(Wave& w, const Op& op) {
  Addressing a{};
  Space space = space_of(op);
  if (op.src[0].kind == Kind::vector) require_clean(w, op.src[0].index, op.src[0].width, "the address");
  if (space == Space::buffer) a.buffer = read_resource(w, op);
  else if (op.src[2].kind == Kind::scalar) a.scalar = scalar_base(w, op.src[2], space != Space::scratch);
  return a;
}

static Place flat_place(Wave& w, u64 address, u32 bytes, int lane, bool write) {
  u32 aperture = u32(address >> 32);
  if (aperture == kSharedAperture) return lds_place(w, u32(address), bytes, lane);
  if (aperture == kPrivateAperture) return scratch_place(w, u32(address), bytes, lane);
  return global_place(w, address, bytes, lane, write);
}

// The place of `bytes` at `extra` behind the instruction's address in one lane; at == nullptr: an out-of-range buffer part.
static Place place_of(Wave& w, const Op& op, const Addressing& a, int lane, u32 extra, u32 bytes, bool write, bool exact) {
  Space space = space_of(op);
  u64 low = op.src[0].kind == Kind::vector ? w.v[op.src[0].index][lane] : 0;
  if (space == Space::buffer) {
    u64 offset = low + u32(op.offset) + extra;
    // the scalar offset counts bytes of the whole wave (LLVM AMDGPU usage, "Private Segment Buffer")
    if (a.buffer.thread_swizzle) return scratch_place(w, offset + a.buffer.scalar_offset / kLanes, bytes, lane);
    if (offset + bytes > a.buffer.records) return {};
    check_alignment(w, a.buffer.base + offset + a.buffer.scalar_offset, bytes, lane, exact);
    return global_place(w, a.buffer.base + offset + a.buffer.scalar_offset, bytes, lane, write);
  }
  if (space == Space::scratch) {
    u64 offset = u32(low + a.scalar + u32(op.offset)) + extra;
    check_alignment(w, offset, bytes, lane, exact);
    return scratch_place(w, offset, bytes, lane);
  }
  u64 address = op.src[0].width == 2 ? u64(w.v[op.src[0].index + 1][lane]) << 32 | low : low;
  address += a.scalar + u64(i64(op.offset)) + extra;
  check_alignment(w, address, bytes, lane, exact);
  return space == Space::flat ? flat_place(w, address, bytes, lane, write) : global_place(w, address, bytes, lane, write);
}

static u32 step_of(const Op& op) { return space_of(op) == Space::buffer && op.size > 4 ? 4 : op.size; }

static void start(Wave& w, const Op& op, Counter counter, u32& sequence, u32& lds_sequence) {
  sequence = issue(w, counter);
  lds_sequence = space_of(op) == Space::flat ? issue(w, kDs) : 0;  // FLAT counts in both (CDNA3 ISA §10.2)
  w.any_pending = true;
}

static void count_traffic(Wave& w, u32 bytes, bool write, const u64* addresses) {
  Counts& c = counts(w);
  (write ? c.global_written_bytes : c.global_read_bytes) += u64(bytes) * u64(__builtin_popcountll(w.exec));
  u64 last = ~0ull;
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    if (addresses[i] / 128 != last) c.global_lines++;
    last = addresses[i] / 128;
  }
}

static void load_lanes(Wave& w, const Op& op, Loaded& out) {
  Addressing a = prepare(w, op);
  u32 step = step_of(op);
  u64 addresses[kLanes] = {};
  bool races = is_shared(w);
  Touch touch = op.control & kCoherent ? Touch::atomic_read : Touch::read;
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    for (u32 extra = 0; extra < op.size; extra += step) {
      Place p = place_of(w, op, a, i, extra, step, false, false);
      u32 k = extra / 4;
      if (!p.at) { for (u32 z = 0; z < std::max(1u, step / 4); z++) out.values[k + z][i] = out.shadow[k + z][i] = 0; continue; }
      if (races && p.stamps) note_access(w, {p.stamps, p.offset, step, touch, nullptr, nullptr, i, p.address});
      if (step == op.size) { read_lane(p, step, op.control, i, out); }
      else {
        std::memcpy(&out.values[k][i], p.at, 4);
        out.shadow[k][i] = 0;
        if (p.shadow) std::memcpy(&out.shadow[k][i], p.shadow, 4);
        out.clean &= out.shadow[k][i] == 0;
      }
      addresses[i] = p.address;
    }
  }
  if (space_of(op) != Space::scratch) count_traffic(w, op.size, false, addresses);
}

// Loads straight into LDS (gfx950 ISA "BUFFER/GLOBAL_LOAD_LDS"): lane i's data goes to M0 + offset + i * size.
static void store_to_lds(Wave& w, const Op& op, const Loaded& data, u32 sequence) {
  u64 base = (read_scalar(w, kM0) & 0xffff) + u32(op.offset1);
  Outstanding o{sequence, kLoad, true, op.size, w.exec, nullptr, {}, Touch::write};
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    Place p = lds_place(w, base + u64(i) * op.size, op.size, i);
    u8 bytes[16];
    for (u32 k = 0; k < std::max(1u, op.size / 4u); k++) std::memcpy(bytes + 4 * k, &data.values[k][i], 4);
    if (is_shared(w)) note_access(w, {p.stamps, p.offset, op.size, Touch::write, p.at, bytes, i, p.address});
    std::memcpy(p.at, bytes, op.size);
    std::memset(p.shadow, 0, op.size);
    o.at[i] = p.offset;
  }
  if (w.exec) remember_access(w, o);
}

static void mem_load(Wave& w, const Op& op) {
  Loaded out;
  load_lanes(w, op, out);
  u32 sequence, lds_sequence;
  start(w, op, kLoad, sequence, lds_sequence);
  if (op.control & kToLds) return store_to_lds(w, op, out, sequence);
  write_loaded(w, op, op.dst.index, out.values, out.shadow, op.size, out.clean);
  if (!w.exec) return;
  mark_vector_pending(w, op, kLoad, sequence);
  if (lds_sequence) mark_vector_pending(w, op, kDs, lds_sequence);
}

static Counter store_counter(const Wave& w) { return w.group->machine->generation() == 9 ? kLoad : kStore; }

// One lane of an access; the first says where all are: compilers do not mix LDS and buffers in one FLAT instruction.
static void add_lane(Outstanding& o, const Place& p, int lane) {
  if (!p.stamps) return;
  bool lds = !p.region;
  if (!o.lanes) { o.lds = lds; o.region = p.region; }
  if (o.lds != lds || o.region != p.region) return;
  o.lanes |= 1ull << lane;
  o.at[lane] = p.offset;
}

static void mem_store(Wave& w, const Op& op) {
  Addressing a = prepare(w, op);
  u32 step = step_of(op), sequence, lds_sequence;
  start(w, op, store_counter(w), sequence, lds_sequence);
  u64 addresses[kLanes] = {};
  for (u32 extra = 0; extra < op.size; extra += step) {
    Place places[kLanes];
    Outstanding o{sequence, store_counter(w), false, step, 0, nullptr, {}, Touch::write};
    for (int i = 0; i < w.lanes(); i++) {
      if (!(w.exec >> i & 1)) continue;
      Place p = place_of(w, op, a, i, extra, step, true, false);
      if (!p.at) continue;
      write_lane(w, p, op, op.src[1].index + extra / 4, step, i);
      places[i] = p;
      addresses[i] = p.address;
      add_lane(o, p, i);
    }
    if (space_of(op) != Space::scratch) check_lane_conflicts(w, op, places, op.src[1].index + extra / 4, step);
    if (o.lanes) remember_access(w, o);
  }
  if (space_of(op) != Space::scratch) count_traffic(w, op.size, true, addresses);
}

static void mem_atomic(Wave& w, const Op& op) {
  Addressing a = prepare(w, op);
  bool wide = op.control & kAtomic64, returns = op.flags & kReturns;
  u32 bytes = wide ? 8 : 4, operation = op.control >> 8 & 0xff, data = op.src[1].index;
  require_clean(w, data, op.src[1].width, "an atomic's data");
  u32 low[kLanes] = {}, high[kLanes] = {}, sequence, lds_sequence;
  Counter counter = returns ? kLoad : store_counter(w);
  start(w, op, counter, sequence, lds_sequence);
  Outstanding o{sequence, counter, false, bytes, 0, nullptr, {}, Touch::atomic};
  bool races = is_shared(w);
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    Place p = place_of(w, op, a, i, 0, bytes, true, true);
    if (!p.at) continue;
    auto operand = [&](u32 r) { return wide ? u64(w.v[r + 1][i]) << 32 | w.v[r][i] : u64(w.v[r][i]); };
    if (races && p.stamps) note_access(w, {p.stamps, p.offset, bytes, Touch::atomic, nullptr, nullptr, i, p.address});
    add_lane(o, p, i);
    u64 old = 0;
    std::memcpy(&old, p.at, bytes);
    u64 next = atomic_result(operation, old, operand(data), operation == 1 ? operand(data + bytes / 4) : 0, wide);
    std::memcpy(p.at, &next, bytes);
    low[i] = u32(old); high[i] = u32(old >> 32);
  }
  counts(w).atomics++;
  if (o.lanes) remember_access(w, o);
  w.slept = returns;                                    // somebody may be spinning: let others run
  if (!returns) return;
  store_vector(w, op.dst.index, low, w.exec);
  if (wide) store_vector(w, op.dst.index + 1u, high, w.exec);
  if (w.exec) mark_vector_pending(w, op, kLoad, sequence);
}

// Cache write-backs count like stores; invalidations do not count (LLVM SIInsertWaitcnts agrees).
static void cache_write_back(Wave& w, const Op&) { issue(w, store_counter(w)); w.any_pending = true; }
static void cache_nothing(Wave&, const Op&) {}

// Scalar loads (CDNA3 ISA §7 "Scalar Memory Operations"): the low two address bits are ignored by hardware, a fault here.
static void scalar_load(Wave& w, const Op& op, u64 address) {
  if (address & 3) fail(FaultKind::misaligned, "scalar load at " + hex(address), 0, address);
  Region& r = region_at(w, address, op.size, -1, false);
  for (u32 k = 0; k < op.size / 4u; k++) {
    u32 value;
    std::memcpy(&value, r.host + (address - r.base) + 4 * k, 4);
    write_scalar(w, op.dst.index + k, value, 0);
  }
  start_stamps(w, r);
  if (is_shared(w)) note_access(w, {&r.stamps, address - r.base, op.size, Touch::read, nullptr, nullptr, 0, address});
  touch_lines(r, address - r.base, op.size, 1);
  counts(w).scalar_bytes += op.size;
}
static void finish_scalar(Wave& w, const Op& op) {
  Counter counter = w.group->machine->generation() >= 12 ? kKm : kDs;
  u32 sequence = issue(w, counter);
  w.last_scalar = sequence;
  mark_scalar_pending(w, op.dst.index, op.dst.width, counter, sequence);
}
static void s_load(Wave& w, const Op& op) {
  u64 address = scalar_base(w, op.src[0], true) + u64(i64(op.offset));
  if (op.src[1].kind == Kind::scalar) address += scalar_base(w, op.src[1], false);
  scalar_load(w, op, address);
  finish_scalar(w, op);
}
static void s_buffer_load(Wave& w, const Op& op) {
  u64 base = scalar_base(w, op.src[0], true) & 0xffffffffffffull, offset = u64(i64(op.offset));
  Operand size{Kind::scalar, 1, u16(op.src[0].index + 2), 0, 0};
  if (op.src[1].kind == Kind::scalar) offset += scalar_base(w, op.src[1], false);
  if (offset + op.size > scalar_base(w, size, false)) fail(FaultKind::out_of_bounds, "scalar buffer load at offset " + hex(offset), 0, base + offset);
  scalar_load(w, op, base + offset);
  finish_scalar(w, op);
}

static const Entry kEntries[] = {
  {"mem_load", mem_load, kVmem, 4, "", nullptr, 0, 0}, {"mem_store", mem_store, kVmem, 4, "", nullptr, 0, 0},
  {"mem_atomic", mem_atomic, kVmem, 4, "", nullptr, 0, 0}, {"s_load", s_load, kSmem, 1, "", nullptr, 0, 0},
  {"s_buffer_load", s_buffer_load, kSmem, 1, "", nullptr, 0, 0}, {"cache_write_back", cache_write_back, kOther, 1, "", nullptr, 0, 0},
  {"cache_nothing", cache_nothing, kOther, 1, "", nullptr, 0, 0},
};

Table memory_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
