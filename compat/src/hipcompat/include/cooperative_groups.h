// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hip/hip_cooperative_groups.h>
#include <hipcompat/block_tiles.h>
