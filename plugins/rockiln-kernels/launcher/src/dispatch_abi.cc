// The C ABI of rockiln_dispatch.h -> the dispatcher.
#include "dispatcher.h"
#include "guard.h"
#include "request.h"

using rockiln::Dispatcher;
using rockiln::guard;
using rockiln::require;

rockiln_status rockiln_find_op(const char* name, const rockiln_op** out) {
  return guard([&] {
    require(name && *name && out, "rockiln_find_op: a null pointer, or no name");
    *out = Dispatcher::get().find_op(name);
  });
}

const char* rockiln_op_name(const rockiln_op* op) { return op ? op->name.c_str() : ""; }

rockiln_status rockiln_find_plan(const rockiln_op_call* call, const rockiln_plan** out) {
  return guard([&] {
    require(call && out, "rockiln_find_plan: a null pointer");
    require(call->struct_bytes >= sizeof *call, "rockiln_find_plan: struct_bytes is too small for this ABI");
    *out = Dispatcher::get().find_plan(*call);
  });
}

void rockiln_release_plan(const rockiln_plan* plan) { rockiln::release_plan(plan); }

const rockiln_plan_facts* rockiln_describe_plan(const rockiln_plan* plan) { return plan ? &plan->facts : nullptr; }

rockiln_status rockiln_run_plan(const rockiln_plan* plan, const rockiln_plan_run* run) {
  return guard([&] {
    require(plan && run, "rockiln_run_plan: a null pointer");
    require(run->struct_bytes >= sizeof *run, "rockiln_run_plan: struct_bytes is too small for this ABI");
    Dispatcher::get().check_generation(*plan);
    plan->run(*run);
  });
}

rockiln_status rockiln_preload_plan(const rockiln_plan* plan) {
  return guard([&] {
    require(plan, "rockiln_preload_plan: the plan is null");
    Dispatcher::get().check_generation(*plan);
    plan->preload();
  });
}

rockiln_status rockiln_count_dispatches(rockiln_dispatch_counts* out) {
  return guard([&] {
    require(out, "rockiln_count_dispatches: out is null");
    *out = Dispatcher::get().cache().count();
  });
}

rockiln_status rockiln_list_plans(const rockiln_plan** out, uint32_t room, uint32_t* count) {
  return guard([&] {
    require((out || !room) && count, "rockiln_list_plans: a null pointer");
    *count = Dispatcher::get().cache().list(out, room);
  });
}

uint64_t rockiln_plan_hits(const rockiln_plan* plan) { return plan ? plan->hits.load(std::memory_order_relaxed) : 0; }

void rockiln_clear_plans(void) { Dispatcher::get().cache().clear(); }

void rockiln_observe_plans(rockiln_observer observer, void* user) { Dispatcher::get().observe(observer, user); }

void rockiln_read_request(const rockiln_request* request, rockiln_question* out) {
  *out = {rockiln_op_name(request->call.op), request->arch.c_str(), &request->call, request->alignments.data()};
}

rockiln_status rockiln_answer_request(rockiln_request* request, const rockiln_answer* answer) {
  const rockiln_status status = guard([&] {
    require(request && answer, "rockiln_answer_request: a null pointer");
    request->take(*answer);
  });
  if (status && request) rockiln_refuse_request(request, status, rockiln_last_error());
  return status;
}

void rockiln_refuse_request(rockiln_request* request, rockiln_status status, const char* message) {
  guard([&] {
    require(request && status, "rockiln_refuse_request: a refusal needs a status");
    request->message = message ? message : "";
    request->status = status;
    request->plan.reset();
  });
}

rockiln_status rockiln_install_planner(const rockiln_planner* planner) {
  return guard([&] { Dispatcher::get().install(planner); });
}

const rockiln_dispatch_api* rockiln_dispatch_functions(void) {
  static const rockiln_dispatch_api api = {
      sizeof(rockiln_dispatch_api), ROCKILN_DISPATCH_ABI_VERSION, rockiln_last_error,   rockiln_find_op,
      rockiln_find_plan,            rockiln_describe_plan,        rockiln_run_plan,     rockiln_preload_plan,
      rockiln_release_plan};
  return &api;
}
