// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipcub/util_allocator.hpp>
#include <hipcompat/names/cub.h>
