// CallKey -> rockiln_plan.
#include "plan_cache.h"

namespace rockiln {

using Lock = std::lock_guard<std::mutex>;

const rockiln_plan* PlanCache::find(const CallKey& key) {
  const Lock lock(mutex_);
  const auto found = places_.find(key.hash());
  if (found == places_.end() || !key.equals(found->second->words)) {
    ++counts_.misses;
    return nullptr;
  }
  ++counts_.hits;
  entries_.splice(entries_.begin(), entries_, found->second);
  const rockiln_plan* plan = found->second->plan;
  plan->hits.fetch_add(1, std::memory_order_relaxed);
  return hold_plan(plan);
}

const rockiln_plan* PlanCache::keep(const CallKey& key, const rockiln_plan* plan, std::uint64_t epoch) {
  const Lock lock(mutex_);
  if (epoch != epoch_) return plan;
  const auto found = places_.find(key.hash());
  if (found != places_.end()) {
    if (key.equals(found->second->words)) {
      release_plan(plan);
      return hold_plan(found->second->plan);
    }
    drop_locked(found->second);  // two keys of one hash: the later one stays
  }
  entries_.push_front({key.hash(), {key.words(), key.words() + key.size()}, plan});
  places_[key.hash()] = entries_.begin();
  hold_plan(plan);
  for (; entries_.size() > capacity_; ++counts_.evictions) drop_locked(std::prev(entries_.end()));
  return plan;
}

void PlanCache::drop_locked(Place place) {
  places_.erase(place->hash);
  release_plan(place->plan);
  entries_.erase(place);
}

void PlanCache::clear() {
  const Lock lock(mutex_);
  forget_locked();
}

void PlanCache::forget_locked() {
  ++epoch_;
  places_.clear();
  for (const Entry& entry : entries_) release_plan(entry.plan);
  entries_.clear();
}

void PlanCache::set_capacity(std::size_t capacity) {
  const Lock lock(mutex_);
  capacity_ = capacity;
}

std::uint64_t PlanCache::epoch() {
  const Lock lock(mutex_);
  return epoch_;
}

rockiln_dispatch_counts PlanCache::count() {
  const Lock lock(mutex_);
  rockiln_dispatch_counts counts = counts_;
  counts.plans = entries_.size();
  return counts;
}

std::uint32_t PlanCache::list(const rockiln_plan** out, std::uint32_t room) {
  const Lock lock(mutex_);
  std::uint32_t place = 0;
  for (const Entry& entry : entries_) {
    if (place >= room) break;
    out[place++] = hold_plan(entry.plan);
  }
  return static_cast<std::uint32_t>(entries_.size());
}

}  // namespace rockiln
