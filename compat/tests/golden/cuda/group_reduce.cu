// cooperative_groups::reduce and inclusive_scan over a tile of 32, which HIP before 7.13 lacks.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void group_reduce(const int *x, int *sums, int *largest, int *scans) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int v = x[threadIdx.x];
    sums[threadIdx.x] = cg::reduce(tile, v, cg::plus<int>());
    largest[threadIdx.x] = cg::reduce(tile, v, cg::greater<int>());
    scans[threadIdx.x] = cg::inclusive_scan(tile, v);
}
