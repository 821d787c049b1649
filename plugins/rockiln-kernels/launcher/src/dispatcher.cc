// A call -> its plan.
#include "dispatcher.h"

#include <pthread.h>

#include "guard.h"
#include "request.h"

namespace rockiln {

namespace {

constexpr std::size_t kOpLimit = 4096;  // names; more of them is a caller that makes them up
constexpr std::uint32_t kCapacity = 4096;

using Lock = std::lock_guard<std::mutex>;

}  // namespace

Dispatcher& Dispatcher::get() {
  static Dispatcher& only = *new Dispatcher;
  return only;
}

Dispatcher::Dispatcher() {
  pthread_atfork(
      [] {
        get().mutex_.lock();
        get().cache_.lock();
      },
      [] {
        get().cache_.unlock();
        get().mutex_.unlock();
      },
      [] { get().start_over_locked(); });
}

// In a fork's child: what the parent's driver gave is of no use here, and is left as it is.
void Dispatcher::start_over_locked() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (const auto& planner : planners_) planner->runtime = nullptr;
  packs_.clear();
  cache_.forget_locked();
  cache_.unlock();
  mutex_.unlock();
}

const rockiln_op* Dispatcher::find_op(const std::string& name) {
  const Lock lock(mutex_);
  auto& op = ops_[name];
  if (!op) {
    if (ops_.size() > kOpLimit) {
      ops_.erase(name);
      fail(ROCKILN_BAD_ARGUMENT, "rockiln_find_op: more names than there are ops");
    }
    op = std::make_unique<rockiln_op>(rockiln_op{name});
  }
  return op.get();
}

const rockiln_plan* Dispatcher::find_plan(const rockiln_op_call& call) {
  const CallKey key(call);
  const rockiln_plan* plan = cache_.find(key);
  if (!plan) {
    const std::uint64_t epoch = cache_.epoch();
    plan = cache_.keep(key, make_plan(call), epoch);
  }
  if (const Observer* observer = observer_.load(std::memory_order_acquire)) observer->call(observer->user, plan);
  return plan;
}

const rockiln_plan* Dispatcher::make_plan(const rockiln_op_call& call) {
  const Planner* planner = planner_.load(std::memory_order_acquire);
  if (!planner)
    fail(ROCKILN_NO_PLANNER, "nothing answers calls in this process: call rockiln_kernels.dispatch.install()");
  rockiln_runtime& runtime = open_runtime(*planner);
  rockiln_request request(call, runtime, runtime.facts_of(call.device).arch, generation());
  planner->make_plan(planner->user, &request);
  if (!request.plan) fail(request.status, std::move(request.message));
  return request.plan.release();
}

rockiln_runtime& Dispatcher::open_runtime(const Planner& planner) {
  const Lock lock(mutex_);
  if (!planner.runtime) {
    const char* library = planner.library.empty() ? nullptr : planner.library.c_str();
    if (const rockiln_status status = rockiln_open_runtime(planner.backend, library, &planner.runtime))
      fail(status, rockiln_last_error());
  }
  return *planner.runtime;
}

const rockiln_pack& Dispatcher::open_pack(rockiln_runtime& runtime, const std::string& folder) {
  const Lock lock(mutex_);
  const rockiln_pack*& pack = packs_[{&runtime, folder}];
  if (!pack) pack = new rockiln_pack(runtime, folder);
  return *pack;
}

void Dispatcher::install(const rockiln_planner* planner) {
  {
    const Lock lock(mutex_);
    if (planner) {
      require(planner->struct_bytes >= sizeof *planner && planner->make_plan, "rockiln_install_planner: no planner");
      require(planner->backend <= ROCKILN_CUDA, "rockiln_install_planner: unknown backend");
      const char* library = planner->library ? planner->library : "";
      planners_.push_back(std::make_unique<Planner>(
          Planner{static_cast<rockiln_backend>(planner->backend), library, planner->make_plan, planner->user,
                  nullptr}));
      cache_.set_capacity(planner->capacity ? planner->capacity : kCapacity);
    }
    planner_.store(planner ? planners_.back().get() : nullptr, std::memory_order_release);
  }
  cache_.clear();
}

void Dispatcher::observe(rockiln_observer observer, void* user) {
  const Lock lock(mutex_);
  if (observer) observers_.push_back(std::make_unique<Observer>(Observer{observer, user}));
  observer_.store(observer ? observers_.back().get() : nullptr, std::memory_order_release);
}

void Dispatcher::check_generation(const rockiln_plan& plan) const {
  if (plan.generation != generation())
    fail(ROCKILN_STALE, std::string(plan.facts.op) + ": the plan was found before a fork: find it again");
}

}  // namespace rockiln
