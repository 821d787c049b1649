// The gates of the *_and_mul families on the CPU, of bf16 in f32.
#pragma once

#include <string>

#include "cpu_lanes.h"

namespace rockiln_tensorflow {

enum class Curve { NONE, SILU, GELU, GELU_TANH };

struct Gate {
  Curve curve = Curve::NONE;
  float alpha = 1.0f;
  float limit = 0.0f;      // > 0: g is at most this, u within it
  float up_offset = 0.0f;  // added to u
};

// "silu", "gelu", "gelu_tanh", "" (none); false for another name.
bool read_curve(const std::string& name, Curve& curve);

ROCKILN_INLINE Floats apply_curve(Floats g, const Gate& gate) {
  switch (gate.curve) {
    case Curve::SILU: return gate_sigmoid(g, g * gate.alpha);
    case Curve::GELU: return gate_gelu(g);
    case Curve::GELU_TANH: return gate_sigmoid(g, g * (1.59576912f + 0.0713548163f * (g * g)));
    default: return g;
  }
}

// gate(g) * (u + up_offset), cut at limit; NaN stays.
ROCKILN_INLINE Floats apply_gate(Floats g, Floats u, const Gate& gate) {
  if (gate.limit > 0.0f) {
    const Floats high = Floats{} + gate.limit;
    g = g > high ? high : g;
    u = u > high ? high : u;
    u = u < -high ? -high : u;
  }
  return apply_curve(g, gate) * (u + gate.up_offset);
}

// y [rows, width] of x [rows, 2 width]: g, then u, or with `interleaved` in turn.
void gate_rows(const std::uint16_t* x, std::uint16_t* y, std::int64_t rows, std::int64_t width, bool interleaved,
               const Gate& gate);

}  // namespace rockiln_tensorflow
