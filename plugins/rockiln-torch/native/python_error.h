// An exception that Python raised in a callback → the same exception where the op was called.
#pragma once

#include <cstdint>

namespace rockiln_torch {

// `results`: what the callback left, as library.h says.
[[noreturn]] void rethrow_python(const uint64_t* results);

}  // namespace rockiln_torch
