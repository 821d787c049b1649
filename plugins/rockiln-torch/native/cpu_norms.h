// rms_norm and add_rms_norm: x / sqrt(mean(x^2) + eps) * (weight + weight_offset).
#pragma once

#include <cmath>

#include "cpu_kernels.h"
#include "cpu_vector.h"

namespace rockiln_torch {
namespace {

// The sum of squares of a row, in the same order at every call; with a residual it writes the sum of the two.
template <typename Number>
ROCKILN_INLINE float add_squares(const typename Number::Element* x, const typename Number::Element* residual,
                                 typename Number::Element* added, int64_t width) {
  constexpr int64_t kParts = 4;
  Floats sums[kParts] = {};
  int64_t place = 0;
  for (; place + kParts * kLanes <= width; place += kParts * kLanes)
    for (int64_t part = 0; part < kParts; ++part) {
      Floats values = load<Number>(x + place + part * kLanes);
      if (residual != nullptr) {
        values = round_to<Number>(values + load<Number>(residual + place + part * kLanes));
        store<Number>(added + place + part * kLanes, values);
      }
      sums[part] += values * values;
    }
  for (; place < width; place += kLanes) {
    const int64_t count = least(width - place, kLanes);
    Floats values = load<Number>(x + place, count);
    if (residual != nullptr) {
      values = round_to<Number>(values + load<Number>(residual + place, count));
      store<Number>(added + place, values, count);
    }
    sums[0] += values * values;
  }
  return add_up((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename Number>
void norm_rows(const CpuRows& work, int64_t begin, int64_t end) {
  const auto& rows = static_cast<const NormRows&>(work);
  using Element = typename Number::Element;
  const auto* weight = static_cast<const Element*>(rows.weight);
  const int64_t width = rows.width;
  for (int64_t row = begin; row < end; ++row) {
    const auto* x = static_cast<const Element*>(rows.x) + row * rows.stride;
    auto* y = static_cast<Element*>(rows.outputs[0]) + row * width;
    const Element* residual = nullptr;
    Element* added = nullptr;
    if (rows.residual != nullptr) {
      residual = static_cast<const Element*>(rows.residual) + row * rows.residual_stride;
      added = static_cast<Element*>(rows.outputs[1]) + row * width;
    }
    const float mean = add_squares<Number>(x, residual, added, width) / static_cast<float>(width);
    const float inverse = 1.0f / std::sqrt(mean + rows.eps);
    const auto* own = residual == nullptr ? x : added;
    int64_t place = 0;
    for (; place + kLanes <= width; place += kLanes)
      store<Number>(y + place, load<Number>(own + place) * inverse * (load<Number>(weight + place) + rows.weight_offset));
    if (place == width) continue;
    const Floats values = load<Number>(own + place, width - place), last = load<Number>(weight + place, width - place);
    store<Number>(y + place, values * inverse * (last + rows.weight_offset), width - place);
  }
}

}  // namespace
}  // namespace rockiln_torch
