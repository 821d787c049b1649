// cuda::pipeline over copies that have ended when they are issued: for one thread its calls have nothing left to wait for;
// for a block each stage has two barriers, one that producers commit to and one that consumers release.
// quit() and the waits that give up after a time are not here. hipcompat/barrier.h says what a wavefront must not do.
#pragma once

#include <hipcompat/async_copy.h>

#include <cstdint>

namespace cuda {

enum class pipeline_role { producer, consumer };

#if defined(__HIPCC__) || defined(__HIP__)
template <thread_scope Scope, ::std::uint8_t Stages>
class pipeline_shared_state {
public:
    pipeline_shared_state() = default;  // unset, as a __shared__ variable must be: make_pipeline() sets it
    pipeline_shared_state(const pipeline_shared_state &) = delete;
    pipeline_shared_state &operator=(const pipeline_shared_state &) = delete;

private:
    template <typename Group, thread_scope S, ::std::uint8_t N>
    friend __device__ pipeline<S> hipcompat_join(const Group &, pipeline_shared_state<S, N> *, bool, bool);

    barrier<Scope> committed_[Stages], released_[Stages];
    unsigned int producers_, consumers_;
};

template <thread_scope Scope>
class pipeline {
public:
    pipeline(pipeline &&) = default;
    pipeline &operator=(pipeline &&) = delete;

    /// Use number k of a stage may begin when k uses of it are released.
    __device__ void producer_acquire() {
        if (stages_ && head_ >= stages_) {
            released_[head_ % stages_].wait_past(head_ / stages_ - 1);
        }
    }
    __device__ void producer_commit() {
        if (stages_) {
            (void)committed_[head_ % stages_].arrive();
        }
        ++head_;
    }
    __device__ void consumer_wait() {
        if (stages_) {
            committed_[tail_ % stages_].wait_past(tail_ / stages_);
        }
    }
    __device__ void consumer_release() {
        if (stages_) {
            (void)released_[tail_ % stages_].arrive();
        }
        ++tail_;
    }

private:
    template <typename Group, thread_scope S, ::std::uint8_t N>
    friend __device__ pipeline<S> hipcompat_join(const Group &, pipeline_shared_state<S, N> *, bool, bool);
    friend __device__ pipeline<thread_scope_thread> make_pipeline();

    barrier<Scope> *committed_, *released_;
    unsigned int stages_, head_ = 0, tail_ = 0;

    __device__ pipeline(barrier<Scope> *committed, barrier<Scope> *released, unsigned int stages)
        : committed_(committed), released_(released), stages_(stages) {}
};

__device__ inline pipeline<thread_scope_thread> make_pipeline() {
    return pipeline<thread_scope_thread>(nullptr, nullptr, 0);
}

/// The whole group: its threads are counted by role, then each stage's barriers are set.
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
__device__ inline pipeline<Scope> hipcompat_join(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                                 bool produces, bool consumes) {
    if (group.thread_rank() == 0) {
        state->producers_ = state->consumers_ = 0;
    }
    group.sync();
    if (produces) {
        atomicAdd(&state->producers_, 1u);
    }
    if (consumes) {
        atomicAdd(&state->consumers_, 1u);
    }
    group.sync();
    for (unsigned int stage = group.thread_rank(); stage < Stages; stage += group.size()) {
        init(&state->committed_[stage], state->producers_);
        init(&state->released_[stage], state->consumers_);
    }
    group.sync();
    return pipeline<Scope>(state->committed_, state->released_, Stages);
}

/// Every thread produces and consumes.
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state) {
    return hipcompat_join(group, state, true, true);
}

template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                                pipeline_role role) {
    return hipcompat_join(group, state, role == pipeline_role::producer, role == pipeline_role::consumer);
}

/// The first `producers` threads of the group produce, the others consume.
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                                ::std::size_t producers) {
    const bool produces = group.thread_rank() < producers;
    return hipcompat_join(group, state, produces, !produces);
}

/// Copies of a thread's own have ended already.
template <::std::uint8_t Prior>
__device__ inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &) {}
#endif

}  // namespace cuda
