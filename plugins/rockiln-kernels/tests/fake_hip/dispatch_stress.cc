// A pack's folder, a kernel's key and a fake HIP -> 0 if every dispatch answered as it should, from many threads at once,
// while others list, clear, observe and install anew; and then in a fork's child. Built with sanitizers, as stress.cc is.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../launcher/rockiln_dispatch.h"

namespace {

constexpr int kThreads = 6, kRounds = 300;
std::atomic<int> failures{0};
std::atomic<std::uint64_t> observed{0};

struct Pack {
  const char *folder, *key, *kinds, *driver;
};

void expect(rockiln_status got, rockiln_status wanted, const char* what) {
  if (got == wanted) return;
  std::fprintf(stderr, "%s: %d, not %d: %s\n", what, got, wanted, rockiln_last_error());
  ++failures;
}

// Pointers are input 0, output 0, the workspace, in turn; numbers are ones that everything divides.
void make_plan(void* user, rockiln_request* request) {
  const Pack& pack = *static_cast<const Pack*>(user);
  rockiln_question question{};
  rockiln_read_request(request, &question);
  if (question.call->inputs[0].shape[0] == 13) return rockiln_refuse_request(request, ROCKILN_CALL_VALUE, "unlucky");
  std::vector<rockiln_planned_value> values;
  for (const char* kind = pack.kinds; *kind; ++kind) {
    rockiln_planned_value value{};
    value.value.kind = static_cast<uint32_t>(*kind - '0');
    if (value.value.kind == ROCKILN_POINTER)
      value.source = 1 + static_cast<uint32_t>(values.size() % 3);
    else if (value.value.kind == ROCKILN_F32)
      value.value.as.number = 1.0f;
    else
      value.value.as.integer = 4096;
    values.push_back(value);
  }
  const rockiln_planned_launch launch{pack.key, values.data(), static_cast<uint32_t>(values.size()), {1, 1, 1}};
  const rockiln_output output{"y", question.call->inputs[0].shape, 2, ROCKILN_DTYPE_BF16};
  rockiln_answer answer{};
  answer.struct_bytes = sizeof answer;
  answer.provider = ROCKILN_BY_PACK;
  answer.reason = "stress";
  answer.pack = pack.folder;
  answer.outputs = &output;
  answer.output_count = 1;
  answer.launches = &launch;
  answer.launch_count = 1;
  answer.workspace_bytes = 256;
  expect(rockiln_answer_request(request, &answer), ROCKILN_OK, "answer");
}

void call_once(const rockiln_op* op, std::int64_t rows, int device) {
  const std::int64_t shape[] = {rows, 1024};
  const rockiln_array input{reinterpret_cast<void*>(4096), shape, nullptr, 2, ROCKILN_DTYPE_BF16};
  rockiln_op_call call{};
  call.struct_bytes = sizeof call;
  call.device = device;
  call.op = op;
  call.inputs = &input;
  call.input_count = 1;
  const rockiln_plan* plan = nullptr;
  const rockiln_status status = rockiln_find_plan(&call, &plan);
  if (rows == 13) return expect(status, ROCKILN_CALL_VALUE, "the unlucky call");
  expect(status, ROCKILN_OK, "find");
  if (status) return;
  const void* in[] = {input.data};
  void* out[] = {reinterpret_cast<void*>(8192)};
  rockiln_plan_run run{};
  run.struct_bytes = sizeof run;
  run.input_count = run.output_count = 1;
  run.inputs = in;
  run.outputs = out;
  expect(rockiln_run_plan(plan, &run), ROCKILN_BAD_ARGUMENT, "a run without a workspace");
  run.workspace = reinterpret_cast<void*>(16384);
  expect(rockiln_run_plan(plan, &run), ROCKILN_OK, "run");
  if (rockiln_describe_plan(plan)->outputs[0].shape[0] != rows) ++failures;
  rockiln_release_plan(plan);
}

void call_often(const rockiln_op* op, int number) {
  for (int round = 0; round < kRounds; ++round) call_once(op, 1 + (round * 7 + number) % 40, number % 2);
}

void disturb(const rockiln_planner* planner) {
  const rockiln_plan* plans[16];
  for (int round = 0; round < kRounds / 4; ++round) {
    std::uint32_t count = 0;
    expect(rockiln_list_plans(plans, 16, &count), ROCKILN_OK, "list");
    for (std::uint32_t place = 0; place < count && place < 16; ++place) rockiln_release_plan(plans[place]);
    if (round % 8 == 0) rockiln_clear_plans();
    if (round % 16 == 0) expect(rockiln_install_planner(planner), ROCKILN_OK, "install");
    rockiln_observe_plans(round % 2 ? nullptr : +[](void*, const rockiln_plan*) { ++observed; }, nullptr);
  }
}

void refuse_bad_calls(const rockiln_op* op) {
  const rockiln_plan* plan = nullptr;
  rockiln_op_call call{};
  expect(rockiln_find_plan(nullptr, &plan), ROCKILN_BAD_ARGUMENT, "no call");
  expect(rockiln_find_plan(&call, &plan), ROCKILN_BAD_ARGUMENT, "no size");
  call.struct_bytes = sizeof call;
  expect(rockiln_find_plan(&call, &plan), ROCKILN_BAD_ARGUMENT, "no op");
  call.op = op;
  call.input_count = 1;
  expect(rockiln_find_plan(&call, &plan), ROCKILN_BAD_ARGUMENT, "no inputs");
  const rockiln_array deep{nullptr, nullptr, nullptr, 17, ROCKILN_DTYPE_BF16};
  call.inputs = &deep;
  expect(rockiln_find_plan(&call, &plan), ROCKILN_BAD_ARGUMENT, "17 dims");
  call.input_count = 33;
  expect(rockiln_find_plan(&call, &plan), ROCKILN_BAD_ARGUMENT, "33 inputs");
  expect(rockiln_run_plan(nullptr, nullptr), ROCKILN_BAD_ARGUMENT, "run nothing");
  expect(rockiln_find_op("", &op), ROCKILN_BAD_ARGUMENT, "no name");
  rockiln_release_plan(nullptr);
}

bool is_right_in_child(const rockiln_op* op) {
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    call_often(op, 1);
    _exit(failures ? 1 : 0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  Pack pack{words[2], words[3], words[4], words[1]};
  void* library = dlopen(pack.driver, RTLD_NOW);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  reinterpret_cast<void (*)(const char*, int, void*)>(dlsym(library, "fake_hip_reset"))("gfx942", 2, nullptr);
  const rockiln_op* op = nullptr;
  expect(rockiln_find_op("stress", &op), ROCKILN_OK, "op");
  refuse_bad_calls(op);
  rockiln_planner planner{};
  planner.struct_bytes = sizeof planner;
  planner.library = pack.driver;
  planner.make_plan = make_plan;
  planner.user = &pack;
  planner.capacity = 16;
  expect(rockiln_install_planner(&planner), ROCKILN_OK, "install");
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(call_often, op, number);
  threads.emplace_back(disturb, &planner);
  for (std::thread& thread : threads) thread.join();
  if (!is_right_in_child(op)) ++failures;
  rockiln_install_planner(nullptr);
  return failures || !observed ? 1 : 0;
}
