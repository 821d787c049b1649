// What follows a product: the activation of each of its f32 numbers, in place; and whether one of its halves is NaN, or all are finite.
#pragma once

#include "cpu_kernels.h"
#include "cpu_math.h"

namespace rockiln_torch {
namespace {

template <CpuGate Gate>
void activate_numbers(float* numbers, int64_t count) {
  const FlushScope flushes;
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) store<F32>(numbers + place, activate<Gate>(load<F32>(numbers + place)));
  if (place == count) return;
  store<F32>(numbers + place, activate<Gate>(load<F32>(numbers + place, count - place)), count - place);
}

inline void negate_halves(uint16_t* halves, int64_t count) {
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) {
    const Halves own = read_vector<Halves>(halves + place) ^ 0x8000;
    std::memcpy(halves + place, &own, sizeof own);
  }
  for (; place < count; ++place) halves[place] = static_cast<uint16_t>(halves[place] ^ 0x8000);
}

// `infinity`: the bits of a half's, above which there are only NaNs.
inline bool has_nan_half(const uint16_t* halves, int64_t count, uint16_t infinity) {
  Halves most = {};
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) {
    const Halves own = read_vector<Halves>(halves + place) & 0x7fff;
    most = own > most ? own : most;
  }
  uint16_t largest = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) largest = most[lane] > largest ? most[lane] : largest;
  for (; place < count; ++place) {
    const uint16_t own = halves[place] & 0x7fff;
    largest = own > largest ? own : largest;
  }
  return largest > infinity;
}

inline bool is_finite(const float* numbers, int64_t count) {
  Words most = {};
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) {
    const Words own = as_words(magnitude(load<F32>(numbers + place)));
    most = own > most ? own : most;
  }
  if (place < count) {
    const Words own = as_words(magnitude(load<F32>(numbers + place, count - place)));
    most = own > most ? own : most;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane)
    if (most[lane] >= 0x7f800000u) return false;
  return true;
}

}  // namespace
}  // namespace rockiln_torch
