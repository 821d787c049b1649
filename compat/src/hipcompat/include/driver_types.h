// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hip/driver_types.h>

#ifndef __DRIVER_TYPES_H__
#define __DRIVER_TYPES_H__
#endif
