// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hiprand/hiprand.h>
#include <hipcompat/names/rand.h>

#ifndef CURAND_H_
#define CURAND_H_
#endif
