// The generated op table: what a row says.
#pragma once

#include <cstdint>

namespace rockiln_torch {

struct OpRow {
  const char* name;
  const char* schema;      // of the functional op, its name left out
  const char* out_schema;  // of NAME_out
  // A letter an argument: t tensor, o optional tensor, f float, i int, b bool, d dtype, k index of a format.
  const char* kinds;
  uint32_t outputs;
  uint32_t fixed_dtype;  // rockiln_dtype of an axis that only one type fits and no input shows; 0: none
};

extern const OpRow kOps[];
extern const uint32_t kOpCount;

constexpr uint32_t kOpLimit = 128;     // kernels are templates of the row: this many are made
constexpr uint32_t kArgumentLimit = 24;
constexpr uint32_t kOutputLimit = 8;

}  // namespace rockiln_torch
