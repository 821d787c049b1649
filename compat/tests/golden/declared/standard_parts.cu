// The parts of cuda::std that scan counts as there: those whose functions are constexpr in the C++ library, so run in device code.
#include <cuda/std/array>
#include <cuda/std/cstddef>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
template <typename T> __device__ T &&pass(T &&value) { return cuda::std::forward<T>(value); }
__global__ void k(int *y) {
    cuda::std::array<int, 4> room{1, 2, 3, 4};
    cuda::std::size_t i = threadIdx.x % room.size();
    cuda::std::tuple<int, int> pair(room[i], cuda::std::numeric_limits<int>::max());
    static_assert(cuda::std::is_same<int, int>::value && cuda::std::is_same_v<int, int>, "");
    room[i] = cuda::std::identity()(cuda::std::move(y[i]));
    y[i] = pass(cuda::std::get<0>(pair)) + cuda::std::get<1>(pair) + room[0];
}
