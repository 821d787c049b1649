// The dispatch: workgroups in the wanted order, waves in turns; initial registers (LLVM AMDGPU usage, "Initial Kernel
// Execution State"); one fault ends it.
#include "machine.h"
#include <algorithm>
#include <numeric>
#include <random>
#include <xmmintrin.h>
#include "hazards.h"
#include "memory.h"
#include "tables.h"
#include "vector.h"

namespace gfxemu {

constexpr u64 kTurn = 4096;         // instructions a wave runs before another gets its turn
constexpr u64 kPatience = 64;       // rounds of a workgroup before the next one starts beside it

static void put_scalar(Wave& w, u32& at, u32 value) { w.s[at] = value; w.s_shadow[at] = 0; at++; }
static void put_pair(Wave& w, u32& at, u64 value) { put_scalar(w, at, u32(value)); put_scalar(w, at, u32(value >> 32)); }

// enable bits: rsrc2's user SGPRs come in this order (kernel_code_properties), then the system SGPRs.
static void set_user_scalars(Wave& w, const Launch& l, u32& at) {
  u32 p = l.properties;
  if (p & 1) { put_scalar(w, at, 0); put_scalar(w, at, kPrivateAperture); put_scalar(w, at, ~0u); put_scalar(w, at, 1u << 23); }
  if (p & 2) put_pair(w, at, l.dispatch);
  if (p & 4) put_pair(w, at, 0);
  if (p & 8) put_pair(w, at, l.kernarg);
  if (p & 16) put_pair(w, at, 0);
  if (p & 32) put_pair(w, at, 0);
  if (p & 64) put_scalar(w, at, l.scratch_bytes);
  for (u32 i = 0; i < l.preload_dwords; i++) {
    u32 value = 0;
    Region& kernarg = region_at(w, l.kernarg + 4 * i, 4, -1, false);
    std::memcpy(&value, kernarg.host + (l.kernarg - kernarg.base) + 4 * i, 4);
    put_scalar(w, at, value);
  }
}

static void set_system_scalars(Wave& w, const Launch& l, u32 at) {
  const u32* id = w.group->id;
  if (l.arch.generation >= 12) {
    w.s[108 + 9] = id[0]; w.s_shadow[108 + 9] = 0;
    w.s[108 + 7] = id[1] | id[2] << 16; w.s_shadow[108 + 7] = 0;
    w.s[108 + 8] = w.index << 25; w.s_shadow[108 + 8] = 0;   // ttmp8[29:25]: wave of the workgroup
    return;
  }
  for (u32 axis = 0; axis < 3; axis++) if (l.system_flags >> axis & 1) put_scalar(w, at, id[axis]);
  if (l.system_flags >> 3 & 1) put_scalar(w, at, 0);
  if (l.system_flags >> 4 & 1) put_scalar(w, at, 0);    // private segment wave offset
}

static void set_lane_ids(Wave& w, const Launch& l) {    // v0 = x | y << 10 | z << 20, packed on all our parts
  u64 threads = u64(l.block[0]) * l.block[1] * l.block[2];
  u64 first = u64(w.index) * l.arch.lanes;
  for (int i = 0; i < w.lanes(); i++) {
    u64 flat = first + u64(i);
    u32 x = u32(flat % l.block[0]), y = u32(flat / l.block[0] % l.block[1]), z = u32(flat / l.block[0] / l.block[1]);
    w.v[0][i] = flat < threads ? x | y << 10 | z << 20 : 0;
  }
  w.clean[0] = w.all();
  w.exec = threads - first >= l.arch.lanes ? w.all() : (1ull << (threads - first)) - 1;
}

static void reset_wave(Wave& w, Group& g, u32 index) {
  const Launch& l = g.machine->launch;
  w.group = &g;
  w.index = index;
  for (u32 r = 0; r < kRegisters; r++) {
    bool used = r < 256 ? r < l.arch.vgprs : r - 256 < l.arch.vgprs;
    if (!used) continue;
    std::fill_n(w.v[r], kLanes, 0x7fc0dead);            // a NaN when read as f32
    std::fill_n(w.shadow[r], kLanes, ~0u);
  }
  std::fill_n(w.clean, kRegisters, 0);
  std::fill_n(w.s, 128, 0xdeadbeef);
  std::fill_n(w.s_shadow, 128, ~0u);
  std::memset(w.v_pending, 0, sizeof w.v_pending);
  std::memset(w.s_pending, 0, sizeof w.s_pending);
  for (int c = 0; c < kCounters; c++) w.issued[c] = w.done[c] = 0;
  w.last_scalar = 0;
  w.any_pending = w.at_barrier = w.ended = w.slept = false;
  w.signals = w.waits = 0;
  w.steps = 0;
  w.scc = 0;
  w.scc_shadow = 1;
  w.mode = l.mode;
  w.pc = l.entry;
  w.accesses.clear();
  w.scratch.assign(size_t(l.scratch_bytes) * kLanes, 0xcd);
  w.scratch_shadow.assign(w.scratch.size(), 0xff);
  u32 at = 0;
  set_user_scalars(w, l, at);
  set_system_scalars(w, l, l.user_sgprs);
  set_lane_ids(w, l);
}

static std::unique_ptr<Group> start_group(Machine& m, u32 ordinal) {
  const Launch& l = m.launch;
  auto g = std::make_unique<Group>();
  g->machine = &m;
  g->ordinal = ordinal;
  g->id[0] = ordinal % l.grid[0]; g->id[1] = ordinal / l.grid[0] % l.grid[1]; g->id[2] = ordinal / l.grid[0] / l.grid[1];
  g->lds.assign(l.lds_bytes, 0xab);
  g->lds_shadow.assign(l.lds_bytes, 0xff);
  g->stamps.write.assign(l.lds_bytes, 0);
  g->stamps.read.assign(l.lds_bytes, 0);
  g->arrived = g->released = 0;
  u64 threads = u64(l.block[0]) * l.block[1] * l.block[2];
  for (u32 i = 0; u64(i) * l.arch.lanes < threads; i++) {
    if (m.spare.empty()) m.spare.push_back(std::make_unique<Wave>());
    g->waves.push_back(std::move(m.spare.back()));
    m.spare.pop_back();
    reset_wave(*g->waves.back(), *g, i);
  }
  m.counts.workgroups++;
  m.counts.waves += g->waves.size();
  return g;
}

static void finish_group(Machine& m, Group& g) {
  for (auto& w : g.waves) m.spare.push_back(std::move(w));
  g.waves.clear();
}

static void run_wave(Machine& m, Wave& w, u64 limit) {
  m.running = &w;
  w.slept = false;
  const Op* program = m.program;
  for (u64 end = w.steps + limit; w.steps < end && !w.ended && !w.at_barrier && !w.slept;) {
    if (w.pc >= m.op_total) fail(FaultKind::out_of_bounds, "the program runs past its end");
    const Op& op = program[w.pc];
    const Entry& e = entry_of(op.op);
    m.current = &op;
    w.pc++;
    w.steps++;
    if (w.any_pending) check_operands(w, op);
    e.handler(w, op);
    m.counts.instructions[op.unit]++;
    m.counts.cycles[op.unit] += op.unit == kMatrix ? op.omod * 4u : op.unit == kTranscendental ? 4u * e.cycles : e.cycles;
  }
  if (w.steps > m.launch.step_limit) fail(FaultKind::hang, "no end after " + std::to_string(w.steps) + " instructions of one wave");
}

// A barrier opens when every live wave has arrived; waves that ended no longer count.
static void open_barrier(Group& g) {
  u32 live = 0;
  for (auto& w : g.waves) live += !w->ended;
  if (live && g.arrived >= live) { g.released++; g.arrived = 0; }
  for (auto& w : g.waves)
    if (w->at_barrier && w->waits < g.released) { w->at_barrier = false; w->waits++; }
}

// One round: every wave that can gets a turn. True when the workgroup has ended.
static bool run_round(Machine& m, Group& g, std::minstd_rand& random, bool shuffled) {
  std::vector<u32> order(g.waves.size());
  std::iota(order.begin(), order.end(), 0);
  if (shuffled) std::shuffle(order.begin(), order.end(), random);
  bool live = false, moved = false;
  for (u32 i : order) {
    Wave& w = *g.waves[i];
    if (w.ended || w.at_barrier) continue;
    moved = true;
    run_wave(m, w, kTurn);
  }
  open_barrier(g);
  for (auto& w : g.waves) live |= !w->ended;
  if (live && !moved) {
    for (auto& w : g.waves) if (!w->ended && !w->at_barrier) return false;
    m.running = g.waves[0].get();
    fail(FaultKind::deadlock, "every wave waits at a barrier that cannot open");
  }
  return !live;
}

static std::vector<u32> order_of(const Launch& l) {
  std::vector<u32> order(size_t(l.grid[0]) * l.grid[1] * l.grid[2]);
  std::iota(order.begin(), order.end(), 0);
  if ((l.order & 0xff) == 1) std::reverse(order.begin(), order.end());
  if ((l.order & 0xff) == 2) { std::minstd_rand random(l.seed + 1); std::shuffle(order.begin(), order.end(), random); }
  return order;
}

static void count_lines(Machine& m) {
  for (const Region& r : m.regions)
    for (u8 line : r.lines) { m.counts.hbm_read_lines += line & 1; m.counts.hbm_written_lines += line >> 1 & 1; }
}

void run_launch(Machine& m) {
  u32 saved = _mm_getcsr();
  struct Restore { u32 value; ~Restore() { _mm_setcsr(value); } } restore{saved};
  m.float_control = ~0u;
  std::minstd_rand random(m.launch.seed + 7);
  bool shuffled = (m.launch.order & 0xff) == 2;
  auto& resident = m.resident;
  std::vector<u32> order = order_of(m.launch);
  size_t next = 0;
  while (next < order.size() || !resident.empty()) {
    if (next < order.size()) resident.push_back(start_group(m, order[next++]));
    for (size_t i = 0; i < resident.size();) {
      bool ended = false;
      u64 rounds = next < order.size() ? kPatience : 1;
      for (u64 k = 0; k < rounds && !ended; k++) ended = run_round(m, *resident[i], random, shuffled);
      if (!ended) { i++; continue; }
      finish_group(m, *resident[i]);
      resident.erase(resident.begin() + i64(i));
    }
  }
  count_lines(m);
}

}  // namespace gfxemu
