#include "torch_abi.h"

#include <dlfcn.h>

#include "rockiln_dispatch.h"
#include "threads.h"

namespace rockiln_torch {
namespace {

constexpr int kDtypes = 64;
constexpr uint64_t kSymbolsFrom = (2ull << 56) | (13ull << 48);  // torch 2.13, as aoti_torch_abi_version writes it: the
                                                                 // oldest that this was seen to work with
uint8_t names[kDtypes];
int32_t numbers[ROCKILN_DTYPE_I64 + 1];

template <typename Function>
bool find(void* library, const char* name, Function& place, std::string& missing) {
  place = reinterpret_cast<Function>(dlsym(library, name));
  if (place == nullptr && missing.empty()) missing = name;
  return place != nullptr;
}

void find_dtypes(void* library, std::string& missing) {
  static constexpr struct { uint32_t name; const char* function; } kNames[] = {
      {ROCKILN_DTYPE_F32, "aoti_torch_dtype_float32"},         {ROCKILN_DTYPE_F16, "aoti_torch_dtype_float16"},
      {ROCKILN_DTYPE_BF16, "aoti_torch_dtype_bfloat16"},       {ROCKILN_DTYPE_E4M3, "aoti_torch_dtype_float8_e4m3fn"},
      {ROCKILN_DTYPE_E5M2, "aoti_torch_dtype_float8_e5m2"},    {ROCKILN_DTYPE_E4M3FNUZ, "aoti_torch_dtype_float8_e4m3fnuz"},
      {ROCKILN_DTYPE_E5M2FNUZ, "aoti_torch_dtype_float8_e5m2fnuz"}, {ROCKILN_DTYPE_U8, "aoti_torch_dtype_uint8"},
      {ROCKILN_DTYPE_I32, "aoti_torch_dtype_int32"},           {ROCKILN_DTYPE_I64, "aoti_torch_dtype_int64"},
  };
  for (const auto& entry : kNames) {
    int32_t (*read)() = nullptr;
    if (!find(library, entry.function, read, missing)) continue;
    const int32_t number = read();
    if (number < 0 || number >= kDtypes) continue;
    names[number] = static_cast<uint8_t>(entry.name);
    numbers[entry.name] = number;
  }
}

void find_all(void* library, std::string& missing) {
  find(library, "aoti_torch_library_def", torch.define, missing);
  find(library, "aoti_torch_library_impl", torch.implement, missing);
  find(library, "aoti_torch_library_init_def", torch.open_definitions, missing);
  find(library, "aoti_torch_library_init_impl", torch.open_kernels, missing);
  find(library, "aoti_torch_delete_library_object", torch.close_library, missing);
  find(library, "aoti_torch_delete_tensor_object", torch.delete_tensor, missing);
  find(library, "aoti_torch_get_data_ptr", torch.read_data, missing);
  find(library, "aoti_torch_get_dim", torch.read_rank, missing);
  find(library, "aoti_torch_get_sizes", torch.read_sizes, missing);
  find(library, "aoti_torch_get_strides", torch.read_strides, missing);
  find(library, "aoti_torch_get_dtype", torch.read_dtype, missing);
  find(library, "aoti_torch_get_device_type", torch.read_device_type, missing);
  find(library, "aoti_torch_get_device_index", torch.read_device_index, missing);
  find(library, "aoti_torch_empty_strided", torch.make_empty, missing);
  find(library, "aoti_torch_call_dispatcher", torch.call_op, missing);
}

}  // namespace

TorchFunctions torch;
int32_t cuda_device_type = -1;
int32_t cpu_device_type = -1;

std::string read_torch() {
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "torch is not loaded in this process: import torch first";
  std::string missing;
  find_all(library, missing);
  find_dtypes(library, missing);
  int32_t (*read_cuda)() = nullptr, (*read_cpu)() = nullptr;
  if (find(library, "aoti_torch_device_type_cuda", read_cuda, missing)) cuda_device_type = read_cuda();
  if (find(library, "aoti_torch_device_type_cpu", read_cpu, missing)) cpu_device_type = read_cpu();
  std::string absent;
  find(library, "torch_parallel_for", torch.split_range, absent);
  find(library, "aoti_torch_cpu__linear_pointwise", torch.multiply, absent);
  find(library, "aoti_torch_cpu__linear_pointwise_binary", torch.multiply_and_combine, absent);
  find(library, "aoti_torch_cpu_mm_out", torch.multiply_plain, absent);
  find(library, "aoti_torch_cpu_addmm_out", torch.multiply_and_add, absent);
  find(library, "aoti_torch_create_tensor_from_blob", torch.make_view, absent);
  uint64_t (*read_version)() = nullptr;
  torch.takes_symbols = find(library, "aoti_torch_abi_version", read_version, absent) && read_version() >= kSymbolsFrom;
  find_openmp(library);
  return missing.empty() ? "" : "this torch has no " + missing + ": rockiln-torch needs torch 2.7 or newer";
}

void read_gpu_torch() {
  if (torch.read_stream != nullptr) return;
  for (const char* name : {"libtorch_hip.so", "libtorch_cuda.so"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    std::string missing;
    if (find(library, "aoti_torch_get_current_cuda_stream", torch.read_stream, missing)) return;
  }
}

uint32_t name_dtype(int32_t torch_dtype) { return torch_dtype >= 0 && torch_dtype < kDtypes ? names[torch_dtype] : 0; }

int32_t find_dtype(uint32_t rockiln_dtype) {
  return rockiln_dtype <= ROCKILN_DTYPE_I64 && rockiln_dtype != 0 ? numbers[rockiln_dtype] : -1;
}

}  // namespace rockiln_torch
