// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hip/hip_fp16.h>
#include <hipcompat/fp16.h>
