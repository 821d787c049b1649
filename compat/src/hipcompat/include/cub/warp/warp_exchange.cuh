// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipcub/warp/warp_exchange.hpp>
#include <hipcompat/names/cub.h>
