// An answer of the planner -> rockiln_plan: who runs a call, and its launches with their numbers. Counted by holders.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "../rockiln_dispatch.h"
#include "pack.h"

namespace rockiln {

constexpr std::size_t kValueLimit = 256;  // kKernargLimit bytes hold no more

struct PlannedLaunch {
  const rockiln_kernel* kernel;
  std::array<std::uint32_t, 3> grid;
  std::vector<rockiln_value> values;            // addresses still 0
  std::vector<rockiln_planned_value> addresses;  // reserved: the value's place; source and place: which address
};

struct PlannedOutput {
  std::string name;
  std::vector<std::int64_t> shape;
  bool is_empty;
};

}  // namespace rockiln

struct rockiln_plan {
  rockiln_plan(const rockiln_op_call& call, const rockiln_answer& answer, const std::string& arch_name,
               std::uint64_t made_in);
  rockiln_plan(const rockiln_plan&) = delete;
  rockiln_plan& operator=(const rockiln_plan&) = delete;

  // Find the kernels in `pack` and check every value against them. Throws Failure.
  void add_launches(const rockiln_answer& answer, const rockiln_pack& pack);

  // Both throw Failure.
  void run(const rockiln_plan_run& run) const;
  void preload() const;

  const std::uint64_t generation;  // of the process, which a fork raises
  mutable std::atomic<std::uint64_t> hits{0};
  mutable std::atomic<std::uint32_t> holders{1};
  rockiln_plan_facts facts{};

 private:
  void add_outputs(const rockiln_answer& answer);
  void add_launch(const rockiln_planned_launch& launch, const rockiln_pack& pack);
  void check_addresses(const rockiln_plan_run& run) const;
  void load_kernels(void* stream) const;
  void launch(const rockiln::PlannedLaunch& planned, const rockiln_plan_run& run) const;

  std::string op_, arch_, kernel_, reason_, rejected_, call_;
  std::vector<bool> filled_inputs_;  // present, and not empty: an address is needed
  std::vector<rockiln::PlannedOutput> outputs_;
  std::vector<rockiln_output> output_facts_;
  std::vector<rockiln::PlannedLaunch> launches_;
};

namespace rockiln {

inline const rockiln_plan* hold_plan(const rockiln_plan* plan) {
  plan->holders.fetch_add(1, std::memory_order_relaxed);
  return plan;
}

inline void release_plan(const rockiln_plan* plan) {
  if (plan && plan->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan;
}

}  // namespace rockiln
