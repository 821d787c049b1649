// rope: pairs (a, b) of each head become (a cos - b sin, b cos + a sin).
#pragma once

#include "cpu_kernels.h"
#include "cpu_vector.h"

namespace rockiln_torch {
namespace {

struct Turned {
  Floats a, b;
};

ROCKILN_INLINE Turned turn(Floats a, Floats b, Floats cos, Floats sin) {
  return {a * cos - b * sin, b * cos + a * sin};
}

template <typename Number>
ROCKILN_INLINE void turn_halves(const typename Number::Element* x, typename Number::Element* y, const float* cos,
                                const float* sin, int64_t pairs) {
  int64_t place = 0;
  for (; place + kLanes <= pairs; place += kLanes) {
    const Turned turned = turn(load<Number>(x + place), load<Number>(x + pairs + place), load<F32>(cos + place),
                               load<F32>(sin + place));
    store<Number>(y + place, turned.a);
    store<Number>(y + pairs + place, turned.b);
  }
  if (place == pairs) return;
  const int64_t count = pairs - place;
  const Turned turned = turn(load<Number>(x + place, count), load<Number>(x + pairs + place, count),
                             load<F32>(cos + place, count), load<F32>(sin + place, count));
  store<Number>(y + place, turned.a, count);
  store<Number>(y + pairs + place, turned.b, count);
}

template <typename Number>
ROCKILN_INLINE void turn_in_turn(const typename Number::Element* x, typename Number::Element* y, const float* cos,
                                 const float* sin, int64_t pairs) {
  for (int64_t place = 0; place < pairs; place += kLanes) {
    const int64_t count = least(pairs - place, kLanes);
    const int64_t first = least(2 * count, kLanes);
    const Floats one = load<Number>(x + 2 * place, first), other = load<Number>(x + 2 * place + first, 2 * count - first);
    const Turned turned = turn(take_even(one, other), take_odd(one, other), load<F32>(cos + place, count),
                               load<F32>(sin + place, count));
    Floats low, high;
    take_in_turn(turned.a, turned.b, &low, &high);
    store<Number>(y + 2 * place, low, first);
    store<Number>(y + 2 * place + first, high, 2 * count - first);
  }
}

template <typename Number>
void rope_rows(const CpuRows& work, int64_t begin, int64_t end) {
  const auto& rows = static_cast<const RopeRows&>(work);
  using Element = typename Number::Element;
  const int64_t turned = 2 * rows.pairs;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t position = rows.positions[row];
    const float *cos = rows.cos + position * rows.pairs, *sin = rows.sin + position * rows.pairs;
    for (int64_t head = 0; head < rows.heads; ++head) {
      const auto* x = static_cast<const Element*>(rows.x) + row * rows.stride + head * rows.width;
      auto* y = static_cast<Element*>(rows.outputs[0]) + (row * rows.heads + head) * rows.width;
      if (rows.interleaved) turn_in_turn<Number>(x, y, cos, sin, rows.pairs);
      else turn_halves<Number>(x, y, cos, sin, rows.pairs);
      if (turned < rows.width)
        std::memcpy(y + turned, x + turned, static_cast<size_t>(rows.width - turned) * sizeof(Element));
    }
  }
}

}  // namespace
}  // namespace rockiln_torch
