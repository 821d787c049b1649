// cuda::barrier as a counter and a phase, both atomic, in shared or global memory: arrivals release, waits acquire.
//
// A wavefront's lanes have one program counter: where some lanes of a wavefront wait, the others do not run on. So every
// lane of a wavefront that is to arrive must have done so before another one waits, else the kernel hangs; roles that
// split by whole wavefronts are safe. The functions that give up after a time, and those by parity, are not here.
#pragma once

#include <hipcompat/runtime.h>

#include <cstddef>

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
struct hipcompat_no_completion {
    __device__ void operator()() const {}
};
}  // namespace std

#if defined(__HIPCC__) || defined(__HIP__)
namespace hipcompat {

template <thread_scope Scope>
struct Word {
    static constexpr int where = Scope == thread_scope_system   ? __HIP_MEMORY_SCOPE_SYSTEM
                                 : Scope == thread_scope_device ? __HIP_MEMORY_SCOPE_AGENT
                                 : Scope == thread_scope_block  ? __HIP_MEMORY_SCOPE_WORKGROUP
                                                                : __HIP_MEMORY_SCOPE_SINGLETHREAD;
    unsigned int value;

    __device__ unsigned int load() const {
        return __hip_atomic_load(const_cast<unsigned int *>(&value), __ATOMIC_ACQUIRE, where);
    }
    __device__ void store(unsigned int wanted) { __hip_atomic_store(&value, wanted, __ATOMIC_RELEASE, where); }
    /// What was there before.
    __device__ unsigned int subtract(unsigned int count) {
        return __hip_atomic_fetch_add(&value, 0u - count, __ATOMIC_ACQ_REL, where);
    }
};

}  // namespace hipcompat

template <thread_scope Scope, typename Completion = std::hipcompat_no_completion>
class barrier {
public:
    class arrival_token {
        friend class barrier;
        unsigned int phase_;
        __device__ explicit arrival_token(unsigned int phase) : phase_(phase) {}
    };

    barrier() = default;  // unset, as a __shared__ variable must be: init() comes first
    __device__ explicit barrier(::std::ptrdiff_t expected, Completion completion = Completion()) { set(expected, completion); }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    __device__ friend void init(barrier *at, ::std::ptrdiff_t expected) { at->set(expected, Completion()); }
    __device__ friend void init(barrier *at, ::std::ptrdiff_t expected, Completion completion) {
        at->set(expected, completion);
    }

    /// The phase cannot end before this thread's arrival: what is read before it is the phase that the token stands for.
    [[nodiscard]] __device__ arrival_token arrive(::std::ptrdiff_t count = 1) {
        const unsigned int phase = phase_.load();
        finish(pending_.subtract(static_cast<unsigned int>(count)) - static_cast<unsigned int>(count), phase);
        return arrival_token(phase);
    }
    __device__ void wait(arrival_token &&token) const { wait_past(token.phase_); }
    __device__ void arrive_and_wait() { wait(arrive()); }
    __device__ void arrive_and_drop() {
        expected_.subtract(1);
        (void)arrive();
    }

    /// Until more phases have ended than `phase` counts; at once where they have.
    __device__ void wait_past(unsigned int phase) const {
        while (static_cast<int>(phase_.load() - phase) <= 0) {
            __builtin_amdgcn_s_sleep(1);
        }
    }

private:
    hipcompat::Word<Scope> expected_, pending_, phase_;
    Completion completion_;

    __device__ void set(::std::ptrdiff_t expected, Completion completion) {
        completion_ = completion;
        expected_.store(static_cast<unsigned int>(expected));
        pending_.store(static_cast<unsigned int>(expected));
        phase_.store(0);
    }
    __device__ void finish(unsigned int left, unsigned int phase) {
        if (left == 0) {
            completion_();
            pending_.store(expected_.load());
            phase_.store(phase + 1);
        }
    }
};
#endif

}  // namespace cuda
