// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipcub/iterator/discard_output_iterator.hpp>
#include <hipcompat/names/cub.h>
