// CUDA's loads and stores with a cache hint, for every type that HIP has none for, and __trap. A hint changes no result; what is promised
// beside it is kept: .cg and .cv loads see what other blocks have written (L1 is passed by), .cg and .wt stores reach them.
// Templates, so that HIP's own functions for some types, and a file's own, go before them.
#pragma once

#if defined(__cplusplus) && (defined(__HIPCC__) || defined(__HIP__))
#include <type_traits>

#include <hip/hip_runtime.h>

namespace hipcompat {

// The widest word that a type consists of: what atomic accesses take. One access for up to 8 bytes.
template <typename T>
using word_of = typename std::conditional<
    sizeof(T) % 8 == 0 && alignof(T) % 8 == 0, unsigned long long,
    typename std::conditional<sizeof(T) % 4 == 0 && alignof(T) % 4 == 0, unsigned int,
                              typename std::conditional<sizeof(T) % 2 == 0 && alignof(T) % 2 == 0, unsigned short,
                                                        unsigned char>::type>::type>::type;

template <int scope, typename T>
__device__ inline T load_shared_with_others(const T *address) {
    using Word = word_of<T>;
    alignas(T) Word words[sizeof(T) / sizeof(Word)];
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / sizeof(Word); ++i) {
        words[i] = __hip_atomic_load(reinterpret_cast<const Word *>(address) + i, __ATOMIC_RELAXED, scope);
    }
    T value;
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

template <int scope, typename T>
__device__ inline void store_shared_with_others(T *address, const T &value) {
    using Word = word_of<T>;
    alignas(T) Word words[sizeof(T) / sizeof(Word)];
    __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / sizeof(Word); ++i) {
        __hip_atomic_store(reinterpret_cast<Word *>(address) + i, words[i], __ATOMIC_RELAXED, scope);
    }
}

template <typename T>
struct same {
    using type = T;  // not deduced: __stcs(float *, int) converts, as CUDA's overloads do
};

}  // namespace hipcompat

template <typename T>
__device__ inline T __ldca(const T *address) {
    return *address;
}
template <typename T>
__device__ inline T __ldcs(const T *address) {
    return *address;
}
template <typename T>
__device__ inline T __ldlu(const T *address) {
    return *address;
}
template <typename T>
__device__ inline T __ldcg(const T *address) {
    return hipcompat::load_shared_with_others<__HIP_MEMORY_SCOPE_AGENT>(address);
}
template <typename T>
__device__ inline T __ldcv(const T *address) {
    return hipcompat::load_shared_with_others<__HIP_MEMORY_SCOPE_SYSTEM>(address);
}
template <typename T>
__device__ inline void __stwb(T *address, typename hipcompat::same<T>::type value) {
    *address = value;
}
template <typename T>
__device__ inline void __stcs(T *address, typename hipcompat::same<T>::type value) {
    *address = value;
}
template <typename T>
__device__ inline void __stcg(T *address, typename hipcompat::same<T>::type value) {
    hipcompat::store_shared_with_others<__HIP_MEMORY_SCOPE_AGENT>(address, value);
}
template <typename T>
__device__ inline void __stwt(T *address, typename hipcompat::same<T>::type value) {
    hipcompat::store_shared_with_others<__HIP_MEMORY_SCOPE_SYSTEM>(address, value);
}

template <typename = void>
__device__ inline void __trap() {
    __builtin_trap();
}
#endif
