// Tiles of 128 threads and of 16 with block_tile_memory: sums, pairs, shuffles and votes across wavefronts, twice over.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
struct Range {
    int low, high;
};
struct Widen {
    __device__ Range operator()(Range a, Range b) const { return {min(a.low, b.low), max(a.high, b.high)}; }
};
extern "C" __global__ void block_tiles(const int *x, int *sums, int *widths, int *moved, int *votes) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<128>(block);
    auto narrow = cg::tiled_partition<16>(block);
    int i = block.thread_rank(), v = x[i];
    sums[i] = cg::reduce(tile, v, cg::plus<int>()) + 1000 * tile.meta_group_rank();
    Range range = cg::reduce(tile, Range{v, v}, Widen());
    widths[i] = range.high - range.low + tile.meta_group_size();
    moved[i] = tile.shfl(v, 77) - narrow.shfl(v, 3);
    votes[i] = 4 * tile.any(i == 200) + 2 * tile.all(i < 128 || v > 1000) + tile.all(v < 1000);
}
