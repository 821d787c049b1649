// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipsolver/hipsolver.h>
#include <hipcompat/names/complex.h>
#include <hipcompat/names/blas.h>
#include <hipcompat/names/sparse.h>
#include <hipcompat/names/solver.h>

#ifndef CUSOLVER_COMMON_H_
#define CUSOLVER_COMMON_H_
#endif
