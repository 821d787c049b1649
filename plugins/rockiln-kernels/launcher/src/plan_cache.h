// CallKey -> rockiln_plan, bounded: what was used least recently goes first.
#pragma once

#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "call_key.h"
#include "plan.h"

namespace rockiln {

class PlanCache {
 public:
  // Held for the caller; nullptr if it is not there.
  const rockiln_plan* find(const CallKey& key);

  // Keeps the plan, or one that another thread was quicker to keep; what is returned is held for the caller. Nothing is
  // kept where `epoch` is an older one: the cache was cleared since the plan was asked for.
  const rockiln_plan* keep(const CallKey& key, const rockiln_plan* plan, std::uint64_t epoch);

  void clear();
  void set_capacity(std::size_t capacity);
  std::uint64_t epoch();
  rockiln_dispatch_counts count();
  std::uint32_t list(const rockiln_plan** out, std::uint32_t room);

  // Around a fork: no other thread may be inside. The child forgets all.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void forget_locked();

 private:
  struct Entry {
    std::uint64_t hash;
    std::vector<std::uint64_t> words;
    const rockiln_plan* plan;
  };
  using Place = std::list<Entry>::iterator;

  void drop_locked(Place place);

  std::mutex mutex_;
  std::list<Entry> entries_;  // used last first
  std::unordered_map<std::uint64_t, Place> places_;
  std::size_t capacity_ = 4096;
  std::uint64_t epoch_ = 0;
  rockiln_dispatch_counts counts_{};
};

}  // namespace rockiln
