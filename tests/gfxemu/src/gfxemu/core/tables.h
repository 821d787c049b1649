// The op table: names as lower.py knows them → entries.
#pragma once
#include "lanes.h"

namespace gfxemu {

const Entry& entry_of(u16 op);
int find_op(const char* name);                          // -1: unknown
int op_count();

Table integer_table();
Table float_table();
Table half_table();
Table double_table();
Table compare_table();
Table convert_table();
Table packed_table();
Table cross_lane_table();
Table special_table();
Table matrix_table();
Table scalar_table();
Table control_table();
Table lds_table();
Table memory_table();
Table small_float_table();

}  // namespace gfxemu
