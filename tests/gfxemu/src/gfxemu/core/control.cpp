// Program flow, waits, barriers, messages, MODE (CDNA3 ISA §4 "Program Flow Control", §4.4 s_waitcnt; RDNA4 ISA §5).
#include "scalar.h"
#include "tables.h"
#include "hazards.h"

namespace gfxemu {

static void jump(Wave& w, const Op& op) { w.pc = u32(op.target); }

template <int Condition> static void branch_if(Wave& w, const Op& op) {  // 0 scc0 1 scc1 2 vccz 3 vccnz 4 execz 5 execnz
  bool taken = false;
  if (Condition < 2) {
    if (w.scc_shadow) fail(FaultKind::uninitialized, "the branch depends on an undefined SCC");
    taken = (w.scc != 0) == (Condition == 1);
  } else if (Condition < 4) {
    Operand vcc{Kind::scalar, 2, kVcc, 0, 0};
    u64 shadow = scalar_shadow(w, vcc, w.lanes() == 64), bits = read_mask(w, vcc);
    if (shadow && !(bits & ~shadow)) fail(FaultKind::uninitialized, "the branch depends on undefined bits of VCC", shadow);
    taken = (bits == 0) == (Condition == 2);
  } else {
    taken = (w.exec == 0) == (Condition == 4);
  }
  if (taken) w.pc = u32(op.target);
}

static void end_program(Wave& w, const Op&) { w.ended = true; }
static void do_nothing(Wave&, const Op&) {}
static void sleep(Wave& w, const Op&) { w.slept = true; }
static void trap(Wave&, const Op&) { fail(FaultKind::unsupported, "the program traps"); }

static void wait_counters(Wave& w, const Op& op) {
  for (int c = 0; c < kCounters; c++) {
    u32 limit = op.control >> (8 * c) & 0xff;
    if (limit != 0xff) wait_for(w, Counter(c), limit);
  }
}

static u64 code_address(const Op& op) { return u64(op.src[3].high) << 32 | op.src[3].low; }  // of the next instruction

static void get_pc(Wave& w, const Op& op) { write_scalar_result(w, op.dst, code_address(op), 0); }

static void set_pc(Wave& w, const Op& op) {
  Machine& m = *w.group->machine;
  u64 target = scalar_value(w, op.src[0], true);
  if (scalar_shadow(w, op.src[0], true)) fail(FaultKind::uninitialized, "the jump's address is undefined");
  u64 offset = target - (code_address(op) - op.next);  // src[3] holds the address whose pc is op.next
  if (offset / 4 >= m.words || m.index_of_pc[offset / 4] < 0)
    fail(FaultKind::out_of_bounds, "jump to " + hex(target) + ", which is no instruction", 0, target);
  if (op.dst.kind == Kind::scalar) write_scalar_result(w, op.dst, code_address(op), 0);
  w.pc = u32(m.index_of_pc[offset / 4]);
}
static void call(Wave& w, const Op& op) {
  write_scalar_result(w, op.dst, code_address(op), 0);
  w.pc = u32(op.target);
}

static void barrier(Wave& w, const Op&) { signal_barrier(w); w.at_barrier = true; }
static void barrier_signal(Wave& w, const Op&) { signal_barrier(w); }
static void barrier_wait(Wave& w, const Op&) { w.at_barrier = true; }

// s_setreg: only MODE (hardware register 1) has an effect here; control holds id | offset << 8 | size << 16.
static void set_register(Wave& w, const Op& op) {
  u32 id = op.control & 0xff, offset = op.control >> 8 & 0xff, size = op.control >> 16 & 0xff;
  u32 mask = size >= 32 ? ~0u : (1u << size) - 1;
  if (id == 1) w.mode = (w.mode & ~(mask << offset)) | (u32(scalar_value(w, op.src[0], false)) & mask) << offset;
}
static void get_register(Wave& w, const Op& op) {
  u32 id = op.control & 0xff, offset = op.control >> 8 & 0xff, size = op.control >> 16 & 0xff;
  u32 mask = size >= 32 ? ~0u : (1u << size) - 1, value = id == 1 ? w.mode : 0;
  if (id != 1 && id != 4 && id != 23 && id != 24) fail(FaultKind::unsupported, "s_getreg of hardware register " + std::to_string(id));
  write_scalar(w, op.dst.index, value >> offset & mask, 0);
}
static void set_round_mode(Wave& w, const Op& op) { w.mode = (w.mode & ~15u) | (op.control & 15); }
static void set_denorm_mode(Wave& w, const Op& op) { w.mode = (w.mode & ~0xf0u) | (op.control & 15) << 4; }
static void get_time(Wave& w, const Op& op) { write_scalar_result(w, op.dst, w.steps * 4, 0); }
static void unknown(Wave&, const Op&) { fail(FaultKind::unknown_opcode, "no semantics for this opcode"); }

static const Entry kEntries[] = {
  {"s_branch", jump, kBranch, 4, "", nullptr, 0, 0}, {"s_cbranch_scc0", branch_if<0>, kBranch, 4, "", nullptr, 0, 0},
  {"s_cbranch_scc1", branch_if<1>, kBranch, 4, "", nullptr, 0, 0}, {"s_cbranch_vccz", branch_if<2>, kBranch, 4, "", nullptr, 0, 0},
  {"s_cbranch_vccnz", branch_if<3>, kBranch, 4, "", nullptr, 0, 0}, {"s_cbranch_execz", branch_if<4>, kBranch, 4, "", nullptr, 0, 0},
  {"s_cbranch_execnz", branch_if<5>, kBranch, 4, "", nullptr, 0, 0}, {"s_endpgm", end_program, kBranch, 4, "", nullptr, 0, 0},
  {"s_nop", do_nothing, kOther, 1, "", nullptr, 0, 0}, {"s_sleep", sleep, kOther, 1, "", nullptr, 0, 0}, {"s_trap", trap, kOther, 1, "", nullptr, 0, 0},
  {"s_waitcnt", wait_counters, kOther, 1, "", nullptr, 0, 0}, {"s_getpc_b64", get_pc, kSalu, 1, "", nullptr, 0, 0},
  {"s_setpc_b64", set_pc, kBranch, 4, "", nullptr, 0, 0}, {"s_swappc_b64", set_pc, kBranch, 4, "", nullptr, 0, 0}, {"s_call_b64", call, kBranch, 4, "", nullptr, 0, 0},
  {"s_barrier", barrier, kBarrier, 1, "", nullptr, 0, 0}, {"s_barrier_signal", barrier_signal, kBarrier, 1, "", nullptr, 0, 0},
  {"s_barrier_wait", barrier_wait, kBarrier, 1, "", nullptr, 0, 0}, {"s_setreg_b32", set_register, kSalu, 1, "", nullptr, 0, 0},
  {"s_getreg_b32", get_register, kSalu, 1, "", nullptr, 0, 0}, {"s_round_mode", set_round_mode, kOther, 1, "", nullptr, 0, 0},
  {"s_denorm_mode", set_denorm_mode, kOther, 1, "", nullptr, 0, 0}, {"s_memtime", get_time, kSmem, 1, "", nullptr, 0, 0},
  {"unknown", unknown, kOther, 1, "", nullptr, 0, 0},
};

Table control_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
