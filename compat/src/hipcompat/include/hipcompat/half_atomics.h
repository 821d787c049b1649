// CUDA's atomicAdd for 16-bit floats and pairs of them, as compare-and-swap loops of the 32-bit word around them: right on any memory,
// which HIP's unsafeAtomicAdd is not. Templates, so that a file's own atomicAdd for these types goes before them.
#pragma once

#if defined(__cplusplus) && (defined(__HIPCC__) || defined(__HIP__))
#include <type_traits>

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

namespace hipcompat {

template <typename T>
using if_half = typename std::enable_if<std::is_same<T, __half>::value || std::is_same<T, __hip_bfloat16>::value, T>::type;
template <typename T>
using if_pair = typename std::enable_if<std::is_same<T, __half2>::value || std::is_same<T, __hip_bfloat162>::value, T>::type;

}  // namespace hipcompat

template <typename T>
__device__ inline hipcompat::if_pair<T> atomicAdd(T *address, T value) {
    auto *word = reinterpret_cast<unsigned int *>(address);
    unsigned int seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
    T before;
    do {
        __builtin_memcpy(static_cast<void *>(&before), &seen, 4);
        T sum = __hadd2(before, value);
        __builtin_memcpy(&wanted, static_cast<const void *>(&sum), 4);
    } while (!__hip_atomic_compare_exchange_strong(word, &seen, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
    __builtin_memcpy(static_cast<void *>(&before), &seen, 4);
    return before;
}

template <typename T>
__device__ inline hipcompat::if_half<T> atomicAdd(T *address, T value) {
    auto place = reinterpret_cast<__UINTPTR_TYPE__>(address);
    auto *word = reinterpret_cast<unsigned int *>(place & ~static_cast<__UINTPTR_TYPE__>(3));
    const unsigned int shift = (place & 2) * 8;
    unsigned int seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
    T before;
    do {
        auto bits = static_cast<unsigned short>(seen >> shift);
        __builtin_memcpy(static_cast<void *>(&before), &bits, 2);
        T sum = __hadd(before, value);
        __builtin_memcpy(&bits, static_cast<const void *>(&sum), 2);
        wanted = (seen & ~(0xffffu << shift)) | static_cast<unsigned int>(bits) << shift;
    } while (!__hip_atomic_compare_exchange_strong(word, &seen, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
    auto bits = static_cast<unsigned short>(seen >> shift);
    __builtin_memcpy(static_cast<void *>(&before), &bits, 2);
    return before;
}
#endif
