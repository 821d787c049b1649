// Lane loops of vector instructions: typed buffers in → one typed buffer out; op tables are written with V1, V2, V3.
#pragma once
#include <cmath>
#include <limits>
#include <type_traits>
#include "state.h"

namespace gfxemu {

// How undefined bits of sources reach the result. any: all of them; the others are bit-exact or close.
enum Taint : u8 { kAny, kUnion, kLeft, kAnd, kOr, kRerunB, kRerunA, kRerunAB, kShiftOr, kAndOr, kSelect, kBitSelect };
enum FloatClass : u8 { kNoFloat, kFloat32, kFloat16, kFloat64 };

struct half { u16 bits; };
struct bf16 { u16 bits; };
struct mask { u32 bit; };              // one bit a lane of an SGPR mask

struct Lanes {
  int count; void* out; const void* in[3]; u64 exec; Wave* wave; const Op* op;
};
using LaneLoop = void (*)(const Lanes&);

float half_to_float(u16 bits);
u16 float_to_half(float value);       // in the round mode of MODE (bits 3:2)
u16 double_to_half(double value);
inline float bf16_to_float(u16 bits) { return from_bits<float>(u32(bits) << 16); }
inline u16 float_to_bf16(float value) {  // round to nearest even; NaN stays NaN and becomes quiet
  u32 bits = to_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return u16(bits >> 16 | 0x40);
  return u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T> struct Slot {      // how a type lies in a lane buffer
  using stored = std::conditional_t<sizeof(T) == 8, u64, u32>;
  static T load(stored raw) { T out; std::memcpy(&out, &raw, sizeof out); return out; }
  static stored store(T value) {
    stored out = 0; std::memcpy(&out, &value, sizeof value); return out;
  }
};
template <> struct Slot<half> {
  using stored = u32;
  static float load(u32 raw) { return half_to_float(u16(raw)); }
  static u32 store(float value) { return float_to_half(value); }
  static u32 store(double value) { return double_to_half(value); }
  static u32 store(half value) { return value.bits; }
};
template <> struct Slot<bf16> {
  using stored = u32;
  static float load(u32 raw) { return bf16_to_float(u16(raw)); }
  static u32 store(float value) { return float_to_bf16(value); }
  static u32 store(bf16 value) { return value.bits; }
};

template <> struct Slot<mask> {
  using stored = u32;
  static u32 load(u32 raw) { return raw; }
};

template <class D, class A, class F> void loop1(const Lanes& l, F f) {
  auto* __restrict out = static_cast<typename Slot<D>::stored*>(l.out);
  auto* a = static_cast<const typename Slot<A>::stored*>(l.in[0]);
  for (int i = 0; i < l.count; i++) out[i] = Slot<D>::store(f(Slot<A>::load(a[i])));
}
template <class D, class A, class B, class F> void loop2(const Lanes& l, F f) {
  auto* __restrict out = static_cast<typename Slot<D>::stored*>(l.out);
  auto* a = static_cast<const typename Slot<A>::stored*>(l.in[0]);
  auto* b = static_cast<const typename Slot<B>::stored*>(l.in[1]);
  for (int i = 0; i < l.count; i++) out[i] = Slot<D>::store(f(Slot<A>::load(a[i]), Slot<B>::load(b[i])));
}
template <class D, class A, class B, class C, class F> void loop3(const Lanes& l, F f) {
  auto* __restrict out = static_cast<typename Slot<D>::stored*>(l.out);
  auto* a = static_cast<const typename Slot<A>::stored*>(l.in[0]);
  auto* b = static_cast<const typename Slot<B>::stored*>(l.in[1]);
  auto* c = static_cast<const typename Slot<C>::stored*>(l.in[2]);
  for (int i = 0; i < l.count; i++)
    out[i] = Slot<D>::store(f(Slot<A>::load(a[i]), Slot<B>::load(b[i]), Slot<C>::load(c[i])));
}

template <class T> constexpr char type_code() {
  if constexpr (std::is_same_v<T, float>) return 'f';
  else if constexpr (std::is_same_v<T, double>) return 'd';
  else if constexpr (std::is_same_v<T, half>) return 'h';
  else if constexpr (std::is_same_v<T, bf16>) return 'b';
  else if constexpr (std::is_same_v<T, mask>) return 'm';
  else if constexpr (std::is_same_v<T, u64>) return 'U';
  else if constexpr (std::is_same_v<T, i64>) return 'I';
  else if constexpr (std::is_same_v<T, u16>) return 's';
  else if constexpr (std::is_same_v<T, i16>) return 't';
  else if constexpr (std::is_same_v<T, i32>) return 'i';
  else return 'u';
}
template <class... T> inline const char* type_codes() {
  static const char codes[] = {type_code<T>()..., 0};
  return codes;
}
template <class D, class... T> constexpr FloatClass float_class() {
  constexpr auto is = [](char c) { return ((type_code<T>() == c) || ... || (type_code<D>() == c)); };
  return is('d') ? kFloat64 : is('f') ? kFloat32 : is('h') ? kFloat16 : kNoFloat;
}

void execute_vector(Wave&, const Op&);
void execute_compare(Wave&, const Op&);

// V1(name, result type, source type, taint, expression of a): one row of an op table; V2 and V3 alike with b and c.
#define V1(NAME, D, A, TAINT, EXPR)                                                                         \
  {#NAME, execute_vector, kValu, 4, type_codes<D, A>(),                                                     \
   (void*)+[](const Lanes& l) { loop1<D, A>(l, [](auto a) { return EXPR; }); }, TAINT, float_class<D, A>()}
#define V2(NAME, D, A, B, TAINT, EXPR)                                                                      \
  {#NAME, execute_vector, kValu, 4, type_codes<D, A, B>(),                                                  \
   (void*)+[](const Lanes& l) { loop2<D, A, B>(l, [](auto a, auto b) { return EXPR; }); }, TAINT,           \
   float_class<D, A, B>()}
#define V3(NAME, D, A, B, C, TAINT, EXPR)                                                                   \
  {#NAME, execute_vector, kValu, 4, type_codes<D, A, B, C>(),                                               \
   (void*)+[](const Lanes& l) { loop3<D, A, B, C>(l, [](auto a, auto b, auto c) { return EXPR; }); }, TAINT, \
   float_class<D, A, B, C>()}
#define CMP(NAME, A, EXPR)                                                                                  \
  {"v_cmp_" #NAME, execute_compare, kValu, 4, type_codes<u32, A, A>(),                                      \
   (void*)+[](const Lanes& l) { loop2<u32, A, A>(l, [](auto a, auto b) { return u32(EXPR); }); }, kAny,     \
   float_class<u32, A>()}

struct Table { const Entry* entries; int count; };

}  // namespace gfxemu
