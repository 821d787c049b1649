// What hardware punishes: results used before their wait, and accesses of two waves with no barrier between.
#pragma once
#include "vector.h"

namespace gfxemu {

void check_operands(Wave&, const Op&);                  // throws missing_wait
u32 issue(Wave&, Counter);                              // a memory operation starts: its sequence number
void wait_for(Wave&, Counter, u32 limit);
void mark_vector_pending(Wave&, const Op&, Counter, u32 sequence);  // the destination of a load
void mark_scalar_pending(Wave&, u32 reg, u32 count, Counter, u32 sequence);

void signal_barrier(Wave&);
u32 epoch_of(Group&, u32 signals);                      // id of the epoch after so many signals
struct Access { Stamps* stamps; u64 offset; u32 bytes; Touch touch; const u8* before; const u8* after; int lane; u64 address; };
void note_access(Wave&, const Access&);                 // throws race; before, after: bytes that a write changes
void remember_access(Wave&, const Outstanding&);
bool is_shared(const Wave&);                            // whether its races with other waves are looked for

}  // namespace gfxemu
