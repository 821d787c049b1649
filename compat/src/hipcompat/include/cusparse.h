// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipsparse/hipsparse.h>
#include <hipcompat/names/complex.h>
#include <hipcompat/names/sparse.h>

#ifndef CUSPARSEAPI
#define CUSPARSEAPI
#endif
