#include "library.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "call.h"
#include "cpu_attention.h"
#include "cpu_bf16.h"
#include "cpu_call.h"
#include "cpu_plan.h"
#include "cpu_product.h"
#include "table.h"
#include "torch_abi.h"

namespace rockiln_torch {
namespace {

template <uint32_t Row, bool IsOut>
void serve(StackValue* stack, uint64_t, uint64_t) {
  serve_call(Row, IsOut, stack);
}

using Kernels = std::array<Boxed, kOpLimit>;

template <bool IsOut, uint32_t... Rows>
constexpr Kernels list_kernels(std::integer_sequence<uint32_t, Rows...>) {
  return {&serve<Rows, IsOut>...};
}

constexpr auto kRows = std::make_integer_sequence<uint32_t, kOpLimit>();
constexpr Kernels kFunctional = list_kernels<false>(kRows);
constexpr Kernels kOut = list_kernels<true>(kRows);

std::mutex lock;
std::map<std::string, LibraryHandle> libraries;  // by key; "" is the definitions
thread_local std::string failure;

const char* keep(std::string text) {
  failure = std::move(text);
  return failure.empty() ? nullptr : failure.c_str();
}

// Lengths of sequences as symbols: else torch.compile compiles anew for each length.
std::string write_schema(std::string schema) {
  const std::string length = " int max_seqlen_";
  for (size_t at = 0; torch.takes_symbols && (at = schema.find(length, at)) != std::string::npos;)
    schema.replace(at, 5, " SymInt ");
  return schema;
}

std::string define_ops(LibraryHandle library) {
  for (uint32_t row = 0; row < kOpCount; ++row) {
    const std::string name = kOps[row].name;
    if (torch.define(library, (name + write_schema(kOps[row].schema)).c_str())) return "torch refused the schema of " + name;
    if (torch.define(library, (name + "_out" + write_schema(kOps[row].out_schema)).c_str()))
      return "torch refused the schema of " + name + "_out";
  }
  return "";
}

// Dispatch keys by the words of library.h, and whether an op is served for one.
const char* name_key(const std::string& served) { return served == "host" ? "CPU" : served.c_str(); }

bool is_served(const std::string& served, const char* op) {
  return served == "CUDA" || (has_cpu_kernel(op) || is_product(op)) == (served == "CPU");
}

std::string serve_ops(LibraryHandle library, const std::string& served) {
  for (uint32_t row = 0; row < kOpCount; ++row) {
    const std::string name = kOps[row].name;
    if (!is_served(served, kOps[row].name)) continue;
    if (torch.implement(library, name.c_str(), kFunctional[row])) return "torch refused the kernel of " + name;
    if (torch.implement(library, (name + "_out").c_str(), kOut[row])) return "torch refused the kernel of " + name + "_out";
  }
  return "";
}

}  // namespace
}  // namespace rockiln_torch

using namespace rockiln_torch;

const char* rockiln_torch_define(rockiln_torch_compose compose, rockiln_torch_find_dispatch find) {
  const std::lock_guard<std::mutex> guard(lock);
  if (libraries.count("")) return keep("the ops are defined already");
  if (kOpCount > kOpLimit) return keep("table.h: kOpLimit is below the number of ops");
  if (std::string missing = read_torch(); !missing.empty()) return keep(missing);
  set_callbacks(compose, find);
  LibraryHandle library = nullptr;
  if (torch.open_definitions("rockiln", "rockiln_torch", 1, &library)) return keep("torch has another library 'rockiln'");
  std::string refused = define_ops(library);
  if (refused.empty()) libraries[""] = library;
  else torch.close_library(library);
  return keep(std::move(refused));
}

const char* rockiln_torch_serve(const char* key) {
  const std::lock_guard<std::mutex> guard(lock);
  if (!libraries.count("")) return keep("the ops are not defined yet");
  if (libraries.count(key)) return keep(std::string("the kernels of ") + key + " are registered already");
  LibraryHandle library = nullptr;
  if (torch.open_kernels("rockiln", name_key(key), "rockiln_torch", 1, &library))
    return keep(std::string("torch has no key ") + key);
  std::string refused = serve_ops(library, key);
  if (refused.empty()) libraries[key] = library;
  else torch.close_library(library);
  if (refused.empty() && std::string(key) == "host") accept_host(true);
  return keep(std::move(refused));
}

void rockiln_torch_withdraw(const char* key) {
  const std::lock_guard<std::mutex> guard(lock);
  const auto found = libraries.find(key);
  if (found == libraries.end()) return;
  torch.close_library(found->second);
  libraries.erase(found);
  if (std::string(key) == "host") accept_host(false);
}

void rockiln_torch_forget_dispatch(void) { forget_dispatch(); }

void rockiln_torch_trace(int32_t (*push)(const char*), int32_t (*pop)(void)) { trace_calls(push, pop); }

const char* rockiln_torch_judge_cpu(uint32_t op, const rockiln_op_call* call) {
  if (op >= kOpCount) return "there is no such op";
  CpuPlan plan;
  const char* name = kOps[op].name;
  const char* misfit = is_product(name) ? judge_product(name, *call) : plan_on_cpu(name, *call, plan);
  return misfit == kCpuLayout ? nullptr : misfit;
}

uint32_t rockiln_torch_is_finite(const void* numbers, int64_t count, uint32_t dtype) {
  const CpuKernels& kernels = get_cpu_kernels();
  if (dtype == ROCKILN_DTYPE_F32) return kernels.is_finite(static_cast<const float*>(numbers), count) ? 1 : 0;
  const uint16_t largest = dtype == ROCKILN_DTYPE_BF16 ? 0x7f7f : 0x7bff;
  return kernels.has_nan(static_cast<const uint16_t*>(numbers), count, largest) ? 0 : 1;
}

uint32_t rockiln_torch_prefers_blas(int64_t m, int64_t n, int64_t k) { return prefers_blas(m, n, k) ? 1 : 0; }

uint32_t rockiln_torch_attend(const rockiln_torch_attention* attention) {
  return has_tiles() && attend_bf16(*attention) ? 1 : 0;
}

uint32_t rockiln_torch_has_attention(void) { return has_tiles() ? 1 : 0; }

void rockiln_torch_observe_cpu(void (*observer)(uint32_t, const rockiln_op_call*)) { observe_cpu(observer); }

const char* rockiln_torch_cpu_level(const char* level) {
  if (level != nullptr && !choose_cpu_level(level)) return nullptr;
  return get_cpu_kernels().level;
}

uint32_t rockiln_torch_count_ops(void) { return kOpCount; }

const char* rockiln_torch_op_name(uint32_t op) { return op < kOpCount ? kOps[op].name : ""; }

uint32_t rockiln_torch_name_dtype(int32_t dtype) { return name_dtype(dtype); }
