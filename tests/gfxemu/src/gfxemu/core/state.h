// State of a launch: micro-ops, waves, workgroups, memory regions, faults. lower.py writes Op, faults.py reads Fault.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace gfxemu {

using u8 = uint8_t; using u16 = uint16_t; using u32 = uint32_t; using u64 = uint64_t;
using i8 = int8_t; using i16 = int16_t; using i32 = int32_t; using i64 = int64_t;

constexpr int kLanes = 64;          // lanes a register row has room for; wave32 uses the first half
constexpr int kRegisters = 512;     // VGPR 0-255, then AGPR 0-255 (gfx90a and later)
constexpr int kM0 = 124, kNull = 125, kExec = 126, kVcc = 106;  // after lowering: the same numbers for every arch
constexpr u32 kSharedAperture = 0x00010000, kPrivateAperture = 0x00020000;  // high dwords of flat LDS and scratch

enum class Kind : u8 { none, vector, scalar, constant, vccz, execz, scc };

struct Operand { Kind kind; u8 width; u16 index; u32 low, high; };

struct Op {
  Operand dst, dst2, src[4];
  u32 pc, next; i32 target, offset, offset1; u32 control;  // control: DPP, SDWA, bitop3, MFMA formats: see lower.py
  u16 op; u8 neg, abs, opsel, opsel_hi, neg_hi, clamp, omod, flags, unit, size;
};
enum Flag : u8 { kReturns = 1, kDpp = 2, kDpp8 = 4, kSdwa = 8, kZeroHigh = 16, kHasScalarBase = 32, kLdsDirect = 64,
                 kAlternative = 128 };

enum class FaultKind : u32 { none, out_of_bounds, uninitialized, missing_wait, race, misaligned, unknown_opcode, hang,
                             register_bounds, deadlock, unsupported };

struct Fault { FaultKind kind; std::string text; u64 lanes = 0; u64 address = 0; };

enum Counter { kLoad, kStore, kDs, kKm, kCounters };  // gfx9, gfx11: kDs is lgkmcnt; gfx9: stores count in kLoad

// Who touched each byte last: 0 nobody, else epoch id << 8 | wave + 1 (kSeveral: several waves, never in `write`), with
// kAtomicRead where all that read it were atomic loads. `atomic` is empty until the first atomic.
constexpr u32 kSeveral = 0x3f, kAtomicRead = 0x40;      // a workgroup has 32 waves at most
struct Stamps { std::vector<u32> write, read, atomic; };
enum class Touch : u8 { read, write, atomic, atomic_read };

struct Region {  // a piece of global memory
  u64 base, size; u8* host; bool writable;
  Stamps stamps; std::vector<u8> lines;                // a 128-byte line: 1 read, 2 written
};

enum Unit : u8 { kSalu, kSmem, kValu, kTranscendental, kMatrix, kLds, kVmem, kBranch, kBarrier, kOther, kUnits };

struct Counts {
  u64 instructions[kUnits]; u64 cycles[kUnits];        // cycles: modelled issue cycles, docs/gfxemu.md
  u64 global_read_bytes, global_written_bytes, global_lines, hbm_read_lines, hbm_written_lines;
  u64 lds_read_bytes, lds_written_bytes, lds_accesses, lds_conflict_cycles, scratch_bytes, scalar_bytes;
  u64 atomics, barriers, workgroups, waves, matrix_flops;
};

struct Arch { u32 generation; u32 lanes; u32 has_fnuz; u32 id; u32 vgprs, agpr_first, sgprs, checks; };

struct Launch {                                        // filled by launch.py, field for field
  Arch arch; u32 grid[3], block[3]; u64 kernarg, dispatch; u32 lds_bytes, scratch_bytes, mode, user_sgprs;
  u32 system_flags, entry; u32 order; u32 seed; u64 step_limit; u32 preload_dwords, properties;
};

struct Outstanding { u32 sequence; Counter counter; bool lds; u32 bytes; u64 lanes; Region* region; u64 at[kLanes]; Touch touch; };

struct Group;

struct Wave {
  u32 v[kRegisters][kLanes]; u64 clean[kRegisters]; u32 shadow[kRegisters][kLanes];  // shadow: undefined bits
  u32 s[128], s_shadow[128]; u64 exec; u32 pc; u8 scc, scc_shadow; u32 mode;
  u32 issued[kCounters], done[kCounters], last_scalar; u32 v_pending[2][2][kRegisters], s_pending[128];  // [loads, LDS][low half, high half]
  bool any_pending;
  u32 index, signals, waits; bool at_barrier, ended, slept; u64 steps; Group* group;
  std::vector<u8> scratch, scratch_shadow; std::vector<Outstanding> accesses;
  u64 all() const; int lanes() const;
};

struct Machine;

struct Group {
  Machine* machine; u32 id[3], ordinal; std::vector<std::unique_ptr<Wave>> waves;
  std::vector<u8> lds, lds_shadow; Stamps stamps; std::vector<u32> epochs; u32 arrived, released;
};

struct Machine {
  Launch launch; const Op* program; u32 op_total; const i32* index_of_pc; u32 words; std::vector<Region> regions; Counts counts;
  u32 epoch = 0; Region* last = nullptr; std::vector<std::unique_ptr<Wave>> spare;
  std::deque<std::unique_ptr<Group>> resident; const Op* current = nullptr;
  Wave* running = nullptr; u32 float_control = ~0u;
  bool checks() const { return launch.arch.checks != 0; }
  bool races() const { return checks() && !(launch.arch.checks & 2); }
  u32 generation() const { return launch.arch.generation; }
};

inline u64 Wave::all() const { return group->machine->launch.arch.lanes == 64 ? ~0ull : 0xffffffffull; }
inline int Wave::lanes() const { return int(group->machine->launch.arch.lanes); }

using Handler = void (*)(Wave&, const Op&);
struct Entry { const char* name; Handler handler; Unit unit; u8 cycles; const char* types; void* lanes; u8 taint; u8 float_class; };

template <class T> inline u32 to_bits(T value) { u32 out = 0; std::memcpy(&out, &value, sizeof value); return out; }
template <class T> inline T from_bits(u32 bits) { T out; std::memcpy(&out, &bits, sizeof out); return out; }

}  // namespace gfxemu
