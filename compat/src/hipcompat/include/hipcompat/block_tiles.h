// Tiles of 64 threads and more, with CUDA's block_tile_memory: HIP's tiles end at the wavefront. Such a tile meets at a counter in
// the memory it was given, and passes values through it; no wavefront of 64 is taken for one of 32, nor the other way round.
//
// Every wavefront of a tile must call what the tile does, its lanes together. Shuffles are by shfl alone, as in CUDA.
#pragma once

#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>

#include <type_traits>

#if defined(__HIPCC__) || defined(__HIP__)
namespace hipcompat {

/// A tile's part of the memory: how many wavefronts have ever arrived, and a word for each 32 threads.
struct TileRoom {
    unsigned int arrivals;
    unsigned int words[32];
};

class MemoryBlock : public cooperative_groups::thread_block {
public:
    __device__ MemoryBlock(const cooperative_groups::thread_block &block, TileRoom *rooms)
        : cooperative_groups::thread_block(block), rooms_(rooms) {}
    __device__ TileRoom *rooms() const { return rooms_; }

private:
    TileRoom *rooms_;
};

template <unsigned int Size>
class WideTile {
    static_assert(Size >= 64 && Size <= 1024 && (Size & (Size - 1)) == 0, "a power of two from 64 to 1024");

public:
    static constexpr unsigned int parts = Size / 32;

    __device__ explicit WideTile(const MemoryBlock &block) : room_(block.rooms() + meta_group_rank()) {}
    __device__ static unsigned int size() { return Size; }
    __device__ static unsigned int num_threads() { return Size; }
    __device__ static unsigned int thread_rank() { return cooperative_groups::thread_block::thread_rank() % Size; }
    __device__ static unsigned int meta_group_rank() { return cooperative_groups::thread_block::thread_rank() / Size; }
    __device__ static unsigned int meta_group_size() { return (threads() + Size - 1) / Size; }

    /// Arrivals are counted and never reset: no wavefront can arrive twice before all others have arrived once.
    __device__ void sync() const {
        const unsigned int lane = static_cast<unsigned int>(__lane_id()), first = __builtin_ctzll(__activemask());
        unsigned int ticket = 0;
        if (lane == first) {
            ticket = __hip_atomic_fetch_add(&room_->arrivals, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
        ticket = static_cast<unsigned int>(__builtin_amdgcn_readfirstlane(static_cast<int>(ticket)));
        const unsigned int wanted = (ticket / wavefronts() + 1) * wavefronts();
        while (static_cast<int>(arrived() - wanted) < 0) {
            __builtin_amdgcn_s_sleep(1);
        }
    }

    /// all[k] becomes the value that thread 32 k of the tile hands in.
    template <typename Value>
    __device__ void gather(const Value &value, Value (&all)[parts]) const {
        constexpr unsigned int count = (sizeof(Value) + 3) / 4;
        unsigned int own[count] = {};
        __builtin_memcpy(own, static_cast<const void *>(&value), sizeof(Value));
        for (unsigned int word = 0; word < count; ++word) {
            if (thread_rank() % 32 == 0) {
                room_->words[thread_rank() / 32] = own[word];
            }
            sync();
            const unsigned int bytes = sizeof(Value) - 4 * word < 4 ? sizeof(Value) - 4 * word : 4;
            for (unsigned int part = 0; part < parts; ++part) {
                const unsigned int read = room_->words[part];
                __builtin_memcpy(reinterpret_cast<char *>(&all[part]) + 4 * word, &read, bytes);
            }
            sync();
        }
    }

    template <typename Value>
    __device__ Value shfl(const Value &value, unsigned int rank) const {
        unsigned int words[(sizeof(Value) + 3) / 4] = {};
        __builtin_memcpy(words, static_cast<const void *>(&value), sizeof(Value));
        for (unsigned int &word : words) {
            if (thread_rank() == rank % Size) {
                room_->words[0] = word;
            }
            sync();
            word = room_->words[0];
            sync();
        }
        Value moved = value;
        __builtin_memcpy(static_cast<void *>(&moved), words, sizeof(Value));
        return moved;
    }

    /// Thread 32 k of the tile speaks for its 32.
    __device__ int any(int wanted) const { return count_parts(half_vote(wanted) != 0) != 0; }
    __device__ int all(int wanted) const { return count_parts(half_vote(!wanted) != 0) == 0; }

private:
    TileRoom *room_;

    __device__ static unsigned int threads() { return cooperative_groups::thread_block::num_threads(); }
    /// Of this tile; the last one of a block may be shorter.
    __device__ static unsigned int wavefronts() {
        const unsigned int left = threads() - meta_group_rank() * Size, present = left < Size ? left : Size;
        return (present + warpSize - 1) / warpSize;
    }
    __device__ unsigned int arrived() const {
        return __hip_atomic_load(&room_->arrivals, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
    __device__ static unsigned int half_vote(int wanted) {
        return static_cast<unsigned int>(__ballot64(wanted) >> (static_cast<unsigned int>(__lane_id()) / 32 * 32));
    }
    __device__ unsigned int count_parts(bool holds) const {
        unsigned int flags[parts] = {}, count = 0;
        gather(static_cast<unsigned int>(holds), flags);
        for (unsigned int part = 0; part * 32 + meta_group_rank() * Size < threads() && part < parts; ++part) {
            count += flags[part];
        }
        return count;
    }
};

}  // namespace hipcompat

namespace cooperative_groups {

template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {
    hipcompat::TileRoom rooms[(MaxBlockSize + 63) / 64];
};

/// Every thread of the block calls it, as in CUDA.
template <unsigned int MaxBlockSize>
__device__ inline hipcompat::MemoryBlock this_thread_block(block_tile_memory<MaxBlockSize> &memory) {
    const thread_block block = this_thread_block();
    constexpr unsigned int count = sizeof(memory.rooms) / sizeof(memory.rooms[0]);
    for (unsigned int room = block.thread_rank(); room < count; room += block.num_threads()) {
        memory.rooms[room].arrivals = 0;
    }
    block.sync();
    return hipcompat::MemoryBlock(block, memory.rooms);
}

template <unsigned int Size, typename = typename std::enable_if<(Size >= 64)>::type>
__device__ inline hipcompat::WideTile<Size> tiled_partition(const hipcompat::MemoryBlock &block) {
    return hipcompat::WideTile<Size>(block);
}
template <unsigned int Size, typename = typename std::enable_if<(Size < 64)>::type, typename = void>
__device__ inline thread_block_tile<Size, thread_block> tiled_partition(const hipcompat::MemoryBlock &block) {
    return tiled_partition<Size>(static_cast<const thread_block &>(block));
}

}  // namespace cooperative_groups
#endif
