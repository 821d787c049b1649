// HIP's vector types have * and / as friend functions, CUDA's have none, and much code defines them for itself: the call is
// then ambiguous. As friend templates HIP's step back behind a function of the file's own, and serve where there is none.
#pragma once

#ifdef __cplusplus
#include <array>  // all that the header below includes: it must not see the macro (libstdc++ 16 has friends in <array>)
#include <iosfwd>
#include <type_traits>

#include <hip/amd_detail/host_defines.h>

#define friend template <typename = void> friend
#include <hip/amd_detail/amd_hip_vector_types.h>
#undef friend
#endif
