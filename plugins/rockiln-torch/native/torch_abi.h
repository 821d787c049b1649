// libtorch's stable C ABI, found at run time → TorchFunctions. So one library serves every torch from 2.7 on, and
// building it takes no torch. The prototypes are those of torch/csrc/inductor/aoti_torch/c/shim.h, which keeps them.
#pragma once

#include <cstdint>
#include <string>

namespace rockiln_torch {

using Handle = void*;          // AtenTensorHandle: owned by whom it is passed to, unless said otherwise
using LibraryHandle = void*;   // TorchLibraryHandle
using StackValue = uint64_t;   // StableIValue: a handle, an int, the bits of a double, a bool, or a pointer to one
using Boxed = void (*)(StackValue*, uint64_t, uint64_t);

struct TorchFunctions {
  int32_t (*define)(LibraryHandle, const char* schema);
  int32_t (*implement)(LibraryHandle, const char* name, Boxed kernel);
  int32_t (*open_definitions)(const char* space, const char* file, uint32_t line, LibraryHandle*);
  int32_t (*open_kernels)(const char* space, const char* key, const char* file, uint32_t line, LibraryHandle*);
  int32_t (*close_library)(LibraryHandle);
  int32_t (*delete_tensor)(Handle);
  int32_t (*read_data)(Handle, void**);
  int32_t (*read_rank)(Handle, int64_t*);
  int32_t (*read_sizes)(Handle, int64_t**);    // borrowed
  int32_t (*read_strides)(Handle, int64_t**);  // borrowed
  int32_t (*read_dtype)(Handle, int32_t*);
  int32_t (*read_device_type)(Handle, int32_t*);
  int32_t (*read_device_index)(Handle, int32_t*);
  int32_t (*make_empty)(int64_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
                        int32_t device_index, Handle*);
  int32_t (*read_stream)(int32_t device_index, void**);  // null in a torch without GPU support
  int32_t (*call_op)(const char* name, const char* overload, StackValue*);
  // shim_cpu.h of aoti_torch: oneDNN's linear layer with an epilogue; null in a torch without oneDNN. Borrows handles.
  int32_t (*multiply)(Handle a, Handle b, Handle* bias, const char* epilogue, const double** scalars, int64_t scalar_count,
                      const char** algorithm, Handle* result);
  int32_t (*multiply_and_combine)(Handle a, Handle other, Handle b, Handle* bias, const char* how, Handle* result);
  // a b, and a b + bias, by the BLAS that torch has; with tensors of memory that stays another's.
  int32_t (*multiply_plain)(Handle result, Handle a, Handle b);
  int32_t (*multiply_and_add)(Handle result, Handle bias, Handle a, Handle b, double bias_factor, double factor);
  int32_t (*make_view)(void* data, int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t offset,
                       int32_t dtype, int32_t device_type, int32_t device_index, Handle*);
  // torch/csrc/stable/c/shim.h: null before torch 2.10.
  int32_t (*split_range)(int64_t begin, int64_t end, int64_t grain, void (*work)(int64_t, int64_t, void*), void*);
  bool takes_symbols;  // whether a SymInt of a schema comes as an int; a torch before that refuses the call
};

// torch's functions; those of `read_torch` before anything else. Never null after it returned "".
extern TorchFunctions torch;

// Finds every function in the torch that this process has loaded. "" or one sentence about what is missing.
std::string read_torch();

// Adds the current stream's function, if a GPU library of torch is loaded by now.
void read_gpu_torch();

// torch's number of a dtype → rockiln_dtype, 0 if kernels know no such type; and back (-1).
uint32_t name_dtype(int32_t torch_dtype);
int32_t find_dtype(uint32_t rockiln_dtype);

extern int32_t cuda_device_type;  // HIP's, too: torch calls both "cuda"
extern int32_t cpu_device_type;

}  // namespace rockiln_torch
