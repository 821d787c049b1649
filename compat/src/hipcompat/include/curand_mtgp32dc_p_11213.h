// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <rocrand/rocrand_mtgp32_11213.h>
#include <hipcompat/names/rand.h>
