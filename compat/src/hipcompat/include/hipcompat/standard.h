// cuda::std as std, and identity before C++20: what is constexpr in the C++ library runs in device code, too; the rest does
// not compile there.
#pragma once

#include <utility>

namespace cuda {
namespace std {
using namespace ::std;

#if __cplusplus < 202002L
struct identity {
    using is_transparent = void;

    template <typename Value>
    constexpr Value &&operator()(Value &&value) const noexcept {
        return ::std::forward<Value>(value);
    }
};
#endif
}  // namespace std
}  // namespace cuda
