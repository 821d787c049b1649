// Scalar instructions: two values and SCC → a value and SCC.
#pragma once
#include "vector.h"

namespace gfxemu {

struct Scalars { u64 a, b; bool scc_in, scc; Wave* wave; const Op* op; };
using ScalarRule = u64 (*)(Scalars&);
enum SccRule : u8 { kSccKeeps, kSccNonzero, kSccRule };  // how SCC is written; sits in Entry::float_class

void execute_scalar(Wave&, const Op&);
void write_scalar_result(Wave&, const Operand&, u64 value, u64 shadow);

}  // namespace gfxemu
