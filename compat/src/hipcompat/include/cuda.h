// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#include <hipcompat/runtime.h>
#include <hip/hip_runtime.h>

#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__
#endif
#ifndef CUDA_H
#define CUDA_H
#endif
