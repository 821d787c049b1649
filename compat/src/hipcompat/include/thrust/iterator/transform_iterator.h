// rocThrust's transform_iterator gives values, not references that dangle or drop const, for its own identity only; CUDA's gives
// them for cuda::std::identity, too, which copy_if with a stencil comes upon.
#pragma once

#include_next <thrust/iterator/transform_iterator.h>

#include <thrust/version.h>

#if THRUST_VERSION >= 200805
#include <cuda/std/functional>

THRUST_NAMESPACE_BEGIN
namespace detail {
template <class Iterator>
struct transform_iterator_reference<::cuda::std::identity, Iterator> {
    using type = iterator_value_t<Iterator>;
};
}  // namespace detail
THRUST_NAMESPACE_END
#endif
