// cooperative_groups::reduce over a structure of two floats with an operation of the file's own.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
struct Spread {
    float largest, smallest;
};
extern "C" __global__ void group_structure(const float *x, float *spread) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto join = [](const Spread &a, const Spread &b) {
        return Spread{fmaxf(a.largest, b.largest), fminf(a.smallest, b.smallest)};
    };
    Spread all = cg::reduce(tile, Spread{x[threadIdx.x], x[threadIdx.x]}, join);
    spread[threadIdx.x] = all.largest - all.smallest;
}
