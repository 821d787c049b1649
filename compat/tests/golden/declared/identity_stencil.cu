// copy_if whose predicate is cuda::std::identity: rocThrust's transform_iterator knows its own identity only.
#include <cuda/std/functional>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
void pick(thrust::device_vector<unsigned int> &flags, thrust::device_vector<unsigned int> &places) {
    auto first = thrust::make_counting_iterator(0U);
    thrust::copy_if(first, first + flags.size(), flags.begin(), places.begin(), cuda::std::identity());
    auto same = thrust::make_transform_iterator(flags.begin(), cuda::std::identity());
    static_assert(!std::is_reference<decltype(same)::reference>::value, "a reference into a value that is gone");
}
