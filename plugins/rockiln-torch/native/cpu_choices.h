// topk_softmax and topk_sigmoid: the largest first, of equals the lower expert, NaN last.
#pragma once

#include "cpu_kernels.h"
#include "cpu_math.h"

namespace rockiln_torch {
namespace {

constexpr int32_t kClosed = INT32_MIN;  // below every number and NaN
constexpr int64_t kRoom = kCpuExperts + 16;

// Integers that are ordered as the numbers are; -0 is 0, and NaN the least of all.
ROCKILN_INLINE Ints order(Floats values) {
  const Ints bits = reinterpret_cast<Ints>(values + 0.0f);
  const Ints ordered = bits ^ ((bits >> 31) & 0x7fffffff);
  return values == values ? ordered : Ints{} + (kClosed + 1);
}

// `keys` [count], padded with kClosed to whole vectors → the place of the largest, of equals the first.
ROCKILN_INLINE int32_t find_first(const int32_t* keys, int64_t count) {
  Ints best = Ints{} + kClosed, where = Ints{}, places = Ints{};
  for (int64_t lane = 0; lane < kLanes; ++lane) places[lane] = static_cast<int32_t>(lane);
  for (int64_t place = 0; place < count; place += kLanes, places += static_cast<int32_t>(kLanes)) {
    const Ints own = read_vector<Ints>(keys + place);
    const Ints is_more = own > best;
    best = is_more ? own : best;
    where = is_more ? places : where;
  }
  int32_t most = best[0], first = where[0];
  for (int64_t lane = 1; lane < kLanes; ++lane)
    if (best[lane] > most || (best[lane] == most && where[lane] < first)) most = best[lane], first = where[lane];
  return first;
}

// What is behind `count` in `keys` up to a whole vector is closed.
ROCKILN_INLINE void write_keys(const float* values, int64_t count, int32_t* keys) {
  int64_t place = 0;
  for (; place < count; place += kLanes) {
    const Ints ordered = order(read_vector<Floats>(values + place));
    std::memcpy(keys + place, &ordered, sizeof ordered);
  }
  for (int64_t rest = count; rest < place; ++rest) keys[rest] = kClosed;
}

inline void choose(int32_t* keys, int64_t count, int64_t top, int32_t* ids) {
  for (int64_t choice = 0; choice < top; ++choice) {
    ids[choice] = find_first(keys, count);
    keys[ids[choice]] = kClosed;
  }
}

inline void weigh(const ChoiceRows& rows, const float* scores, float factor, const int32_t* ids, float* weights) {
  float sum = 0.0f;
  for (int64_t choice = 0; choice < rows.top; ++choice) sum += weights[choice] = scores[ids[choice]] * factor;
  for (int64_t choice = 0; choice < rows.top; ++choice)
    weights[choice] = (rows.renormalise ? weights[choice] / sum : weights[choice]) * rows.scaling;
}

// Numbers of a row in f32, and 0 behind them up to a whole vector.
template <typename Number>
ROCKILN_INLINE void widen_row(const typename Number::Element* x, int64_t count, float* values) {
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) store<F32>(values + place, load<Number>(x + place));
  if (place < count) store<F32>(values + place, load<Number>(x + place, count - place));
}

template <typename Number>
void choose_by_softmax(const CpuRows& work, int64_t begin, int64_t end) {
  const auto& rows = static_cast<const ChoiceRows&>(work);
  float values[kRoom];
  int32_t keys[kRoom];
  for (int64_t row = begin; row < end; ++row) {
    const auto* logits = static_cast<const typename Number::Element*>(rows.logits) + row * rows.stride;
    auto* weights = static_cast<float*>(rows.outputs[0]) + row * rows.top;
    auto* ids = static_cast<int32_t*>(rows.outputs[1]) + row * rows.top;
    widen_row<Number>(logits, rows.experts, values);
    write_keys(values, rows.experts, keys);
    choose(keys, rows.experts, rows.top, ids);
    const float largest = values[ids[0]];  // NaN only if all are
    Floats sums = {};
    for (int64_t place = 0; place < rows.experts; place += kLanes) {
      const int64_t count = least(rows.experts - place, kLanes);
      const Floats parts = exponentiate(read_vector<Floats>(values + place) - largest);
      store<F32>(values + place, parts);
      sums += count == kLanes ? parts : load<F32>(values + place, count);
    }
    weigh(rows, values, 1.0f / add_up(sums), ids, weights);
  }
}

// Closes the experts of all groups but the `keep` ones whose two best choices have the largest sum.
inline void close_groups(const ChoiceRows& rows, const float* choice, int32_t* keys) {
  float best[kCpuGroups + 16] = {};
  int32_t order_keys[kCpuGroups + 16], kept[kCpuGroups];
  const int64_t size = rows.experts / rows.groups;
  for (int64_t group = 0; group < rows.groups; ++group) {
    float first = -__builtin_inff(), second = -__builtin_inff();
    for (int64_t place = group * size; place < (group + 1) * size; ++place) {
      const float own = choice[place];  // NaN is neither
      if (own > first) second = first, first = own;
      else if (own > second) second = own;
    }
    best[group] = size > 1 ? first + second : first;
  }
  write_keys(best, rows.groups, order_keys);
  choose(order_keys, rows.groups, rows.keep, kept);
  uint32_t open = 0;
  for (int64_t place = 0; place < rows.keep; ++place) open |= 1u << kept[place];
  for (int64_t group = 0; group < rows.groups; ++group)
    for (int64_t place = group * size; !(open >> group & 1u) && place < (group + 1) * size; ++place)
      keys[place] = kClosed;
}

template <typename Number>
void choose_by_sigmoid(const CpuRows& work, int64_t begin, int64_t end) {
  const auto& rows = static_cast<const ChoiceRows&>(work);
  float scores[kRoom], choice[kRoom];
  int32_t keys[kRoom];
  for (int64_t row = begin; row < end; ++row) {
    const auto* logits = static_cast<const typename Number::Element*>(rows.logits) + row * rows.stride;
    auto* weights = static_cast<float*>(rows.outputs[0]) + row * rows.top;
    auto* ids = static_cast<int32_t*>(rows.outputs[1]) + row * rows.top;
    widen_row<Number>(logits, rows.experts, choice);
    for (int64_t place = 0; place < rows.experts; place += kLanes) {
      const int64_t count = least(rows.experts - place, kLanes);
      const Floats own = logistic(read_vector<Floats>(choice + place));
      store<F32>(scores + place, own);
      store<F32>(choice + place, rows.bias == nullptr ? own : own + load<F32>(rows.bias + place, count));
    }
    write_keys(choice, rows.experts, keys);
    if (rows.groups > 1) close_groups(rows, choice, keys);
    choose(keys, rows.experts, rows.top, ids);
    weigh(rows, scores, 1.0f, ids, weights);
  }
}

}  // namespace
}  // namespace rockiln_torch
