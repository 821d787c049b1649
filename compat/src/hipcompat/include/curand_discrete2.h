// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hiprand/hiprand_kernel.h>
#include <hipcompat/names/rand.h>
