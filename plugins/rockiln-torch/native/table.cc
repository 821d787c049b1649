#include "table.h"

namespace rockiln_torch {

const OpRow kOps[] = {
#include "op_table.inc"
};
const uint32_t kOpCount = sizeof kOps / sizeof *kOps;

}  // namespace rockiln_torch
