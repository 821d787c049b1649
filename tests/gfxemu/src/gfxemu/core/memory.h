// Global, flat, scratch, buffer and LDS accesses share these.
#pragma once
#include "hazards.h"

namespace gfxemu {

enum Control : u32 { kSigned = 1, kD16 = 2, kD16High = 4, kAtomic64 = 8, kToLds = 16, kCoherent = 32 };
enum class Space : u32 { global, flat, scratch, buffer };
enum class Alignment : u32 { byte, dword, natural };

struct Place {                      // bytes of one lane, wherever they are
  u8* at = nullptr; u8* shadow = nullptr; Stamps* stamps = nullptr; u64 offset = 0, address = 0; Region* region = nullptr;
  bool scratch = false;
};

Region& region_at(Wave&, u64 address, u32 bytes, int lane, bool write);
Place lds_place(Wave&, u64 address, u32 bytes, int lane);
void check_alignment(Wave&, u64 address, u32 bytes, int lane, bool always = false);
u64 atomic_result(u32 operation, u64 old, u64 data, u64 compare, bool wide);
u32 data_shadow(const Wave&, u32 reg, u32 bytes, int lane, u32 index, bool high);
void require_clean(Wave&, u32 reg, u32 count, const char* what);
void write_loaded(Wave&, const Op&, u32 reg, const u32 (*values)[kLanes], const u32 (*shadow)[kLanes], u32 bytes, bool clean);

struct Loaded { u32 values[4][kLanes], shadow[4][kLanes]; bool clean = true; };
void read_lane(const Place&, u32 bytes, u32 control, int lane, Loaded&);
void write_lane(Wave&, const Place&, const Op&, u32 reg, u32 bytes, int lane);
void check_lane_conflicts(Wave&, const Op&, const Place*, u32 reg, u32 bytes);

}  // namespace gfxemu
