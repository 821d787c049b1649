// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hiprand/hiprand_kernel.h>
#include <hipcompat/names/rand.h>

#ifndef CURAND_KERNEL_H_
#define CURAND_KERNEL_H_
#endif
