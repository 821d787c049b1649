// Waits (CDNA3 ISA §4.4 "S_WAITCNT"; RDNA3 ISA §5.6; RDNA4 ISA §5.7) and happens-before by barriers, a byte at a time.
#include "hazards.h"
#include "memory.h"
#include "tables.h"
#include <algorithm>

namespace gfxemu {

static const char* counter_name(const Wave& w, int counter) {
  bool split = w.group->machine->generation() >= 12;
  static const char* kOld[] = {"vmcnt", "vscnt", "lgkmcnt", "lgkmcnt"};
  static const char* kNew[] = {"loadcnt", "storecnt", "dscnt", "kmcnt"};
  return split ? kNew[counter] : kOld[counter];
}

static Counter scalar_counter(const Wave& w) { return w.group->machine->generation() >= 12 ? kKm : kDs; }

enum Half : u32 { kLow = 1, kHigh = 2, kBoth = 3 };

// `ordered`: a counter whose results come back in order, so that a later one may write the same register.
static void check_range(const Wave& w, const Operand& o, u32 halves = kBoth, int ordered = -1) {
  if (o.kind == Kind::vector) {
    for (u32 r = o.index; r < u32(o.index + o.width); r++)
      for (u32 k = 0; k < 4; k++) {
        int counter = k & 1 ? kDs : kLoad;
        if (counter == ordered || !(halves & (k & 2 ? kHigh : kLow))) continue;
        if (w.v_pending[k & 1][k >> 1][r] > w.done[counter])
          fail(FaultKind::missing_wait, std::string(r < 256 ? "v" : "a") + std::to_string(r & 255) + " is still in flight: no wait on " +
               counter_name(w, counter) + " since its load", w.exec);
      }
  } else if (o.kind == Kind::scalar && o.index < kM0) {
    for (u32 r = o.index; r < u32(o.index + o.width); r++)
      if (w.s_pending[r] > w.done[scalar_counter(w)])
        fail(FaultKind::missing_wait, "s" + std::to_string(r) + " is still in flight: no wait on " +
             counter_name(w, scalar_counter(w)) + " since its load");
  }
}

static bool is_short(char type) { return type == 's' || type == 't' || type == 'h' || type == 'b'; }

// Which half of source `k` (3: the result) a 16-bit instruction touches.
static u32 halves_of(const Op& op, const char* types, int k) {
  int at = k == 3 ? 0 : k + 1;
  if (op.unit == kVmem || op.unit == kLds) return k == 1 && op.size < 4 ? (op.control & kD16High ? kHigh : kLow) : kBoth;
  if (int(std::strlen(types)) <= at || !is_short(types[at]) || op.flags & (kSdwa | kZeroHigh)) return kBoth;
  if (entry_of(op.op).handler != execute_vector && entry_of(op.op).handler != execute_compare) return kBoth;
  return op.opsel >> k & 1 ? kHigh : kLow;
}

void check_operands(Wave& w, const Op& op) {
  if (!w.any_pending || !w.group->machine->checks()) return;
  const char* types = entry_of(op.op).types;
  check_range(w, op.dst, halves_of(op, types, 3), op.unit == kVmem ? kLoad : op.unit == kLds ? kDs : -1);
  check_range(w, op.dst2);
  for (int k = 0; k < 4; k++) check_range(w, op.src[k], k < 3 ? halves_of(op, types, k) : u32(kBoth));
}

u32 issue(Wave& w, Counter counter) { return ++w.issued[counter]; }

static void forget_finished(Wave& w) {
  auto finished = [&](const Outstanding& o) { return o.sequence <= w.done[o.counter]; };
  w.accesses.erase(std::remove_if(w.accesses.begin(), w.accesses.end(), finished), w.accesses.end());
  w.any_pending = false;
  for (int c = 0; c < kCounters; c++) w.any_pending |= w.done[c] != w.issued[c];
}

void wait_for(Wave& w, Counter counter, u32 limit) {
  if (w.issued[counter] <= limit) return;
  // Scalar loads return in any order: only a wait for zero says that one of them is there.
  if (limit > 0 && counter == scalar_counter(w) && w.last_scalar > w.done[counter]) return;
  w.done[counter] = std::max(w.done[counter], w.issued[counter] - limit);
  forget_finished(w);
}

void mark_vector_pending(Wave& w, const Op& op, Counter counter, u32 sequence) {
  bool keeps = w.group->machine->generation() >= 10;   // d16 loads leave the other half alone
  bool low = !keeps || !(op.control & kD16High), high = !keeps || !(op.control & kD16);
  for (u32 r = op.dst.index; r < u32(op.dst.index + op.dst.width); r++) {
    if (low) w.v_pending[counter == kDs][0][r] = sequence;
    if (high) w.v_pending[counter == kDs][1][r] = sequence;
  }
  w.any_pending = true;
}
void mark_scalar_pending(Wave& w, u32 reg, u32 count, Counter, u32 sequence) {
  for (u32 r = reg; r < reg + count && r < 128; r++) w.s_pending[r] = sequence;
  w.any_pending = true;
}

u32 epoch_of(Group& g, u32 signals) {
  while (g.epochs.size() <= signals) g.epochs.push_back(++g.machine->epoch);
  return g.epochs[signals];
}

// Accesses that nobody waited for before the barrier are as if they happened after it (LLVM, "Memory Model": a release
// waits for loads and stores before it).
static void restamp_unfinished(Wave& w) {
  u32 stamp = epoch_of(*w.group, w.signals) << 8 | (w.index + 1);
  for (const Outstanding& o : w.accesses) {
    Stamps& all = o.lds ? w.group->stamps : o.region->stamps;
    std::vector<u32>& stamps = o.touch == Touch::read ? all.read : o.touch == Touch::write ? all.write : all.atomic;
    for (int i = 0; i < kLanes; i++)
      if (o.lanes >> i & 1) std::fill_n(stamps.begin() + i64(o.at[i]), o.bytes, stamp);
  }
}

void signal_barrier(Wave& w) {
  w.signals++;
  w.group->arrived++;
  w.group->machine->counts.barriers++;
  if (w.group->machine->races()) restamp_unfinished(w);
}

bool is_shared(const Wave& w) { return w.group->waves.size() > 1 && w.group->machine->races(); }

void remember_access(Wave& w, const Outstanding& o) {
  w.any_pending = true;
  if (is_shared(w)) w.accesses.push_back(o);
}

static bool ours(const Group& g, u32 id) { return std::binary_search(g.epochs.begin(), g.epochs.end(), id); }

[[noreturn]] static void report_race(const Access& a, u32 stamp, const char* what) {
  static const char* kTouch[] = {"read of ", "write to ", "atomic on ", "atomic load of "};
  u32 who = stamp & kSeveral;
  std::string other = who == kSeveral ? "several waves" : "wave " + std::to_string(who - 1);
  fail(FaultKind::race, kTouch[u32(a.touch)] + hex(a.address) + ", " + what + " by " + other +
       " of the same workgroup with no barrier (or an unfinished access) between", 1ull << a.lane, a.address);
}

struct Moment {                     // who touches, since which epoch no barrier orders others before it, and its stamp
  const Group* group; u32 me, since, stamp;
  bool is_unordered(u32 other) const { return (other & kSeveral) != me && other >> 8 >= since; }
  bool is_race(u32 other) const { return is_unordered(other) && ours(*group, other >> 8); }
  // Of several waves, any is foreign to each; a plain read counts for more than an atomic one.
  u32 merge(u32 other, u32 flag = 0) const {
    if (other >> 8 != stamp >> 8) return stamp | flag;
    return stamp | ((other & kSeveral) != me ? kSeveral : 0) | (flag & other);
  }
};

// An atomic orders nothing: beside it others may do atomics only, whatever the values.
static void note_atomic(const Moment& now, const Access& a) {
  std::vector<u32>& atomics = a.stamps->atomic;
  if (atomics.empty()) atomics.assign(a.stamps->write.size(), 0);
  for (u64 at = a.offset; at < a.offset + a.bytes; at++) {
    if (now.is_race(a.stamps->write[at])) report_race(a, a.stamps->write[at], "written");
    u32 read = a.stamps->read[at];
    if (!(read & kAtomicRead) && now.is_race(read)) report_race(a, read, "read");
    atomics[at] = now.merge(atomics[at]);
  }
}

static void check_atomics(const Moment& now, const Access& a) {
  const u32* atomics = &a.stamps->atomic[a.offset];
  for (u32 b = 0; b < a.bytes; b++)
    if (now.is_race(atomics[b])) report_race(a, atomics[b], "changed by an atomic");
}

void note_access(Wave& w, const Access& a) {
  if (!w.group->machine->races()) return;
  u32 me = w.index + 1, epoch = epoch_of(*w.group, w.signals), since = epoch_of(*w.group, w.waits);
  Moment now{w.group, me, since, epoch << 8 | me};
  if (a.touch == Touch::atomic) return note_atomic(now, a);
  bool write = a.touch == Touch::write;
  u32 flag = a.touch == Touch::atomic_read ? kAtomicRead : 0;
  if (!flag && !a.stamps->atomic.empty()) check_atomics(now, a);
  u32* writes = &a.stamps->write[a.offset];
  u32* reads = &a.stamps->read[a.offset];
  u32 suspicious = 0, foreign = 0;
  for (u32 b = 0; b < a.bytes; b++) {
    suspicious |= u32(now.is_unordered(writes[b]));
    foreign |= u32(now.is_unordered(reads[b]));
  }
  if (suspicious || (write && foreign)) {
    for (u32 b = 0; b < a.bytes; b++) {
      if (write && a.before[b] == a.after[b]) continue;
      if (now.is_race(writes[b])) report_race(a, writes[b], "written");
      if (write && now.is_race(reads[b])) report_race(a, reads[b], "read");
    }
  }
  if (write) { std::fill_n(writes, a.bytes, now.stamp); return; }
  if (!foreign && !flag) { std::fill_n(reads, a.bytes, now.stamp); return; }
  for (u32 b = 0; b < a.bytes; b++) reads[b] = now.merge(reads[b], flag);
}

}  // namespace gfxemu
