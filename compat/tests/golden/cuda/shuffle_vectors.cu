// A tile's shuffle of a value of sixteen bytes.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void shuffle_vectors(const float4 *x, float4 *y) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    float4 v = x[threadIdx.x];
    y[threadIdx.x] = tile.shfl_xor(v, 3);
}
