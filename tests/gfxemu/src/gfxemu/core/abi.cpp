// The C ABI that core.py calls through ctypes: op table, launch, fault.
#include <cstdio>
#include <unordered_map>
#include "machine.h"
#include "tables.h"

namespace gfxemu {

static const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> out;
    for (Table t : {control_table(), scalar_table(), integer_table(), float_table(), half_table(), double_table(), compare_table(),
                    convert_table(), packed_table(), cross_lane_table(), special_table(), small_float_table(), matrix_table(),
                    lds_table(), memory_table()})
      out.insert(out.end(), t.entries, t.entries + t.count);
    return out;
  }();
  return all;
}

// Filled by the first call from outside, after the tables of all sources are there.
static const Entry* g_entries = nullptr;
const Entry& entry_of(u16 op) { return g_entries[op]; }
int op_count() { return int(entries().size()); }
int find_op(const char* name) {
  static const std::unordered_map<std::string, int> index = [] {
    std::unordered_map<std::string, int> out;
    for (int i = 0; i < op_count(); i++) out.emplace(entries()[size_t(i)].name, i);
    return out;
  }();
  auto found = index.find(name);
  return found == index.end() ? -1 : found->second;
}

struct FaultRecord { u32 kind, pc, group[3], wave; u64 lanes, address; char text[400]; };

static void describe(const Fault& fault, const Machine& m, FaultRecord& out) {
  out.kind = u32(fault.kind);
  out.lanes = fault.lanes;
  out.address = fault.address;
  std::snprintf(out.text, sizeof out.text, "%s", fault.text.c_str());
  if (m.current) out.pc = m.current->pc;
  if (!m.running) return;
  out.wave = m.running->index;
  for (int i = 0; i < 3; i++) out.group[i] = m.running->group->id[i];
}

}  // namespace gfxemu

using namespace gfxemu;

#pragma GCC visibility push(default)
extern "C" {

struct RegionRecord { u64 base, size, host; u32 writable, pad; };

u32 gfxemu_op_count() { g_entries = entries().data(); return u32(op_count()); }
const char* gfxemu_op_name(u32 op) { return entry_of(u16(op)).name; }
const char* gfxemu_op_types(u32 op) { return entry_of(u16(op)).types; }
u32 gfxemu_op_unit(u32 op) { return entry_of(u16(op)).unit; }
u32 gfxemu_op_size() { return sizeof(Op); }
u32 gfxemu_launch_size() { return sizeof(Launch); }
u32 gfxemu_counts_size() { return sizeof(Counts); }

// 0: ended well; 1: fault. `ops` are sizeof(Op) each; `index_of_pc` says which op starts at code offset 4 * i.
u32 gfxemu_run(const Launch* launch, const Op* ops, u32 op_total, const i32* index_of_pc, u32 words, const RegionRecord* regions,
               u32 region_total, Counts* counts, FaultRecord* fault) {
  static std::vector<std::unique_ptr<Wave>> spare;      // waves are large: kept from launch to launch
  Machine m{};
  m.launch = *launch;
  m.program = ops;
  m.op_total = op_total;
  m.index_of_pc = index_of_pc;
  m.words = words;
  for (u32 i = 0; i < region_total; i++) {
    const RegionRecord& r = regions[i];
    m.regions.push_back({r.base, r.size, reinterpret_cast<u8*>(r.host), r.writable != 0, {}, {}});
  }
  m.spare.swap(spare);
  u32 failed = 0;
  try {
    run_launch(m);
  } catch (const Fault& f) {
    describe(f, m, *fault);
    failed = 1;
    for (auto& g : m.resident) for (auto& w : g->waves) m.spare.push_back(std::move(w));
  }
  *counts = m.counts;
  m.spare.swap(spare);
  return failed;
}

}
#pragma GCC visibility pop
