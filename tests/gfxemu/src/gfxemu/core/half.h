// MODE's part for f16, and sums that survive a second rounding.
#pragma once
#include <algorithm>
#include "lanes.h"

namespace gfxemu {

struct HalfMode { int round = 0; bool flush = false; };
extern HalfMode g_half_mode;

double add_to_odd(double a, double b);

// f16 multiply-add with one rounding: the product of two f16 is exact in double.
inline double fma_half(float a, float b, float c) { return add_to_odd(double(a) * double(b), double(c)); }

}  // namespace gfxemu
