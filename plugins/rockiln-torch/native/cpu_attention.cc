// A tile of scores has 16 keys and 16 queries: a vector is one key's, along queries, and so are the largest score, the
// sum and all that is done to scores. Outputs are kept turned, too: [value_width, queries], of v turned once.
#include "cpu_attention.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "threads.h"

#pragma GCC target("arch=x86-64-v4,avx512bf16")  // below the standard headers, as in cpu_avx512.cc

#define ROCKILN_LANES 16
#include "cpu_math.h"
#include "cpu_tiles.h"

namespace rockiln_torch {
namespace {

constexpr int64_t kQueries = 2 * kLanes;  // of one head, computed together
constexpr int64_t kKeys = 256;            // whose scores are kept at once
constexpr int64_t kStep = kTileNumbers;
const float kNothing = -__builtin_inff();

using Attention = rockiln_torch_attention;

int64_t round_up(int64_t count) { return (count + kStep - 1) / kStep * kStep; }

struct Work {
  const Attention& attention;
  uint16_t* turned;  // v of each group, [value_width][keys, rounded up]
  bool has_failed;
};

struct Room {  // of one thread
  alignas(64) float scores[kKeys][kQueries];
  alignas(64) uint32_t weights[2][kKeys / 2][kLanes];  // pairs of keys, of 16 and 16 queries
  alignas(64) uint16_t copies[2][kLanes * 256];        // of the last keys
  float *out;                                          // [value_width][kQueries]
  uint32_t* q;                                         // packed, of 16 and 16 queries
};

struct Queries {  // of one head
  const uint16_t *k, *turned;
  int64_t first, count, offset;  // offset: how many keys are before the first query's own
  Floats largest[2], sum[2];
};

// 32 keys of 16 columns of v → 16 rows of 32 keys.
void turn_values(const uint16_t* v, int64_t stride, int64_t count, uint16_t* to, int64_t to_stride) {
  Words rows[kLanes];
  for (int64_t pair = 0; pair < kLanes; ++pair) {
    rows[pair] = Words{};
    if (2 * pair < count) rows[pair] = grow(read_vector<Halves>(v + 2 * pair * stride));
    if (2 * pair + 1 < count) rows[pair] |= grow(read_vector<Halves>(v + (2 * pair + 1) * stride)) << 16;
  }
  turn_square(rows);
  for (int64_t row = 0; row < kLanes; ++row) std::memcpy(to + row * to_stride, &rows[row], sizeof rows[row]);
}

void turn_groups(const Work& work, int64_t begin, int64_t end) {
  const Attention& own = work.attention;
  const int64_t whole = round_up(own.keys);
  for (int64_t group = begin; group < end; ++group)
    for (int64_t key = 0; key < own.keys; key += kStep)
      for (int64_t column = 0; column < own.value_width; column += kLanes)
        turn_values(own.v + group * own.v_strides[0] + key * own.v_strides[1] + column, own.v_strides[1],
                    least(own.keys - key, kStep), work.turned + (group * own.value_width + column) * whole + key,
                    whole);
}

// 16 keys as tiles read them.
TileRows find_keys(const Attention& own, const uint16_t* k, int64_t key, uint16_t* copy) {
  const uint16_t* from = k + key * own.k_strides[1];
  if (key + kLanes <= own.keys) return {from, own.k_strides[1] * 2, kTileNumbers};
  const int64_t rest = own.keys - key;
  return copy_rows(from, own.k_strides[1], rest < 0 ? 0 : rest, own.width, copy);
}

void multiply_keys(const Attention& own, const Queries& queries, int64_t first, int64_t count, Room& room) {
  const int64_t size = count_packed(own.width), stride = kQueries * 4;
  for (int64_t key = 0; key < count; key += kStep) {
    const TileRows one = find_keys(own, queries.k, first + key, room.copies[0]);
    const TileRows other = find_keys(own, queries.k, first + key + kLanes, room.copies[1]);
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
    multiply_along<2>(one, other, room.q, room.q + size, own.width / kTileNumbers);
    store_tile<0>(room.scores[key], stride), store_tile<1>(room.scores[key] + kLanes, stride);
    store_tile<2>(room.scores[key + kLanes], stride), store_tile<3>(room.scores[key + kLanes] + kLanes, stride);
  }
}

// Scales scores, and makes those that a query does not see nothing; the largest of each query.
Floats scale_scores(const Attention& own, const Queries& queries, int64_t first, int64_t count, int side, Room& room) {
  Ints place;  // of each query among the keys
  for (int64_t lane = 0; lane < kLanes; ++lane)
    place[lane] = static_cast<int32_t>(queries.first + queries.offset + side * kLanes + lane);
  const Ints last = own.causal ? place : Ints{} + static_cast<int32_t>(own.keys - 1);
  const bool has_window = own.window_left >= 0;
  const Ints oldest = has_window ? place - static_cast<int32_t>(own.window_left) : Ints{} - 1;
  const bool is_whole = !has_window && first + count - 1 <= last[0] && first + count <= own.keys;
  Floats largest = splat(kNothing);
  for (int64_t key = 0; key < count; ++key) {
    float* scores = room.scores[key] + side * kLanes;
    Floats own_scores = load<F32>(scores) * own.scale;
    if (!is_whole) {
      const Ints number = Ints{} + static_cast<int32_t>(first + key);
      own_scores = (number > last) | (number < oldest) ? splat(kNothing) : own_scores;
    }
    store<F32>(scores, own_scores);
    largest = own_scores > largest ? own_scores : largest;
  }
  return largest;
}

// exp of scores less the largest, in pairs of bf16; how much less old sums and outputs count from now on.
Floats weigh_scores(Queries& queries, int64_t count, int side, Floats largest, Room& room) {
  const Floats most = largest > queries.largest[side] ? largest : queries.largest[side];
  const Floats shift = most == kNothing ? Floats{} : most;
  const Floats share = exponentiate(queries.largest[side] - shift);
  Floats sum = queries.sum[side] * share;
  for (int64_t key = 0; key < count; key += 2) {
    const Floats one = exponentiate(load<F32>(room.scores[key] + side * kLanes) - shift);
    const Floats other = exponentiate(load<F32>(room.scores[key + 1] + side * kLanes) - shift);
    sum += one + other;
    const Words low = grow(Bf16::narrow(one)), high = grow(Bf16::narrow(other));
    const Words pairs = low | high << 16;
    std::memcpy(room.weights[side][key / 2], &pairs, sizeof pairs);
  }
  queries.largest[side] = most, queries.sum[side] = sum;
  return share;
}

void add_values(const Attention& own, const Queries& queries, int64_t first, int64_t count, Room& room) {
  const int64_t whole = round_up(own.keys), stride = kQueries * 4;
  for (int64_t column = 0; column < own.value_width; column += 2 * kLanes) {
    float* out = room.out + column * kQueries;
    float* more = out + kLanes * kQueries;
    load_tile<0>(out, stride), load_tile<1>(out + kLanes, stride);
    load_tile<2>(more, stride), load_tile<3>(more + kLanes, stride);
    const uint16_t* values = queries.turned + column * whole + first;
    const TileRows one = {values, whole * 2, kTileNumbers};
    const TileRows other = {values + kLanes * whole, whole * 2, kTileNumbers};
    multiply_along<2>(one, other, room.weights[0][0], room.weights[1][0], count / kTileNumbers);
    store_tile<0>(out, stride), store_tile<1>(out + kLanes, stride);
    store_tile<2>(more, stride), store_tile<3>(more + kLanes, stride);
  }
}

void see_keys(const Attention& own, Queries& queries, int64_t first, int64_t count, Room& room) {
  multiply_keys(own, queries, first, count, room);
  Floats share[2];
  for (int side = 0; side < 2; ++side)
    share[side] = weigh_scores(queries, count, side, scale_scores(own, queries, first, count, side, room), room);
  for (int64_t column = 0; column < own.value_width; ++column)
    for (int side = 0; side < 2; ++side) {
      float* out = room.out + column * kQueries + side * kLanes;
      store<F32>(out, load<F32>(out) * share[side]);
    }
  add_values(own, queries, first, count, room);
}

// What outputs are multiplied by, and the log-sum-exp: with a sink, which is one more score without a value.
Floats finish_sums(const Attention& own, const Queries& queries, int64_t head, int side) {
  Floats factors = {};
  const float sink = own.sinks == nullptr ? kNothing : own.sinks[head];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const int64_t query = queries.first + side * kLanes + lane;
    const float largest = queries.largest[side][lane];
    const float most = sink > largest ? sink : largest, shift = most == kNothing ? 0.0f : most;
    const float share = std::exp(largest - shift), sum = queries.sum[side][lane] * share + std::exp(sink - shift);
    const bool is_infinite = sink == __builtin_inff();
    factors[lane] = sum == 0.0f || is_infinite ? 0.0f : share / sum;
    if (query < own.queries) own.lse[head * own.queries + query] = is_infinite ? sink : shift + std::log(sum);
  }
  return factors;
}

void write_rows(const Attention& own, const Queries& queries, int64_t head, const Room& room) {
  for (int side = 0; side < 2; ++side) {
    const Floats factors = finish_sums(own, queries, head, side);
    const int64_t first = queries.first + side * kLanes;
    for (int64_t column = 0; column < own.value_width; column += kLanes) {
      Words rows[kLanes];
      for (int64_t row = 0; row < kLanes; ++row)
        rows[row] = as_words(load<F32>(room.out + (column + row) * kQueries + side * kLanes) * factors);
      turn_square(rows);
      uint16_t* out = own.out + head * own.out_strides[0] + first * own.out_strides[1] + column;
      for (int64_t row = 0; row < kLanes && first + row < own.queries; ++row)
        store<Bf16>(out + row * own.out_strides[1], as_floats(rows[row]));
    }
  }
}

void attend_block(const Work& work, int64_t head, int64_t first, Room& room) {
  const Attention& own = work.attention;
  const int64_t group = head / (own.heads / own.groups), size = count_packed(own.width);
  Queries queries = {own.k + group * own.k_strides[0], work.turned + group * own.value_width * round_up(own.keys),
                     first, least(own.queries - first, kQueries), own.keys - own.queries,
                     {splat(kNothing), splat(kNothing)}, {}};
  const uint16_t* q = own.q + head * own.q_strides[0] + first * own.q_strides[1];
  for (int side = 0; side < 2; ++side)
    pack_rows(q + side * kLanes * own.q_strides[1], own.q_strides[1], least(queries.count - side * kLanes, kLanes),
              own.width, room.q + side * size);
  std::memset(room.out, 0, static_cast<size_t>(own.value_width * kQueries) * sizeof *room.out);
  const int64_t seen = first + queries.count + queries.offset, oldest = first + queries.offset - own.window_left;
  const int64_t end = own.causal ? least(own.keys, seen) : own.keys;
  const int64_t start = own.window_left < 0 || oldest < 0 ? 0 : oldest / kStep * kStep;
  for (int64_t key = start; key < end; key += kKeys)
    see_keys(own, queries, key, round_up(least(end - key, kKeys)), room);
  write_rows(own, queries, head, room);
}

void attend_blocks(Work& work, int64_t begin, int64_t end) {
  const Attention& own = work.attention;
  const int64_t words = static_cast<int64_t>(sizeof(Room)) / 4;
  const Memory memory = allocate(words + own.value_width * kQueries + 2 * count_packed(own.width));
  if (memory == nullptr) return void(work.has_failed = true);
  Room& room = *reinterpret_cast<Room*>(memory.get());
  room.out = reinterpret_cast<float*>(memory.get()) + words;
  room.q = reinterpret_cast<uint32_t*>(room.out + own.value_width * kQueries);
  const TileScope tiles;
  const FlushScope flushes;
  const int64_t blocks = (own.queries + kQueries - 1) / kQueries;
  for (int64_t place = begin; place < end; ++place) attend_block(work, place / blocks, place % blocks * kQueries, room);
}

}  // namespace

bool attend_bf16(const rockiln_torch_attention& own) {
  const int64_t words = own.groups * own.value_width * round_up(own.keys) / 2;
  const Memory turned = allocate(words);
  if (turned == nullptr) return false;
  Work work = {own, reinterpret_cast<uint16_t*>(turned.get()), false};
  split_range(own.groups, 1, [&](int64_t begin, int64_t end) { turn_groups(work, begin, end); });
  const int64_t blocks = (own.queries + kQueries - 1) / kQueries;
  split_range(own.heads * blocks, 1, [&](int64_t begin, int64_t end) { attend_blocks(work, begin, end); });
  return !work.has_failed;
}

}  // namespace rockiln_torch

#else

namespace rockiln_torch {

bool attend_bf16(const rockiln_torch_attention&) { return false; }

}  // namespace rockiln_torch

#endif
