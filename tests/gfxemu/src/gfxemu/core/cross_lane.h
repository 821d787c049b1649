// Lane movement shared with operand fetching.
#pragma once
#include "vector.h"

namespace gfxemu {

struct LaneMap { u8 from[kLanes]; u64 valid, enabled; };

LaneMap map_dpp(const Wave&, const Op&);
void permute_dpp(Wave&, const Op&, const void* in, Buffer& out, bool wide);

}  // namespace gfxemu
