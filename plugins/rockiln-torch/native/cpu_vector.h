// f32 vectors as wide as the level's registers, and rows in f32, f16 and bf16 read into and written from them.
//
// Included by cpu_LEVEL.cc alone, after the level is set: everything here has internal linkage, so that no code of one
// level can be linked where another one is meant. ROCKILN_LANES is how many f32 its registers hold.
#pragma once

#include <cstdint>
#include <cstring>

namespace rockiln_torch {
namespace {

constexpr int64_t kLanes = ROCKILN_LANES;

typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef int32_t Ints __attribute__((vector_size(kLanes * 4)));  // also of comparisons: -1 where they hold
typedef uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef uint16_t Halves __attribute__((vector_size(kLanes * 2)));
typedef uint8_t Bytes __attribute__((vector_size(kLanes)));

#define ROCKILN_INLINE inline __attribute__((always_inline))

ROCKILN_INLINE int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }  // std's may be of any level
ROCKILN_INLINE Floats splat(float value) { return Floats{} + value; }
ROCKILN_INLINE Words as_words(Floats values) { return reinterpret_cast<Words>(values); }
ROCKILN_INLINE Floats as_floats(Words words) { return reinterpret_cast<Floats>(words); }
ROCKILN_INLINE Floats magnitude(Floats values) { return as_floats(as_words(values) & 0x7fffffffu); }

// Between widths of integers; what is shrunk keeps its low bits. GCC makes the general form of these in two halves; of
// the intrinsics those with a mask, since GCC 12 warns of the others in its own headers.
ROCKILN_INLINE Words grow(Halves halves) {
#if ROCKILN_LANES == 16
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(halves)));
#elif ROCKILN_LANES == 8
  return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)));
#else
  return __builtin_convertvector(halves, Words);
#endif
}

ROCKILN_INLINE Halves shrink_to_halves(Words words) {
#if ROCKILN_LANES == 16
  return reinterpret_cast<Halves>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(words)));
#else
  return __builtin_convertvector(words, Halves);
#endif
}

ROCKILN_INLINE Bytes shrink_to_bytes(Words words) {
#if ROCKILN_LANES == 16
  return reinterpret_cast<Bytes>(_mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(words)));
#else
  return __builtin_convertvector(words, Bytes);
#endif
}

// min and max keep a NaN of the first.
ROCKILN_INLINE Floats cut_above(Floats values, Floats limit) { return values > limit ? limit : values; }
ROCKILN_INLINE Floats cut_below(Floats values, Floats limit) { return values < limit ? limit : values; }

template <typename Vector, typename Element>
ROCKILN_INLINE Vector read_vector(const Element* from) {
  Vector result;
  std::memcpy(&result, from, sizeof result);
  return result;
}

// The first `count` elements; 0 behind them.
template <typename Vector, typename Element>
ROCKILN_INLINE Vector read_some(const Element* from, int64_t count) {
  Vector result = {};
  std::memcpy(&result, from, static_cast<size_t>(count) * sizeof(Element));
  return result;
}

struct F32 {
  using Element = float;
  using Vector = Floats;
  static ROCKILN_INLINE Floats widen(Floats values) { return values; }
  static ROCKILN_INLINE Floats narrow(Floats values) { return values; }
};

struct Bf16 {
  using Element = uint16_t;
  using Vector = Halves;
  static ROCKILN_INLINE Floats widen(Halves bits) { return as_floats(grow(bits) << 16); }
  static ROCKILN_INLINE Halves narrow(Floats values) {  // to nearest, ties to even; any NaN becomes one
    const Words bits = as_words(values);
    const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return shrink_to_halves(values == values ? rounded : Words{} + 0x7fc0u);
  }
};

struct F16 {
  using Element = uint16_t;
  using Vector = Halves;
  static ROCKILN_INLINE Floats widen(Halves half) {  // a product by 2^112 makes subnormals right, too
    const Words bits = grow(half);
    const Floats scaled = as_floats((bits & 0x7fffu) << 13) * 0x1p112f;
    const Words special = (bits & 0x7c00u) == 0x7c00u ? Words{} + 0x7f800000u : Words{};
    return as_floats(as_words(scaled) | special | ((bits & 0x8000u) << 16));
  }
  static ROCKILN_INLINE Halves narrow(Floats values) {
    const Words bits = as_words(values), own = bits & 0x7fffffffu;
    const Words normal = (own + 0xfffu + ((own >> 13) & 1u) - (112u << 23)) >> 13;
    const Words small = as_words(as_floats(own) + 0.5f) - 0x3f000000u;  // 0.5's last bit is a half's least number
    Words result = own < (113u << 23) ? small : normal;
    result = own >= (143u << 23) ? Words{} + 0x7c00u : result;
    result = own > 0x7f800000u ? Words{} + 0x7e00u : result;
    return shrink_to_halves(result | ((bits >> 16) & 0x8000u));
  }
};

// kLanes numbers of a row in f32, and back.
template <typename Number>
ROCKILN_INLINE Floats load(const typename Number::Element* from) {
  return Number::widen(read_vector<typename Number::Vector>(from));
}

template <typename Number>
ROCKILN_INLINE Floats load(const typename Number::Element* from, int64_t count) {
  return Number::widen(read_some<typename Number::Vector>(from, count));
}

template <typename Number>
ROCKILN_INLINE void store(typename Number::Element* to, Floats values) {
  const auto narrow = Number::narrow(values);
  std::memcpy(to, &narrow, sizeof narrow);
}

template <typename Number>
ROCKILN_INLINE void store(typename Number::Element* to, Floats values, int64_t count) {
  const auto narrow = Number::narrow(values);
  std::memcpy(to, &narrow, static_cast<size_t>(count) * sizeof(typename Number::Element));
}

// A number rounded to its type and read again.
template <typename Number>
ROCKILN_INLINE Floats round_to(Floats values) {
  return Number::widen(Number::narrow(values));
}

template <typename Vector>
ROCKILN_INLINE Vector take_even(Vector first, Vector second) {
#if ROCKILN_LANES == 16
  return __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif ROCKILN_LANES == 8
  return __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(first, second, 0, 2, 4, 6);
#endif
}

template <typename Vector>
ROCKILN_INLINE Vector take_odd(Vector first, Vector second) {
#if ROCKILN_LANES == 16
  return __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif ROCKILN_LANES == 8
  return __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(first, second, 1, 3, 5, 7);
#endif
}

// The inverse of the two: elements in turn, the first kLanes of them and the others.
template <typename Vector>
ROCKILN_INLINE void take_in_turn(Vector even, Vector odd, Vector* first, Vector* second) {
#if ROCKILN_LANES == 16
  *first = __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *second = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif ROCKILN_LANES == 8
  *first = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
  *second = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  *first = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
  *second = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
#endif
}

ROCKILN_INLINE float add_up(Floats values) {
  float result = 0.0f;
  for (int64_t lane = 0; lane < kLanes; ++lane) result += values[lane];
  return result;
}

// The larger of each; NaN if either is.
ROCKILN_INLINE Floats larger(Floats one, Floats other) {
  return (one > other) | (one != one) ? one : other;
}

ROCKILN_INLINE float find_largest_lane(Floats values) {
  float result = values[0];
  for (int64_t lane = 1; lane < kLanes; ++lane)
    if (values[lane] > result || values[lane] != values[lane]) result = values[lane];
  return result;
}

}  // namespace
}  // namespace rockiln_torch
