// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hipfft/hipfftXt.h>
#include <hipcompat/names/complex.h>
#include <hipcompat/names/fft.h>
#include <hipcompat/fft.h>

#ifndef _CUFFT_H_
#define _CUFFT_H_
#endif
