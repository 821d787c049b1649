// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipcompat/fp8.h>
#include <hipblaslt/hipblaslt.h>
#include <hipcompat/names/blas.h>
#include <hipcompat/names/blaslt.h>
