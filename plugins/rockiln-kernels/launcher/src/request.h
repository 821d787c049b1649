// What the planner is asked -> rockiln_request, which takes its answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../rockiln_dispatch.h"
#include "plan.h"

struct rockiln_request {
  rockiln_request(const rockiln_op_call& asked, rockiln_runtime& opened, const std::string& arch_name,
                  std::uint64_t made_in);

  // Throws Failure where the answer is none.
  void take(const rockiln_answer& answer);

  rockiln_op_call call;  // its inputs are those below
  rockiln_runtime& runtime;
  std::string arch;
  std::uint64_t generation;
  std::vector<rockiln_array> inputs;
  std::vector<std::uint32_t> alignments;
  std::unique_ptr<rockiln_plan> plan;
  rockiln_status status = ROCKILN_PLANNER;
  std::string message = "the planner gave no answer";

 private:
  std::vector<std::vector<std::int64_t>> strides_;
};
