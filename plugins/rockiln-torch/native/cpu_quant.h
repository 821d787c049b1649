// quant_fp8_*: a scale of a group, and x / scale in fp8, to nearest, ties to even, saturated.
#pragma once

#include "cpu_kernels.h"
#include "cpu_vector.h"

namespace rockiln_torch {
namespace {

// OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
template <CpuCode Code>
struct CodeFormat {
  static constexpr bool kIsFnuz = Code == kCpuE4m3fnuz || Code == kCpuE5m2fnuz;
  static constexpr bool kIsE4m3 = Code == kCpuE4m3 || Code == kCpuE4m3fnuz;
  static constexpr int kMantissa = kIsE4m3 ? 3 : 2;
  static constexpr int kBias = (kIsE4m3 ? 7 : 15) + (kIsFnuz ? 1 : 0);
  static constexpr float kLimit = Code == kCpuE4m3 ? 448.0f : Code == kCpuE4m3fnuz ? 240.0f : 57344.0f;
  static constexpr uint32_t kNan = kIsFnuz ? 0x80 : 0x7f;
};

template <CpuCode Code>
ROCKILN_INLINE Bytes encode(Floats values) {
  using Format = CodeFormat<Code>;
  constexpr int kShift = 23 - Format::kMantissa;
  constexpr uint32_t kLeast = static_cast<uint32_t>(128 - Format::kBias) << 23;  // f32's bits of the least normal code
  // f32's bits of a number whose last bit is the step of the codes below that: adding it rounds to them.
  constexpr uint32_t kStep = static_cast<uint32_t>(127 + 24 - Format::kBias - Format::kMantissa) << 23;
  const Words bits = as_words(values);
  const Words own = as_words(cut_above(magnitude(values), splat(Format::kLimit)));
  const Words normal = ((own + ((1u << (kShift - 1)) - 1) + ((own >> kShift) & 1u)) >> kShift) -
                       (static_cast<uint32_t>(127 - Format::kBias) << Format::kMantissa);
  const Words small = as_words(as_floats(own) + as_floats(Words{} + kStep)) - kStep;
  Words code = own < kLeast ? small : normal;
  const Words sign = (bits >> 24) & 0x80u;
  code |= Format::kIsFnuz ? (code == 0u ? Words{} : sign) : sign;  // fnuz has no -0
  code = values == values ? code : Words{} + Format::kNan;
  return shrink_to_bytes(code);
}

// The largest magnitude of some numbers, at least 0; NaN if there is one.
template <typename Number>
ROCKILN_INLINE Floats find_largest(const typename Number::Element* x, int64_t count) {
  Floats largest = {};
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) largest = larger(largest, magnitude(load<Number>(x + place)));
  if (place < count) largest = larger(largest, magnitude(load<Number>(x + place, count - place)));
  return largest;
}

template <typename Number>
float find_largest_rows(const QuantRows& rows, int64_t begin, int64_t end) {
  using Element = typename Number::Element;
  Floats largest = {};
  for (int64_t row = begin; row < end; ++row)
    largest = larger(largest, find_largest<Number>(static_cast<const Element*>(rows.x) + row * rows.stride, rows.width));
  return find_largest_lane(largest);
}

template <typename Number, CpuCode Code>
ROCKILN_INLINE void encode_some(const typename Number::Element* x, uint8_t* q, float scale, int64_t count) {
  const float inverse = 1.0f / scale;
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) {
    const Bytes codes = encode<Code>(load<Number>(x + place) * inverse);
    std::memcpy(q + place, &codes, sizeof codes);
  }
  if (place == count) return;
  const Bytes codes = encode<Code>(load<Number>(x + place, count - place) * inverse);
  std::memcpy(q + place, &codes, static_cast<size_t>(count - place));
}

template <CpuCode Code>
ROCKILN_INLINE float find_scale(float largest) {
  const float scale = largest / CodeFormat<Code>::kLimit;
  return scale < 1e-12f ? 1e-12f : scale;  // NaN stays
}

template <typename Number, CpuCode Code>
void quant_rows(const CpuRows& work, int64_t begin, int64_t end) {
  const auto& rows = static_cast<const QuantRows&>(work);
  using Element = typename Number::Element;
  const int64_t groups = (rows.width + rows.group - 1) / rows.group;
  for (int64_t row = begin; row < end; ++row) {
    const auto* x = static_cast<const Element*>(rows.x) + row * rows.stride;
    auto* q = static_cast<uint8_t*>(rows.outputs[0]) + row * rows.width;
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first = group * rows.group, count = least(rows.width - first, rows.group);
      float scale = 0.0f;
      if (rows.scale != nullptr) {
        scale = *rows.scale;
      } else {
        scale = find_scale<Code>(find_largest_lane(find_largest<Number>(x + first, count)));
        static_cast<float*>(rows.outputs[1])[row * groups + group] = scale;
      }
      encode_some<Number, Code>(x + first, q + first, scale, count);
    }
  }
}

}  // namespace
}  // namespace rockiln_torch
