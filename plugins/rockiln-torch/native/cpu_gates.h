// The *_and_mul ops: gate(g) (u + up_offset), g and u cut at limit.
#pragma once

#include "cpu_kernels.h"
#include "cpu_math.h"

namespace rockiln_torch {
namespace {

// A row that is read in f32.
template <typename Number>
struct PlainRow {
  const typename Number::Element* x;
  PlainRow(const GateRows& rows, int64_t row)
      : x(static_cast<const typename Number::Element*>(rows.x) + row * rows.stride) {}
  ROCKILN_INLINE Floats read(int64_t place) const { return load<Number>(x + place); }
  ROCKILN_INLINE Floats read(int64_t place, int64_t count) const { return load<Number>(x + place, count); }
};

// A row of products in two bf16 numbers each: x less the product's rest, `low`. See run_product.
struct SumRow {
  const uint16_t *negative, *low;
  SumRow(const GateRows& rows, int64_t row)
      : negative(static_cast<const uint16_t*>(rows.x) + row * rows.stride),
        low(static_cast<const uint16_t*>(rows.low) + row * rows.stride) {}
  static ROCKILN_INLINE Floats add(Floats negative, Floats low) {  // of infinity the rest is NaN
    return magnitude(negative) == __builtin_inff() ? -negative : low - negative;
  }
  ROCKILN_INLINE Floats read(int64_t place) const { return add(load<Bf16>(negative + place), load<Bf16>(low + place)); }
  ROCKILN_INLINE Floats read(int64_t place, int64_t count) const {
    return add(load<Bf16>(negative + place, count), load<Bf16>(low + place, count));
  }
};

template <CpuGate Gate>
ROCKILN_INLINE Floats apply_gate(Floats g, Floats u, const GateRows& rows, float offset) {
  if (rows.limit > 0.0f) {
    g = cut_above(g, splat(rows.limit));
    u = cut_below(cut_above(u, splat(rows.limit)), splat(-rows.limit));
  }
  return activate<Gate>(g, rows.alpha) * (u + offset);
}

template <typename Number, CpuGate Gate, typename Row>
ROCKILN_INLINE void gate_halves(const Row& x, typename Number::Element* y, const GateRows& rows, float offset) {
  const int64_t width = rows.width;
  int64_t place = 0;
  for (; place + kLanes <= width; place += kLanes)
    store<Number>(y + place, apply_gate<Gate>(x.read(place), x.read(width + place), rows, offset));
  if (place == width) return;
  const Floats g = x.read(place, width - place), u = x.read(width + place, width - place);
  store<Number>(y + place, apply_gate<Gate>(g, u, rows, offset), width - place);
}

template <typename Number, CpuGate Gate, typename Row>
ROCKILN_INLINE void gate_in_turn(const Row& x, typename Number::Element* y, const GateRows& rows, float offset) {
  const int64_t width = rows.width;
  int64_t place = 0;
  for (; place + kLanes <= width; place += kLanes) {
    const Floats one = x.read(2 * place), other = x.read(2 * place + kLanes);
    store<Number>(y + place, apply_gate<Gate>(take_even(one, other), take_odd(one, other), rows, offset));
  }
  if (place == width) return;
  const int64_t last = width - place, first = least(2 * last, kLanes);
  const Floats one = x.read(2 * place, first), other = x.read(2 * place + first, 2 * last - first);
  store<Number>(y + place, apply_gate<Gate>(take_even(one, other), take_odd(one, other), rows, offset), last);
}

template <typename Number, CpuGate Gate, typename Row = PlainRow<Number>>
void gate_rows(const CpuRows& work, int64_t begin, int64_t end) {
  const auto& rows = static_cast<const GateRows&>(work);
  const FlushScope flushes;
  const float offset = rows.up_offset == 0.0f ? -0.0f : rows.up_offset;  // u + -0 is u, the zero's sign and all
  for (int64_t row = begin; row < end; ++row) {
    auto* y = static_cast<typename Number::Element*>(rows.outputs[0]) + row * rows.width;
    if (rows.interleaved) gate_in_turn<Number, Gate>(Row(rows, row), y, rows, offset);
    else gate_halves<Number, Gate>(Row(rows, row), y, rows, offset);
  }
}

}  // namespace
}  // namespace rockiln_torch
