// cuda::memcpy_async as a copy that has ended when the call returns, which its contract allows (CUDA's own does so where
// the GPU has no such unit). What makes it visible to others is the barrier or pipeline that it is given, as in CUDA.
#pragma once

#include <hipcompat/barrier.h>

#include <cooperative_groups.h>

namespace cuda {

template <::std::size_t Alignment>
struct aligned_size_t {
    static constexpr ::std::size_t align = Alignment;
    ::std::size_t value;

    __host__ __device__ explicit constexpr aligned_size_t(::std::size_t size) : value(size) {}
    __host__ __device__ constexpr operator ::std::size_t() const { return value; }
};

enum class async_contract_fulfillment { none, async };

#if defined(__HIPCC__) || defined(__HIP__)
template <thread_scope Scope>
class pipeline;

namespace hipcompat {

template <typename Unit>
__device__ inline void copy_units(void *to, const void *from, ::std::size_t size, ::std::size_t first, ::std::size_t step) {
    for (::std::size_t index = first; index < size / sizeof(Unit); index += step) {
        static_cast<Unit *>(to)[index] = static_cast<const Unit *>(from)[index];
    }
}

/// Thread `first` of `step`. 16, 8, 4 or 1 bytes at a time, as far as the alignment that the caller promises goes.
template <::std::size_t Alignment>
__device__ inline void copy_bytes(void *to, const void *from, ::std::size_t size, ::std::size_t first, ::std::size_t step) {
    typedef unsigned int Quad __attribute__((ext_vector_type(4), may_alias));
    typedef unsigned int Pair __attribute__((ext_vector_type(2), may_alias));
    typedef unsigned int Word32 __attribute__((may_alias));
    if (Alignment >= 16 && size % 16 == 0) {
        copy_units<Quad>(to, from, size, first, step);
    } else if (Alignment >= 8 && size % 8 == 0) {
        copy_units<Pair>(to, from, size, first, step);
    } else if (Alignment >= 4 && size % 4 == 0) {
        copy_units<Word32>(to, from, size, first, step);
    } else {
        copy_units<unsigned char>(to, from, size, first, step);
    }
}

template <typename Size>
constexpr ::std::size_t alignment_of = 1;
template <::std::size_t Alignment>
constexpr ::std::size_t alignment_of<aligned_size_t<Alignment>> = Alignment;

template <typename Element>
constexpr ::std::size_t alignment_of_element = alignof(Element);
template <>
constexpr ::std::size_t alignment_of_element<void> = 1;

template <typename Element, typename Size>
constexpr ::std::size_t best_alignment =
    alignment_of<Size> > alignment_of_element<Element> ? alignment_of<Size> : alignment_of_element<Element>;

}  // namespace hipcompat

template <typename Element, typename Size, thread_scope Scope, typename Completion>
__device__ inline async_contract_fulfillment memcpy_async(Element *to, const Element *from, Size size,
                                                          barrier<Scope, Completion> &) {
    hipcompat::copy_bytes<hipcompat::best_alignment<Element, Size>>(to, from, size, 0, 1);
    return async_contract_fulfillment::none;
}

template <typename Element, typename Size, thread_scope Scope>
__device__ inline async_contract_fulfillment memcpy_async(Element *to, const Element *from, Size size, pipeline<Scope> &) {
    hipcompat::copy_bytes<hipcompat::best_alignment<Element, Size>>(to, from, size, 0, 1);
    return async_contract_fulfillment::none;
}

template <typename Group, typename Element, typename Size, thread_scope Scope, typename Completion>
__device__ inline async_contract_fulfillment memcpy_async(const Group &group, Element *to, const Element *from, Size size,
                                                          barrier<Scope, Completion> &) {
    hipcompat::copy_bytes<hipcompat::best_alignment<Element, Size>>(to, from, size, group.thread_rank(), group.size());
    return async_contract_fulfillment::none;
}

template <typename Group, typename Element, typename Size, thread_scope Scope>
__device__ inline async_contract_fulfillment memcpy_async(const Group &group, Element *to, const Element *from, Size size,
                                                          pipeline<Scope> &) {
    hipcompat::copy_bytes<hipcompat::best_alignment<Element, Size>>(to, from, size, group.thread_rank(), group.size());
    return async_contract_fulfillment::none;
}
#endif

}  // namespace cuda
