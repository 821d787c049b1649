// fp8, bf8, fp6, bf6, fp4: OCP's formats and gfx942's fnuz ones, described by their fields.
#pragma once
#include "lanes.h"

namespace gfxemu {

// Numbered as lower.FORMATS: the first five as cbsz and blgp of the f8f6f4 instructions.
enum Format : u32 { kE4M3, kE5M2, kE2M3, kE3M2, kE2M1, kE4M3Fnuz, kE5M2Fnuz, kF16, kBf16, kF32, kI8, kF64, kI4, kU8, kU4, kXf32 };

struct Layout { int exponent, mantissa, bias; bool infinity, fnuz, nan; };
Layout layout_of(Format);
int width_of(Format);                                   // bits
float decode_small(Format, u32 bits);
u32 encode_small(Format, float value, bool saturate);   // round to nearest even
u32 encode_small_stochastic(Format, float value, u32 random, bool saturate);

}  // namespace gfxemu
