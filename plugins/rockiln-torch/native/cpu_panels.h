// A panel of a product's outputs: which rows of b it is of, their biases, and its epilogue, written to y.
#pragma once

#include "cpu_bf16.h"
#include "cpu_math.h"

namespace rockiln_torch {
namespace {

inline int64_t count_width(const Bf16Product& product) {
  return product.epilogue == kCpuSwigluOf ? product.n / 2 : product.n;
}

// Rows of b that two vectors of one panel hold, or two dot products are of: gates and ups of the same outputs, else
// neighbours. `lanes` is how many of each there are.
struct Columns {
  int64_t first, step, count;
};

inline Columns find_columns(const Bf16Product& product, int64_t place, int64_t lanes, int side) {
  if (product.epilogue != kCpuSwigluOf) {
    const int64_t first = (2 * place + side) * lanes, rest = product.n - first;
    return {first, 1, rest < 0 ? 0 : least(rest, lanes)};
  }
  const int64_t output = place * lanes, count = least(product.n / 2 - output, lanes);
  if (product.interleaved) return {2 * output + side, 2, count};
  return {output + side * (product.n / 2), 1, count};
}

inline int64_t count_places(const Bf16Product& product, int64_t lanes) {
  const int64_t own = product.epilogue == kCpuSwigluOf ? lanes : 2 * lanes;
  return (count_width(product) + own - 1) / own;
}

inline float read_bias(const Bf16Product& product, int64_t column) {
  return product.bias == nullptr ? 0.0f : load<Bf16>(product.bias + column, 1)[0];
}

template <CpuEpilogue Epilogue>
ROCKILN_INLINE Floats finish(Floats x) {
  if constexpr (Epilogue == kCpuPlain) return x;
  else return activate<static_cast<CpuGate>(Epilogue - 1)>(x);
}

struct Panel {  // packed rows of b, 16 and 16, and their biases
  const uint32_t* weights[2];
  float bias[2][kLanes];
  Columns columns[2];
  int64_t output;
};

template <CpuEpilogue Epilogue>
ROCKILN_INLINE void write_outputs(uint16_t* y, const Panel& panel, Floats one, Floats other) {
  if constexpr (Epilogue == kCpuSwigluOf) {
    store<Bf16>(y + panel.output, gate_silu(one, 1.0f) * other, panel.columns[0].count);
  } else {
    store<Bf16>(y + panel.output, finish<Epilogue>(one), panel.columns[0].count);
    if (panel.columns[1].count) store<Bf16>(y + panel.output + kLanes, finish<Epilogue>(other), panel.columns[1].count);
  }
}

}  // namespace
}  // namespace rockiln_torch
