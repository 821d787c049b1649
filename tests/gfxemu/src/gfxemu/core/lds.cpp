// LDS instructions (CDNA3 ISA §11 "Data Share", §12.14; CDNA4 ISA for the transposing reads; RDNA3 ISA §12, §16.13).
#include "memory.h"
#include <algorithm>
#include "tables.h"

namespace gfxemu {

static Counts& counts(Wave& w) { return w.group->machine->counts; }

// Cycles that banks add: lanes go in groups whose dwords fill all banks; equal dwords are broadcast.
static void count_conflicts(Wave& w, const u64* addresses, u32 bytes) {
  u32 banks = w.group->machine->launch.arch.id == 950 ? 64 : 32, dwords = std::max(1u, bytes / 4);
  int group = int(std::max(1u, 32 / dwords));
  for (int first = 0; first < w.lanes(); first += group) {
    u32 used[64][4]; u8 depth[64] = {};
    u32 worst = 1;
    for (int i = first; i < first + group; i++) {
      if (!(w.exec >> i & 1)) continue;
      for (u32 k = 0; k < dwords; k++) {
        u32 word = u32(addresses[i] / 4) + k, bank = word % banks;
        u32 stored = std::min<u32>(depth[bank], 4);
        if (std::find(used[bank], used[bank] + stored, word) != used[bank] + stored) continue;
        if (depth[bank] < 4) used[bank][depth[bank]] = word;
        worst = std::max<u32>(worst, ++depth[bank]);
      }
    }
    counts(w).lds_conflict_cycles += worst - 1;
  }
}

static u32 addresses_of(Wave& w, const Op& op, i32 offset, u64* out) {
  require_clean(w, op.src[0].index, 1, "the LDS address");
  const u32* base = w.v[op.src[0].index];
  for (int i = 0; i < w.lanes(); i++) out[i] = u32(base[i] + u32(offset));
  return u32(w.lanes());
}

static void remember(Wave& w, const u64* at, u32 bytes, u32 sequence, Touch touch) {
  Outstanding o{sequence, kDs, true, bytes, w.exec, nullptr, {}, touch};
  std::copy_n(at, kLanes, o.at);
  remember_access(w, o);
}

static void load_at(Wave& w, const Op& op, i32 offset, u32 bytes, Loaded& out) {
  u64 at[kLanes];
  addresses_of(w, op, offset, at);
  bool races = is_shared(w);
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    Place p = lds_place(w, at[i], bytes, i);
    check_alignment(w, at[i], bytes, i);
    if (races) note_access(w, {p.stamps, p.offset, bytes, Touch::read, nullptr, nullptr, i, p.address});
    read_lane(p, bytes, op.control, i, out);
  }
  if (races && w.exec) remember(w, at, bytes, w.issued[kDs] + 1, Touch::read);
  counts(w).lds_read_bytes += u64(bytes) * u64(__builtin_popcountll(w.exec));
  counts(w).lds_accesses++;
  count_conflicts(w, at, bytes);
}

static void finish_load(Wave& w, const Op& op) {
  u32 sequence = issue(w, kDs);
  if (w.exec) mark_vector_pending(w, op, kDs, sequence);
  else w.any_pending = true;
}

static void put_loaded(Wave& w, const Op& op, u32 reg, const Loaded& data) {
  write_loaded(w, op, reg, data.values, data.shadow, op.size, data.clean);
}

static void ds_read(Wave& w, const Op& op) {
  Loaded data;
  load_at(w, op, op.offset, op.size, data);
  put_loaded(w, op, op.dst.index, data);
  finish_load(w, op);
}
static void ds_read2(Wave& w, const Op& op) {           // the address register may be one of the destinations
  Loaded first, second;
  load_at(w, op, op.offset, op.size, first);
  load_at(w, op, op.offset1, op.size, second);
  put_loaded(w, op, op.dst.index, first);
  put_loaded(w, op, op.dst.index + op.size / 4u, second);
  finish_load(w, op);
}

static void store_at(Wave& w, const Op& op, i32 offset, u32 reg, u32 bytes, u32 sequence) {
  u64 at[kLanes];
  addresses_of(w, op, offset, at);
  Place places[kLanes];
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    places[i] = lds_place(w, at[i], bytes, i);
    check_alignment(w, at[i], bytes, i);
    write_lane(w, places[i], op, reg, bytes, i);
  }
  check_lane_conflicts(w, op, places, reg, bytes);
  if (w.exec) remember(w, at, bytes, sequence, Touch::write);
  counts(w).lds_written_bytes += u64(bytes) * u64(__builtin_popcountll(w.exec));
  counts(w).lds_accesses++;
  count_conflicts(w, at, bytes);
}

static void ds_write(Wave& w, const Op& op) {
  store_at(w, op, op.offset, op.src[1].index, op.size, issue(w, kDs));
  w.any_pending = true;
}
static void ds_write2(Wave& w, const Op& op) {
  u32 sequence = issue(w, kDs);
  store_at(w, op, op.offset, op.src[1].index, op.size, sequence);
  store_at(w, op, op.offset1, op.src[2].index, op.size, sequence);
  w.any_pending = true;
}

static void ds_atomic(Wave& w, const Op& op) {
  u64 at[kLanes];
  addresses_of(w, op, op.offset, at);
  bool wide = op.control & kAtomic64;
  u32 bytes = wide ? 8 : 4, operation = op.control >> 8 & 0xff;
  require_clean(w, op.src[1].index, op.src[1].width, "an atomic's data");
  u32 old_low[kLanes] = {}, old_high[kLanes] = {};
  bool races = is_shared(w);
  for (int i = 0; i < w.lanes(); i++) {
    if (!(w.exec >> i & 1)) continue;
    Place p = lds_place(w, at[i], bytes, i);
    check_alignment(w, at[i], bytes, i, true);
    auto pair = [&](u32 reg) { return wide ? u64(w.v[reg + 1][i]) << 32 | w.v[reg][i] : u64(w.v[reg][i]); };
    if (std::any_of(p.shadow, p.shadow + bytes, [](u8 x) { return x != 0; }))
      fail(FaultKind::uninitialized, "an atomic on LDS bytes that nobody wrote", 1ull << i, at[i]);
    if (races) note_access(w, {p.stamps, p.offset, bytes, Touch::atomic, nullptr, nullptr, i, p.address});
    u64 old = 0;
    std::memcpy(&old, p.at, bytes);
    // DS_CMPST: data0 compare, data1 new; DS_CMPSTORE (RDNA3): the other way round. lower.py puts the new value first.
    u64 next = atomic_result(operation, old, pair(op.src[1].index), op.src[2].kind == Kind::vector ? pair(op.src[2].index) : 0, wide);
    std::memcpy(p.at, &next, bytes);
    old_low[i] = u32(old); old_high[i] = u32(old >> 32);
  }
  counts(w).atomics++;
  if (w.exec) remember(w, at, bytes, w.issued[kDs] + 1, Touch::atomic);
  if (op.flags & kReturns) {
    store_vector(w, op.dst.index, old_low, w.exec);
    if (wide) store_vector(w, op.dst.index + 1u, old_high, w.exec);
    return finish_load(w, op);
  }
  issue(w, kDs);
  w.any_pending = true;
}

// DS_BPERMUTE pulls, DS_PERMUTE pushes, DS_SWIZZLE moves by its offset (CDNA3 ISA §11.? "LDS Access"; pseudocode there).
template <int Mode> static void ds_move(Wave& w, const Op& op) {
  u32 out[kLanes] = {}, shadow[kLanes] = {};
  u32 address = op.src[0].index, data = Mode == 2 ? op.src[0].index : op.src[1].index;
  if (Mode != 2) require_clean(w, address, 1, "the lane number");
  for (int i = 0; i < w.lanes(); i++) {
    int from = i, to = i;
    if (Mode == 0) from = int((w.v[address][i] + u32(op.offset)) / 4 % u32(w.lanes()));
    if (Mode == 1) to = int((w.v[address][i] + u32(op.offset)) / 4 % u32(w.lanes()));
    if (Mode == 2) {
      u32 pattern = u32(op.offset) & 0xffff;
      if (pattern & 0x8000) from = (i & ~3) | int(pattern >> (2 * (i & 3)) & 3);
      else from = (i & 32) | ((((i & 31) & int(pattern & 31)) | int(pattern >> 5 & 31)) ^ int(pattern >> 10 & 31));
    }
    if (Mode == 1 && !(w.exec >> i & 1)) continue;
    bool live = w.exec >> from & 1;
    out[to] = live ? w.v[data][from] : 0;
    shadow[to] = live ? shadow_of(w, data, from) : 0;
  }
  store_shadowed(w, op.dst.index, out, shadow, w.exec);
  counts(w).lds_accesses++;
  finish_load(w, op);
}

// Transposing reads of gfx950 (CDNA4 ISA §11.? "DS_READ_B64_TR_B*"): 16 lanes fetch 16 rows' pieces and swap columns.
template <int Bits> static void ds_read_transposed(Wave& w, const Op& op) {
  u64 at[kLanes];
  addresses_of(w, op, op.offset, at);
  constexpr u32 bytes = Bits == 6 ? 12 : 8, elements = Bits == 6 ? 16 : 64 / Bits;
  Loaded out;
  u8 raw[kLanes][16] = {};
  bool races = is_shared(w);
  for (int i = 0; i < 64; i++) {
    if (!(w.exec >> i & 1)) continue;
    Place p = lds_place(w, at[i], bytes, i);
    check_alignment(w, at[i], bytes, i);
    if (races) note_access(w, {p.stamps, p.offset, bytes, Touch::read, nullptr, nullptr, i, p.address});
    std::memcpy(raw[i], p.at, bytes);
    read_lane(p, bytes, 0, i, out);
  }
  if (races && w.exec) remember(w, at, bytes, w.issued[kDs] + 1, Touch::read);
  bool clean = out.clean;
  auto element = [&](int lane, u32 index) -> u64 {
    u64 value = 0;
    u32 bit = index * Bits;
    for (u32 k = 0; k < Bits; k++) value |= u64(raw[lane][(bit + k) / 8] >> ((bit + k) % 8) & 1) << k;
    return value;
  };
  u32 values[3][kLanes] = {}, shadow[3][kLanes];
  for (int i = 0; i < 64; i++) {
    u32 rows = 16 / elements ? 16 / elements : 1;       // lanes that hold one row of 16 elements
    for (u32 e = 0; e < elements; e++) {
      u32 column = u32(i) % 16, lane = u32(i / 16 * 16) + e * rows + column / elements;
      u64 value = element(int(lane), column % elements);
      u32 bit = e * Bits;
      values[bit / 32][i] |= u32(value << (bit % 32));
      if (bit % 32 + Bits > 32) values[bit / 32 + 1][i] |= u32(value >> (32 - bit % 32));
    }
    for (auto& row : shadow) row[i] = clean ? 0 : ~0u;
  }
  write_loaded(w, op, op.dst.index, values, shadow, bytes, clean);
  counts(w).lds_read_bytes += bytes * 64;
  counts(w).lds_accesses++;
  finish_load(w, op);
}

static const Entry kEntries[] = {
  {"ds_read", ds_read, kLds, 4, "", nullptr, 0, 0}, {"ds_read2", ds_read2, kLds, 8, "", nullptr, 0, 0},
  {"ds_write", ds_write, kLds, 4, "", nullptr, 0, 0}, {"ds_write2", ds_write2, kLds, 8, "", nullptr, 0, 0},
  {"ds_atomic", ds_atomic, kLds, 8, "", nullptr, 0, 0}, {"ds_bpermute_b32", ds_move<0>, kLds, 4, "", nullptr, 0, 0},
  {"ds_permute_b32", ds_move<1>, kLds, 4, "", nullptr, 0, 0}, {"ds_swizzle_b32", ds_move<2>, kLds, 4, "", nullptr, 0, 0},
  {"ds_read_b64_tr_b16", ds_read_transposed<16>, kLds, 8, "", nullptr, 0, 0}, {"ds_read_b64_tr_b8", ds_read_transposed<8>, kLds, 8, "", nullptr, 0, 0},
  {"ds_read_b64_tr_b4", ds_read_transposed<4>, kLds, 8, "", nullptr, 0, 0}, {"ds_read_b96_tr_b6", ds_read_transposed<6>, kLds, 8, "", nullptr, 0, 0},
};

Table lds_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
