// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hip/hip_vector_types.h>

#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__
#endif
