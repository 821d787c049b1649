// cooperative_groups::memcpy_async as a copy by the group's threads that has ended when the group waits.
#pragma once
#include <hipcompat/async_copy.h>

#if defined(__HIPCC__) || defined(__HIP__)
namespace cooperative_groups {

template <typename Group, typename Element, typename Size>
__device__ inline void memcpy_async(const Group &group, Element *to, const Element *from, const Size &size) {
    ::cuda::hipcompat::copy_bytes<::cuda::hipcompat::best_alignment<Element, Size>>(to, from, size, group.thread_rank(),
                                                                                   group.size());
}

template <typename Group>
__device__ inline void wait(const Group &group) {
    group.sync();
}

template <unsigned int Prior, typename Group>
__device__ inline void wait_prior(const Group &group) {
    group.sync();
}

}  // namespace cooperative_groups
#endif
