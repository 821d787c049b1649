// A call -> its plan, of the cache or of the planner. One in a process; a fork's child starts over.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan_cache.h"

struct rockiln_op {
  std::string name;
};

namespace rockiln {

class Dispatcher {
 public:
  static Dispatcher& get();  // made by the first use, never destroyed

  // All throw Failure.
  const rockiln_op* find_op(const std::string& name);
  const rockiln_plan* find_plan(const rockiln_op_call& call);
  void install(const rockiln_planner* planner);
  const rockiln_pack& open_pack(rockiln_runtime& runtime, const std::string& folder);
  void check_generation(const rockiln_plan& plan) const;

  void observe(rockiln_observer observer, void* user);
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  PlanCache& cache() { return cache_; }

 private:
  struct Planner {
    rockiln_backend backend;
    std::string library;  // empty: the usual ones
    rockiln_plan_maker make_plan;
    void* user;
    mutable rockiln_runtime* runtime;  // opened by the first miss; never closed, as plans that are held use it
  };
  struct Observer {
    rockiln_observer call;
    void* user;
  };

  Dispatcher();
  const rockiln_plan* make_plan(const rockiln_op_call& call);
  rockiln_runtime& open_runtime(const Planner& planner);
  void start_over_locked();

  std::mutex mutex_;  // of all below but atomics; never held while the planner is called
  std::map<std::string, std::unique_ptr<rockiln_op>> ops_;
  std::vector<std::unique_ptr<Planner>> planners_;    // former ones too: another thread may be in one
  std::vector<std::unique_ptr<Observer>> observers_;  // likewise
  std::map<std::pair<rockiln_runtime*, std::string>, const rockiln_pack*> packs_;  // never closed, likewise
  std::atomic<const Planner*> planner_{nullptr};
  std::atomic<const Observer*> observer_{nullptr};
  std::atomic<std::uint64_t> generation_{0};
  PlanCache cache_;
};

}  // namespace rockiln
