// Softmax attention of one sequence in bf16, by AMX.
#pragma once

#include "library.h"

namespace rockiln_torch {

// Where has_tiles() says so. Sums and the log-sum-exp are f32; weights are rounded to bf16 before v is multiplied by
// them. False if there is no memory.
bool attend_bf16(const rockiln_torch_attention& attention);

}  // namespace rockiln_torch
