// Ballots of 32 bits, counted, and each lane's rank among those that voted.
extern "C" __global__ void ballot(const int *x, unsigned *votes, int *ranks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool wants = x[i] > 0;
    unsigned mine = __ballot_sync(0xffffffff, wants);
    ranks[i] = wants ? __popc(mine & ((1u << (threadIdx.x & 31)) - 1)) : -1;
    if ((threadIdx.x & 31) == 0) {
        votes[i / 32] = mine;
    }
}
