// Scalar registers, EXEC and masks; the scalar ALU (CDNA3 ISA §12.1–12.4 "SOP2, SOPK, SOP1, SOPC"; RDNA3 ISA §16.1–16.4).
#include <cfenv>
#include <cmath>
#include "scalar.h"
#include "tables.h"

namespace gfxemu {

u32 read_scalar(const Wave& w, u32 index) {
  if (index == kExec) return u32(w.exec);
  if (index == kExec + 1) return u32(w.exec >> 32);
  return index == kNull ? 0 : w.s[index];
}
u64 read_scalar64(const Wave& w, u32 index) {
  if (index == kNull) return 0;
  return u64(read_scalar(w, index + 1)) << 32 | read_scalar(w, index);
}

u64 scalar_value(const Wave& w, const Operand& from, bool wide) {
  switch (from.kind) {
    case Kind::constant: return u64(from.high) << 32 | from.low;
    case Kind::scalar: return wide && from.width > 1 ? read_scalar64(w, from.index) : read_scalar(w, from.index);
    case Kind::scc: return w.scc;
    case Kind::execz: return w.exec == 0;
    case Kind::vccz: return read_mask(w, Operand{Kind::scalar, 2, kVcc, 0, 0}) == 0;
    default: return 0;
  }
}
u64 scalar_shadow(const Wave& w, const Operand& from, bool wide) {
  if (from.kind == Kind::scc) return w.scc_shadow;
  if (from.kind != Kind::scalar || from.index >= kNull) return 0;
  u64 low = w.s_shadow[from.index];
  return wide ? low | u64(w.s_shadow[from.index + 1]) << 32 : low;
}
u64 read_mask(const Wave& w, const Operand& from) {
  if (from.kind == Kind::constant) return u64(from.high) << 32 | from.low;
  return w.lanes() == 64 ? read_scalar64(w, from.index) : read_scalar(w, from.index);
}

void write_exec(Wave& w, u64 value, u64 shadow) {
  if (shadow & w.all()) fail(FaultKind::uninitialized, "EXEC is set from undefined bits", shadow);
  w.exec = value & w.all();
}
void write_scalar(Wave& w, u32 index, u32 value, u32 shadow) {
  if (index == kNull) return;
  if (index == kExec) return write_exec(w, (w.exec & ~0xffffffffull) | value, shadow);
  if (index == kExec + 1) return write_exec(w, (w.exec & 0xffffffffull) | u64(value) << 32, u64(shadow) << 32);
  w.s[index] = value;
  w.s_shadow[index] = shadow;
}
void write_mask(Wave& w, const Operand& to, u64 value, u64 shadow) {
  if (to.kind != Kind::scalar || to.index == kNull) return;
  if (to.index == kExec) return write_exec(w, value, shadow);
  write_scalar(w, to.index, u32(value), u32(shadow));
  if (w.lanes() == 64) write_scalar(w, to.index + 1u, u32(value >> 32), u32(shadow >> 32));
}
void write_scalar_result(Wave& w, const Operand& to, u64 value, u64 shadow) {
  if (to.kind != Kind::scalar) return;
  if (to.width > 1 && to.index == kExec) return write_exec(w, value, shadow);
  write_scalar(w, to.index, u32(value), u32(shadow));
  if (to.width > 1 && to.index != kNull) write_scalar(w, to.index + 1u, u32(value >> 32), u32(shadow >> 32));
}

static u64 left(u64 any) { return any ? ~((any & (0 - any)) - 1) : 0; }

static u64 combine_scalar(u8 taint, const Scalars& x, u64 ta, u64 tb, u64 tc, ScalarRule rule) {
  switch (taint) {
    case kUnion: return ta | tb;
    case kLeft: return left(ta | tb | tc);
    case kAnd: return (ta & tb) | (ta & x.b) | (x.a & tb);
    case kOr: return (ta & tb) | (ta & ~x.b) | (~x.a & tb);
    case kSelect: return tc ? ~0ull : x.scc ? ta : tb;
    case kRerunA: {
      if (tb) return ~0ull;
      Scalars again = x;
      again.a = ta;
      return rule(again);
    }
    default: return ta | tb | tc ? ~0ull : 0;
  }
}

void execute_scalar(Wave& w, const Op& op) {
  const Entry& e = entry_of(op.op);
  auto rule = reinterpret_cast<ScalarRule>(e.lanes);
  bool wide_a = e.types[1] == 'U', wide_b = e.types[1] && e.types[2] == 'U';
  Scalars x{scalar_value(w, op.src[0], wide_a), scalar_value(w, op.src[1], wide_b), w.scc != 0, w.scc != 0, &w, &op};
  u64 ta = scalar_shadow(w, op.src[0], wide_a), tb = scalar_shadow(w, op.src[1], wide_b);
  u64 tc = std::strchr(e.types, 'c') ? w.scc_shadow : 0;
  u64 shadow = 0, value = rule(x);
  if (ta | tb | tc) shadow = combine_scalar(e.taint, x, ta, tb, tc, rule);
  if (e.types[0] == 'u') { value = u32(value); shadow = u32(shadow); }
  write_scalar_result(w, op.dst, value, shadow);
  if (e.float_class == kSccNonzero) {
    w.scc = value != 0;
    w.scc_shadow = shadow && !(value & ~shadow);        // one defined bit that is set is enough
  } else if (e.float_class == kSccRule) {
    w.scc = x.scc;
    w.scc_shadow = (ta | tb | tc) != 0;
  }
}

}  // namespace gfxemu
