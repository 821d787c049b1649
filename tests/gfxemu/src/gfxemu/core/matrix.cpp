// MFMA and WMMA (AMD matrix instruction calculator's layouts; CDNA3 ISA §7 "Matrix Arithmetic", CDNA4 ISA §7 for the
// scaled f8f6f4 ones; RDNA3 ISA §7.9, RDNA4 ISA §7.12 "WMMA"). Products are exact, the sum is made in f64 and rounded
// once: hardware's order of additions is not documented, so the last bits of f32 sums may differ from a device's.
#include <algorithm>
#include "small_float.h"
#include "tables.h"
#include "vector.h"

namespace gfxemu {

enum Accumulator : u32 { kAccF32, kAccI32, kAccF64, kAccF16, kAccBf16 };

// control: rows | k << 8 | blocks << 16 | wmma << 24 | scaled << 25; offset: A | B << 8 | accumulator << 16.
struct Shape {
  int rows, k, blocks; bool wmma, scaled; Format a, b; Accumulator out; int lanes, generation;
  bool replicated() const { return wmma && generation < 12; }
  int groups() const { return replicated() ? 1 : lanes / (rows * blocks); }
  int per_lane() const { return k / groups(); }
};

static Shape shape_of(const Wave& w, const Op& op) {
  return {int(op.control & 63), int(op.control >> 8 & 255), int(op.control >> 16 & 31), bool(op.control >> 24 & 1),
          bool(op.control >> 25 & 1), Format(op.offset & 255), Format(op.offset >> 8 & 255), Accumulator(op.offset >> 16 & 255),
          w.lanes(), int(w.group->machine->generation())};
}

// The k that element j of a lane's A or B registers has. 8-bit f8f6f4 operands come in two halves of 16 bytes.
static int k_of(const Shape& s, Format f, int group, int j) {
  bool halves = s.per_lane() == 32 && width_of(f) == 8;
  return halves ? j % 16 + 16 * group + j / 16 * 16 * s.groups() : s.per_lane() * group + j;
}

static u64 bits_at(const Wave& w, u32 reg, int lane, int bit, int width) {
  u64 low = w.v[reg + u32(bit) / 32][lane] >> (bit % 32);
  if (bit % 32 + width > 32) low |= u64(w.v[reg + u32(bit) / 32 + 1][lane]) << (32 - bit % 32);
  return width == 64 ? low : low & ((1ull << width) - 1);
}

static float round_xf32(float x) {                      // 10 mantissa bits, to nearest even
  u32 bits = to_bits(x);
  return (bits & 0x7f800000) == 0x7f800000 ? x : from_bits<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

static double decode(const Wave& w, Format f, u64 bits) {
  bool flushes = w.group->machine->launch.arch.id == 90;  // MI200 flushes f16 and bf16 denormals in MFMA
  switch (f) {
    case kF16: return flushes && !(bits & 0x7c00) ? 0.0 : double(half_to_float(u16(bits)));
    case kBf16: return flushes && !(bits & 0x7f80) ? 0.0 : double(bf16_to_float(u16(bits)));
    case kF32: return double(from_bits<float>(u32(bits)));
    case kXf32: return double(round_xf32(from_bits<float>(u32(bits))));
    case kF64: { double out; std::memcpy(&out, &bits, 8); return out; }
    case kI8: return double(i8(bits));
    case kU8: return double(u8(bits));
    case kI4: return double(i32(u32(bits) << 28) >> 28);
    case kU4: return double(bits);
    default: return double(decode_small(f, u32(bits)));
  }
}

struct Matrix { double v[32][132]; bool bad[32]; };     // one block: [row or column][k], and rows with undefined bits

static const double* small_table(Format f) {            // the values of the formats of 8 bits and fewer
  static double tables[8][256];
  static bool ready[8];
  if (!ready[f]) { for (u32 i = 0; i < 256; i++) tables[f][i] = double(decode_small(f, i & ((1u << width_of(f)) - 1))); ready[f] = true; }
  return tables[f];
}

// A lane's whole operand as doubles, element after element.
static void decode_lane(const Wave& w, Format f, u32 reg, int lane, int count, const double* table, double* out) {
  int width = width_of(f);
  if (f == kBf16 && w.group->machine->launch.arch.id != 90) {
    for (int j = 0; j < count; j += 2) {
      u32 pair = w.v[reg + u32(j) / 2][lane];
      out[j] = double(from_bits<float>(pair << 16));
      out[j + 1] = double(from_bits<float>(pair & 0xffff0000));
    }
  } else if (table && width == 8) {
    for (int j = 0; j < count; j += 4) {
      u32 four = w.v[reg + u32(j) / 4][lane];
      for (int q = 0; q < 4; q++) out[j + q] = table[four >> (8 * q) & 255];
    }
  } else {
    for (int j = 0; j < count; j++) {
      u64 bits = bits_at(w, reg, lane, j * width, width);
      out[j] = table ? table[bits & 255] : decode(w, f, bits);
    }
  }
}

static void read_matrix(const Wave& w, const Shape& s, Format f, u32 reg, int regs, int block, Matrix& m) {
  int count = s.per_lane(), half = s.per_lane() == 32 && width_of(f) == 8 ? 16 : count;
  std::fill_n(m.bad, 32, false);
  const double* table = f <= kE5M2Fnuz ? small_table(f) : nullptr;
  u64 clean = ~0ull;
  for (int r = 0; r < regs; r++) clean &= w.clean[reg + u32(r)];
  double values[64];
  for (int lane = 0; lane < s.lanes; lane++) {
    if (s.replicated() && lane >= 16) break;
    if (!s.replicated() && lane / s.rows % s.blocks != block) continue;
    int row = lane % s.rows, group = s.replicated() ? 0 : lane / (s.rows * s.blocks);
    if (!(clean >> lane & 1)) for (int r = 0; r < regs; r++) m.bad[row] |= shadow_of(w, reg + u32(r), lane) != 0;
    decode_lane(w, f, reg, lane, count, table, values);
    for (int j = 0; j < count; j += half) std::copy_n(values + j, half, &m.v[row][k_of(s, f, group, j)]);
  }
}

static void check_replicas(const Wave& w, u32 reg, int regs) {  // RDNA3: lanes 16-31 must repeat lanes 0-15
  for (int r = 0; r < regs; r++)
    for (int i = 0; i < 16; i++)
      if (w.v[reg + u32(r)][i] != w.v[reg + u32(r)][i + 16])
        fail(FaultKind::unsupported, "WMMA operand differs between lanes " + std::to_string(i) + " and " + std::to_string(i + 16), 1ull << i);
}

// Scales of the f8f6f4 instructions: lane (row, group) holds the E8M0 of k in [32 * group, 32 * group + 32).
static void apply_scales(const Wave& w, const Shape& s, const Operand& from, u32 byte, Matrix& m) {
  for (int lane = 0; lane < s.lanes; lane++) {
    int row = lane % s.rows, group = lane / s.rows;
    u32 bits = from.kind == Kind::vector ? w.v[from.index][lane] : u32(scalar_value(w, from, false));
    if (from.kind == Kind::vector && (shadow_of(w, from.index, lane) >> (8 * byte) & 255)) m.bad[row] = true;
    u32 exponent = bits >> (8 * byte) & 255;
    double scale = exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, int(exponent) - 127);
    for (int k = 32 * group; k < 32 * group + 32; k++) m.v[row][k] *= scale;
  }
}

struct Cell { int block, row, column, reg; bool high; };  // where one accumulator value sits

static Cell cell_of(const Shape& s, int lane, int r) {
  if (s.wmma) {
    if (s.generation < 12) return {0, 2 * r + lane / 16, lane % 16, r, false};
    bool packed = s.out == kAccF16 || s.out == kAccBf16;
    return {0, 8 * (lane / 16) + r, lane % 16, packed ? r / 2 : r, packed && r % 2};
  }
  if (s.out == kAccF64) return s.rows == 16 ? Cell{0, lane / 16 + 4 * r, lane % 16, 2 * r, false} : Cell{lane / 4 % 4, lane / 16, lane % 4, 0, false};
  if (s.rows == 4) return {lane / 4, r, lane % 4, r, false};
  int per_block = s.rows == 32 ? 16 : 4, q = r % per_block;
  int row = s.rows == 32 ? 8 * (q / 4) + 4 * (lane / 32) + q % 4 : 4 * (lane / 16) + q;
  return {r / per_block, row, lane % s.rows, r, false};
}

static int values_per_lane(const Shape& s) { return s.rows * s.rows * s.blocks / s.lanes; }

// C's value in a cell, as a double; registers or one constant.
static double read_c(const Wave& w, const Shape& s, const Operand& c, int lane, const Cell& cell, u32 high_select) {
  u64 bits = c.low;
  if (c.kind == Kind::vector) bits = bits_at(w, c.index + u32(cell.reg), lane, 0, s.out == kAccF64 ? 64 : 32);
  else if (s.out == kAccF64) bits = u64(c.high) << 32 | c.low;
  bool high = cell.high || high_select;
  switch (s.out) {
    case kAccI32: return double(i32(u32(bits)));
    case kAccF64: return decode(w, kF64, bits);
    case kAccF16: return double(half_to_float(u16(bits >> (high && c.kind == Kind::vector ? 16 : 0))));
    case kAccBf16: return double(bf16_to_float(u16(bits >> (high && c.kind == Kind::vector ? 16 : 0))));
    default: return double(from_bits<float>(u32(bits)));
  }
}

static void write_d(Wave& w, const Shape& s, u32 reg, int lane, const Cell& cell, double value, bool bad, bool high_select, bool clamp) {
  u32 at = reg + u32(cell.reg);
  auto put = [&](u32 r, u32 bits, u32 mask) {
    u32 shadow = (shadow_of(w, r, lane) & ~mask) | (bad ? mask : 0);
    w.v[r][lane] = (w.v[r][lane] & ~mask) | (bits & mask);
    w.shadow[r][lane] = shadow;
    w.clean[r] = (w.clean[r] & ~(1ull << lane)) | u64(shadow == 0) << lane;
  };
  bool high = cell.high || high_select;
  if (s.out == kAccF64) { u64 bits; std::memcpy(&bits, &value, 8); put(at, u32(bits), ~0u); put(at + 1, u32(bits >> 32), ~0u); return; }
  if (s.out == kAccI32) {
    if (clamp) value = std::clamp(value, -2147483648.0, 2147483647.0);
    return put(at, u32(u64(i64(value))), ~0u);
  }
  if (s.out == kAccF32) return put(at, to_bits(float(value)), ~0u);
  u32 bits = s.out == kAccF16 ? double_to_half(value) : float_to_bf16(float(value));
  put(at, high ? bits << 16 : bits, high ? 0xffff0000u : 0xffffu);
}

template <int N> static void multiply_rows(const Shape& s, const Matrix& a, const double (*b)[32], double (*out)[32]) {
  for (int i = 0; i < s.rows; i++) {
    double row[N] = {};
    for (int k = 0; k < s.k; k++) {
      double x = a.v[i][k];
      for (int j = 0; j < N; j++) row[j] += x * b[k][j];
    }
    std::copy_n(row, N, out[i]);
  }
}

static void multiply_block(const Shape& s, const Matrix& a, const Matrix& b, double (*out)[32]) {
  static double transposed[132][32];
  for (int k = 0; k < s.k; k++) for (int j = 0; j < s.rows; j++) transposed[k][j] = b.v[j][k];
  if (s.rows == 32) multiply_rows<32>(s, a, transposed, out);
  else if (s.rows == 16) multiply_rows<16>(s, a, transposed, out);
  else multiply_rows<4>(s, a, transposed, out);
}

// The common case, f32 sums and nothing undefined: C in, D out, a register row at a time.
static bool finish_plain(Wave& w, const Op& op, const Shape& s, const Matrix* a, const Matrix* b, const double (*product)[32][32]) {
  if (s.out != kAccF32) return false;
  int count = values_per_lane(s);
  const Operand& c = op.src[2];
  for (int block = 0; block < s.blocks; block++)
    for (int i = 0; i < s.rows; i++) if (a[block].bad[i] || b[block].bad[i]) return false;
  if (c.kind == Kind::vector) for (int r = 0; r < count; r++) if (w.clean[c.index + u32(r)] != w.all()) return false;
  if (c.kind != Kind::vector && c.kind != Kind::constant) return false;
  float out[32][kLanes];
  for (int r = 0; r < count; r++)
    for (int lane = 0; lane < s.lanes; lane++) {
      Cell cell = cell_of(s, lane, r);
      u32 bits = c.kind == Kind::vector ? w.v[c.index + u32(r)][lane] : c.low;
      out[r][lane] = float(product[cell.block][cell.row][cell.column] + double(from_bits<float>(bits)));
    }
  for (int r = 0; r < count; r++) {
    std::memcpy(w.v[op.dst.index + u32(r)], out[r], sizeof(float) * size_t(s.lanes));
    w.clean[op.dst.index + u32(r)] = w.all();
  }
  return true;
}

static void execute_matrix(Wave& w, const Op& op) {
  Shape s = shape_of(w, op);
  if (s.wmma && w.exec != w.all()) fail(FaultKind::unsupported, "WMMA with lanes switched off", ~w.exec & w.all());
  if (s.replicated()) { check_replicas(w, op.src[0].index, op.src[0].width); check_replicas(w, op.src[1].index, op.src[1].width); }
  set_float_mode(w, kFloat16);
  static Matrix a[16], b[16];
  static double product[16][32][32];
  for (int block = 0; block < s.blocks; block++) {
    read_matrix(w, s, s.a, op.src[0].index, op.src[0].width, block, a[block]);
    read_matrix(w, s, s.b, op.src[1].index, op.src[1].width, block, b[block]);
    if (s.scaled) {
      apply_scales(w, s, op.src[3], u32(op.offset1) & 15, a[block]);
      apply_scales(w, s, op.dst2, u32(op.offset1) >> 4 & 15, b[block]);
    }
    multiply_block(s, a[block], b[block], product[block]);
  }
  w.group->machine->counts.matrix_flops += 2ull * u64(s.rows) * u64(s.rows) * u64(s.k) * u64(s.blocks);
  if (finish_plain(w, op, s, a, b, product)) return;
  bool high_select = s.wmma && s.generation < 12 && (s.out == kAccF16 || s.out == kAccBf16) && op.opsel >> 2 & 1;
  int count = values_per_lane(s);
  struct Out { double value; bool bad; };
  static Out results[kLanes][32];
  for (int lane = 0; lane < s.lanes; lane++)
    for (int r = 0; r < count; r++) {
      Cell cell = cell_of(s, lane, r);
      double c = read_c(w, s, op.src[2], lane, cell, high_select);
      bool bad = a[cell.block].bad[cell.row] || b[cell.block].bad[cell.column];
      if (op.src[2].kind == Kind::vector) bad |= shadow_of(w, op.src[2].index + u32(cell.reg), lane) != 0 && s.out != kAccF16 && s.out != kAccBf16;
      results[lane][r] = {product[cell.block][cell.row][cell.column] + c, bad};
    }
  for (int lane = 0; lane < s.lanes; lane++)
    for (int r = 0; r < count; r++) {
      Cell cell = cell_of(s, lane, r);
      write_d(w, s, op.dst.index, lane, cell, results[lane][r].value, results[lane][r].bad, high_select, op.clamp);
    }
}

static const Entry kEntries[] = {{"matrix", execute_matrix, kMatrix, 16, "", nullptr, 0, 0}};

Table matrix_table() { return {kEntries, int(std::size(kEntries))}; }

}  // namespace gfxemu
