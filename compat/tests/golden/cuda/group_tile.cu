// Cooperative groups: a block, tiles of 16, shuffles and ranks of a tile.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void group_tile(const int *x, int *y) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int v = x[block.thread_rank()];
    for (int step = tile.size() / 2; step > 0; step /= 2) {
        v += tile.shfl_down(v, step);
    }
    block.sync();
    if (tile.thread_rank() == 0) {
        y[block.thread_rank() / 16] = v;
    }
}
