// cuda::memcpy_async with a thread's pipeline, a group's barrier, and a block's pipeline of two stages: one wavefront of
// producers, one of consumers.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void async_pipeline(const float *x, float *own, float *whole, float *grouped, float *staged) {
    __shared__ alignas(16) float room[128], stages[2][64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    int i = threadIdx.x;
    if (i == 0) init(&bar, blockDim.x);
    block.sync();

    auto mine = cuda::make_pipeline();
    mine.producer_acquire();
    cuda::memcpy_async(&room[i], &x[i], cuda::aligned_size_t<4>(sizeof(float)), mine);
    mine.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(mine);
    own[i] = room[i];
    mine.consumer_release();
    block.sync();

    cuda::memcpy_async(block, room, x + 128, cuda::aligned_size_t<16>(sizeof(room)), bar);
    bar.arrive_and_wait();
    whole[i] = room[127 - i];
    bar.arrive_and_wait();

    cg::memcpy_async(block, room, x, sizeof(room));
    cg::wait(block);
    grouped[i] = room[127 - i];
    block.sync();

    bool produces = i >= 64;
    auto pipe = cuda::make_pipeline(block, &state,
                                    produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    float sum = 0;
    for (int step = 0; step < 4; ++step) {
        if (produces) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stages[step % 2][i - 64], &x[step * 64 + i - 64], sizeof(float), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += stages[step % 2][63 - i];
            pipe.consumer_release();
        }
    }
    if (!produces) staged[i] = sum;
}
