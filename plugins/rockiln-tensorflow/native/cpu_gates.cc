#include "cpu_gates.h"

namespace rockiln_tensorflow {

bool read_curve(const std::string& name, Curve& curve) {
  constexpr const char* NAMES[] = {"", "silu", "gelu", "gelu_tanh"};
  for (int place = 0; place < 4; ++place)
    if (name == NAMES[place]) {
      curve = static_cast<Curve>(place);
      return true;
    }
  return false;
}

namespace {

ROCKILN_INLINE void gate_lanes(const std::uint16_t* g, const std::uint16_t* u, std::uint16_t* y, const Gate& gate) {
  narrow(apply_gate(widen(g), widen(u), gate), y);
}

ROCKILN_INLINE void gate_pairs(const std::uint16_t* x, std::uint16_t* y, const Gate& gate) {
  Floats g, u;
  widen_pairs(x, g, u);
  narrow(apply_gate(g, u, gate), y);
}

ROCKILN_INLINE void gate_row(const std::uint16_t* x, std::uint16_t* y, std::int64_t width, bool interleaved,
                             const Gate& gate) {
  std::int64_t place = 0;
  for (; place + LANES <= width; place += LANES) {
    if (interleaved)
      gate_pairs(x + 2 * place, y + place, gate);
    else
      gate_lanes(x + place, x + width + place, y + place, gate);
  }
  if (place == width) return;
  std::uint16_t first[2 * LANES] = {}, second[LANES] = {}, result[LANES];
  const auto bytes = static_cast<std::size_t>(width - place) * sizeof *x;
  if (interleaved) {
    std::memcpy(first, x + 2 * place, 2 * bytes);
    gate_pairs(first, result, gate);
  } else {
    std::memcpy(first, x + place, bytes);
    std::memcpy(second, x + width + place, bytes);
    gate_lanes(first, second, result, gate);
  }
  std::memcpy(y + place, result, bytes);
}

}  // namespace

ROCKILN_CLONES void gate_rows(const std::uint16_t* x, std::uint16_t* y, std::int64_t rows, std::int64_t width,
                              bool interleaved, const Gate& gate) {
  const Gate own = gate;
  for (std::int64_t row = 0; row < rows; ++row)
    gate_row(x + row * 2 * width, y + row * width, width, interleaved, own);
}

}  // namespace rockiln_tensorflow
