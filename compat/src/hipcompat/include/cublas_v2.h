// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipblas/hipblas.h>
#include <hipcompat/names/complex.h>
#include <hipcompat/names/blas.h>
#include <hipcompat/blas.h>

#ifndef CUBLAS_API_H_
#define CUBLAS_API_H_
#endif
