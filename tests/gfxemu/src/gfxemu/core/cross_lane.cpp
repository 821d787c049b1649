// Lanes reading other lanes: DPP (CDNA3 ISA §12.? "DPP"; RDNA3 ISA §7.6), readlane, writelane, permlane.
#include "cross_lane.h"
#include "tables.h"

namespace gfxemu {

// `control` of a DPP operand: dpp_ctrl | row_mask << 12 | bank_mask << 16 | bound_ctrl << 20 | fetch_inactive << 21.
static int source_lane(u32 control, int lane, int lanes, bool& valid) {
  int row = lane & ~15, in_row = lane & 15, n = int(control & 15);
  valid = true;
  if (control < 0x100) return (lane & ~3) | int(control >> (2 * (lane & 3)) & 3);                     // quad_perm
  switch (control >> 4) {
    case 0x10: valid = in_row + n < 16; return lane + n;                                            // row_shl
    case 0x11: valid = in_row >= n; return lane - n;                                                // row_shr
    case 0x12: return row | ((in_row - n) & 15);                                                    // row_ror
    case 0x15: return row | n;                                                                      // row_share, row_newbcast
    case 0x16: return row | (in_row ^ n);                                                           // row_xmask
    default: break;
  }
  switch (control) {
    case 0x130: valid = lane + 1 < lanes; return lane + 1;                                          // wave_shl
    case 0x134: return (lane + 1) % lanes;                                                          // wave_rol
    case 0x138: valid = lane >= 1; return lane - 1;                                                 // wave_shr
    case 0x13c: return (lane + lanes - 1) % lanes;                                                  // wave_ror
    case 0x140: return row | (15 - in_row);                                                         // row_mirror
    case 0x141: return row | (in_row & 8) | (7 - (in_row & 7));                                     // row_half_mirror
    case 0x142: valid = lane >= 16; return row - 1;                                                 // row_bcast:15
    case 0x143: valid = lane >= 32; return 31;                                                      // row_bcast:31
    default: fail(FaultKind::unknown_opcode, "DPP control " + hex(control));
  }
}

LaneMap map_dpp(const Wave& w, const Op& op) {
  LaneMap map{};
  bool fetch_inactive = op.control >> 21 & 1;
  for (int i = 0; i < w.lanes(); i++) {
    bool valid = true;
    int from = op.flags & kDpp8 ? (i & ~7) | int(op.control >> (3 * (i & 7)) & 7) : source_lane(op.control & 0x1ff, i, w.lanes(), valid);
    if (op.flags & kDpp8) fetch_inactive = op.opsel_hi & 1;
    if (valid && !fetch_inactive && !(w.exec >> from & 1)) valid = false;
    bool enabled = op.flags & kDpp8 || ((op.control >> (12 + i / 16 % 4) & 1) && (op.control >> (16 + i / 4 % 4) & 1));
    map.from[i] = u8(valid ? from : i);
    map.valid |= u64(valid) << i;
    map.enabled |= u64(enabled) << i;
  }
  return map;
}

void permute_dpp(Wave& w, const Op& op, const void* in, Buffer& out, bool wide) {
  LaneMap map = map_dpp(w, op);
  Buffer copy;
  std::memcpy(copy.raw, in, wide ? sizeof copy.raw : sizeof copy.raw / 2);
  auto* from = reinterpret_cast<u32*>(copy.raw);
  auto* to = reinterpret_cast<u32*>(out.raw);
  for (int i = 0; i < w.lanes(); i++) {
    bool valid = map.valid >> i & 1;
    if (wide) out.raw[i] = valid ? copy.raw[map.from[i]] : 0;
    else to[i] = valid ? from[map.from[i]] : 0;
  }
}

u64 dpp_mask(Wave& w, const Op& op) {
  LaneMap map = map_dpp(w, op);
  bool bound_zero = op.flags & kDpp8 || op.control >> 20 & 1;
  return w.exec & map.enabled & (bound_zero ? ~0ull : map.valid);
}

static void readlane(Wave& w, const Op& op) {
  u32 reg = op.src[0].index, lane = u32(scalar_value(w, op.src[1], false)) % u32(w.lanes());
  if (scalar_shadow(w, op.src[1], false)) fail(FaultKind::uninitialized, "the lane number is undefined");
  write_scalar(w, op.dst.index, w.v[reg][lane], shadow_of(w, reg, int(lane)));
}
static void readfirstlane(Wave& w, const Op& op) {
  if (op.src[0].kind != Kind::vector) return write_scalar(w, op.dst.index, u32(scalar_value(w, op.src[0], false)), u32(scalar_shadow(w, op.src[0], false)));
  int lane = w.exec ? __builtin_ctzll(w.exec) : 0;
  write_scalar(w, op.dst.index, w.v[op.src[0].index][lane], shadow_of(w, op.src[0].index, lane));
}
static void writelane(Wave& w, const Op& op) {
  u32 lane = u32(scalar_value(w, op.src[1], false)) % u32(w.lanes()), reg = op.dst.index;
  u32 shadow = u32(scalar_shadow(w, op.src[0], false));
  w.v[reg][lane] = u32(scalar_value(w, op.src[0], false));
  w.shadow[reg][lane] = shadow;
  w.clean[reg] = (w.clean[reg] & ~(1ull << lane)) | u64(shadow == 0) << lane;
}

static void move_lanes(Wave& w, const Op& op, const u8* from) {
  u32 values[kLanes] = {}, shadow[kLanes] = {}, reg = op.src[0].index;
  bool fetch_inactive = op.opsel & 1, bound_zero = op.opsel >> 1 & 1;
  u64 mask = w.exec;
  for (int i = 0; i < w.lanes(); i++) {
    bool live = fetch_inactive || w.exec >> from[i] & 1;
    if (!live && !bound_zero) { mask &= ~(1ull << i); continue; }
    values[i] = live ? w.v[reg][from[i]] : 0;
    shadow[i] = live ? shadow_of(w, reg, from[i]) : 0;
  }
  store_shadowed(w, op.dst.index, values, shadow, mask);
}

template <int Flip> static void permlane16(Wave& w, const Op& op) {  // V_PERMLANE16/X16_B32 (RDNA3 ISA §16.12)
  u64 select = u64(u32(scalar_value(w, op.src[2], false))) << 32 | u32(scalar_value(w, op.src[1], false));
  u8 from[kLanes];
  for (int i = 0; i < w.lanes(); i++) from[i] = u8(((i & ~15) ^ Flip) | int(select >> (4 * (i & 15)) & 15));
  move_lanes(w, op, from);
}
static void permlane64(Wave& w, const Op& op) {
  u8 from[kLanes];
  for (int i = 0; i < w.lanes(); i++) from[i] = u8(w.lanes() == 64 ? i ^ 32 : i);
  Op plain = op;
  plain.opsel = 1;
  move_lanes(w, plain, from);
}

// V_PERMLANE16/32_SWAP_B32 (CDNA4 ISA §12.9): odd rows of the first register against even rows of the second.
template <int Row> static void permlane_swap(Wave& w, const Op& op) {
  u32 a = op.dst.index, b = op.src[0].index;
  for (int i = 0; i < 64; i++) {
    if (!(i & Row) || !(w.exec >> i & 1)) continue;
    int j = i ^ Row;
    u32 sa = shadow_of(w, a, i), sb = shadow_of(w, b, j);
    std::swap(w.v[a][i], w.v[b][j]);
    w.shadow[a][i] = sb; w.shadow[b][j] = sa;
    w.clean[a] = (w.clean[a] & ~(1ull << i)) | u64(sb == 0) << i;
    w.clean[b] = (w.clean[b] & ~(1ull << j)) | u64(sa == 0) << j;
  }
}

static const Entry kEntries[] = {
  {"v_readlane_b32", readlane, kValu, 4, "", nullptr, 0, 0}, {"v_readfirstlane_b32", readfirstlane, kValu, 4, "", nullptr, 0, 0},
  {"v_writelane_b32", writelane, kValu, 4, "", nullptr, 0, 0}, {"v_permlane16_b32", permlane16<0>, kValu, 4, "", nullptr, 0, 0},
  {"v_permlanex16_b32", permlane16<16>, kValu, 4, "", nullptr, 0, 0}, {"v_permlane64_b32", permlane64, kValu, 4, "", nullptr, 0, 0},
  {"v_permlane32_swap_b32", permlane_swap<32>, kValu, 8, "", nullptr, 0, 0}, {"v_permlane16_swap_b32", permlane_swap<16>, kValu, 8, "", nullptr, 0, 0},
};

Table cross_lane_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
