// What the vector units share: scalars, sources, results, masks.
#pragma once
#include "lanes.h"

namespace gfxemu {

struct Buffer { alignas(64) u64 raw[kLanes]; };

u32 read_scalar(const Wave&, u32 index);
u64 read_scalar64(const Wave&, u32 index);
u64 read_mask(const Wave&, const Operand&);             // a wave-wide mask: SGPR pair, or one SGPR in wave32
u64 scalar_value(const Wave&, const Operand&, bool wide);
u64 scalar_shadow(const Wave&, const Operand&, bool wide);
void write_scalar(Wave&, u32 index, u32 value, u32 shadow);
void write_mask(Wave&, const Operand&, u64 value, u64 shadow);
void write_exec(Wave&, u64 value, u64 shadow);

const void* fetch(Wave&, const Op&, int source, char type, Buffer&);
bool sources_clean(const Wave&, const Op&, int count, u64 lanes);
const void* fetch_shadow(Wave&, const Op&, int source, char type, Buffer&);
void store_vector(Wave&, u32 reg, const u32* values, u64 mask);               // fully defined
void store_shadowed(Wave&, u32 reg, const u32* values, const u32* shadow, u64 mask);
u32 shadow_of(const Wave&, u32 reg, int lane);
void set_float_mode(Wave&, u8 float_class);
u64 dpp_mask(Wave&, const Op&);                         // lanes a DPP instruction writes

[[noreturn]] void fail(FaultKind, std::string text, u64 lanes = 0, u64 address = 0);
std::string hex(u64);

}  // namespace gfxemu
