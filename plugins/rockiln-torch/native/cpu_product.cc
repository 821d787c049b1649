#include "cpu_product.h"

#include <algorithm>
#include <cstring>

#include "cpu_bf16.h"
#include "cpu_plan.h"
#include "outputs.h"
#include "threads.h"

namespace rockiln_torch {
namespace {

// Up to so many rows our kernels for bf16 are the faster ones, since oneDNN packs all of b first; with AMX and small
// matrices of any.
constexpr int64_t kOwnRows = 64, kTileRows = 128, kSmall = 1 << 23;
constexpr int64_t kGrain = 8192;  // activations that are worth a thread

// An epilogue: as oneDNN calls it, and our own kernel for f32.
struct Product {
  const char* op;
  const char* epilogue;
  const char* algorithm;
  int gate;  // CpuGate; kSwiglu; -1: none
};

constexpr int kSwiglu = kCpuGates;

constexpr Product kProducts[] = {
    {"gemm", "none", nullptr, -1},           {"gemm_gelu", "gelu", "none", kCpuGelu},
    {"gemm_gelu_tanh", "gelu", "tanh", kCpuGeluTanh}, {"gemm_silu", "swish", nullptr, kCpuSilu},
    {"gemm_swiglu", "none", nullptr, kSwiglu}, {"stream_k_gemm", "none", nullptr, -1},
};

const Product* find_product(const char* op) {
  for (const Product& product : kProducts)
    if (!std::strcmp(product.op, op)) return &product;
  return nullptr;
}

bool ask_torch(const char* op) {
  StackValue answer = 0;
  return torch.call_op(op, "", &answer) == 0 && (answer & 0xff) != 0;
}

// As torch itself asks before it multiplies halves by oneDNN; else it takes a path that is some fifty times slower.
bool has_fast_halves(uint32_t dtype) {
  static const bool has_bf16 = ask_torch("mkldnn::_is_mkldnn_bf16_supported");
  static const bool has_f16 = ask_torch("mkldnn::_is_mkldnn_fp16_supported");
  return dtype == ROCKILN_DTYPE_BF16 ? has_bf16 : has_f16;
}

void activate_all(float* numbers, int64_t count, int gate) {
  const auto activate = get_cpu_kernels().activations[gate];
  split_range(count, kGrain, [=](int64_t begin, int64_t end) { activate(numbers + begin, end - begin); });
}

int64_t count_outputs(const rockiln_op_call& call) {
  const rockiln_array &a = call.inputs[0], &b = call.inputs[1];
  int64_t count = b.shape[0];
  for (uint32_t dim = 0; dim + 1 < a.rank; ++dim) count *= a.shape[dim];
  return count;
}

bool is_stream_k(const char* op) { return std::strcmp(op, "stream_k_gemm") == 0; }

bool has_bias(const char* op, const rockiln_op_call& call) {
  return !is_stream_k(op) && call.inputs[2].dtype != ROCKILN_ABSENT;
}

constexpr CpuRefusal kRefused = {"oneDNN refused the product", false};

// A new tensor like a, but for its last dim → where its numbers go; nullptr if torch refuses.
void* add_result(const rockiln_array& a, int64_t width, const Arguments& like, Tensors& result) {
  int64_t shape[ROCKILN_RANK_LIMIT];
  std::copy_n(a.shape, a.rank, shape);
  shape[a.rank - 1] = width;
  void* numbers = nullptr;
  if (!result.add_empty(a.rank, shape, find_dtype(a.dtype), like) || torch.read_data(result[0], &numbers)) return nullptr;
  return numbers;
}

// silu(g) u of products [rows, N] with g and u in their last dim, into a new tensor: `low` - `x`, or x where that is null.
bool add_gated(const rockiln_op_call& call, const void* x, const void* low, const Arguments& like, Tensors& result) {
  const int64_t wide = call.inputs[1].shape[0];
  GateRows work = {};
  work.x = x, work.low = low, work.stride = wide, work.width = wide / 2, work.alpha = 1.0f;
  work.outputs[0] = add_result(call.inputs[0], work.width, like, result);
  if (work.outputs[0] == nullptr) return false;
  work.interleaved = call.scalars[0].as.integer != 0;
  const CpuKernel kernel = low == nullptr ? get_cpu_kernels().gates[kCpuSilu][kCpuF32] : get_cpu_kernels().sum_gate;
  split_range(count_outputs(call) / wide, (kGrain + wide - 1) / wide,
              [&](int64_t begin, int64_t end) { kernel(work, begin, end); });
  return true;
}

// Whether f32 is multiplied by torch's BLAS: as prefers_blas says, and rows that BLAS reads as they lie.
bool is_of_blas(const rockiln_op_call& call) {
  const rockiln_array &a = call.inputs[0], &b = call.inputs[1];
  if (a.dtype != ROCKILN_DTYPE_F32 || torch.multiply_plain == nullptr || torch.multiply_and_add == nullptr) return false;
  const int64_t m = count_outputs(call) / b.shape[0];
  if (torch.make_view == nullptr || !prefers_blas(m, b.shape[0], b.shape[1])) return false;
  return fold_rows(a, 1).misfit == nullptr && fold_rows(b, 1).misfit == nullptr;
}

bool add_view(const rockiln_array& array, const int64_t* sizes, const int64_t* strides, const Arguments& like,
              Tensors& views) {
  return torch.make_view(const_cast<void*>(array.data), 2, sizes, strides, 0, find_dtype(array.dtype),
                         like.device_type(), like.device_index(), views.take_place()) == 0;
}

bool run_blas(Arguments& arguments, Handle bias, Tensors& result, void** numbers) {
  const rockiln_op_call& call = arguments.call();
  const rockiln_array &a = call.inputs[0], &b = call.inputs[1];
  const FoldedRows rows = fold_rows(a, 1), columns = fold_rows(b, 1);
  const int64_t m = rows.rows, n = b.shape[0], k = b.shape[1];
  *numbers = add_result(a, n, arguments, result);
  if (*numbers == nullptr) return false;
  const int64_t a_sizes[] = {m, k}, a_strides[] = {m > 1 ? rows.stride : k, 1};
  const int64_t b_sizes[] = {k, n}, b_strides[] = {1, n > 1 ? columns.stride : k};
  const int64_t y_sizes[] = {m, n}, y_strides[] = {n, 1};
  Tensors views;
  rockiln_array y = a;
  y.data = *numbers;
  if (!add_view(a, a_sizes, a_strides, arguments, views)) return false;
  if (!add_view(b, b_sizes, b_strides, arguments, views)) return false;
  if (!add_view(y, y_sizes, y_strides, arguments, views)) return false;
  if (bias == nullptr) return torch.multiply_plain(views[2], views[0], views[1]) == 0;
  return torch.multiply_and_add(views[2], bias, views[0], views[1], 1.0, 1.0) == 0;
}

// a b^T + bias in the type of a, by BLAS or oneDNN. False if torch refuses.
bool run_plain(Arguments& arguments, Handle bias, const char* epilogue, const char* algorithm, Tensors& result,
               void** numbers) {
  if (is_of_blas(arguments.call())) return run_blas(arguments, bias, result, numbers);
  return torch.multiply(arguments.input(0), arguments.input(1), bias == nullptr ? nullptr : &bias, epilogue, nullptr, 0,
                        algorithm == nullptr ? nullptr : &algorithm, result.take_place()) == 0 &&
         torch.read_data(result[0], numbers) == 0;
}

// Whether our own kernel is the one for a call of bf16.
bool is_ours(const Product& product, const rockiln_op_call& call) {
  if (call.inputs[0].dtype != ROCKILN_DTYPE_BF16 || !has_bf16_product()) return false;
  const int64_t n = call.inputs[1].shape[0], k = call.inputs[1].shape[1], rows = count_outputs(call) / n;
  if (product.gate == kSwiglu || rows <= (has_tiles() ? kTileRows : kOwnRows)) return true;
  return has_tiles() && n * k < kSmall;
}

// By our own kernel, which rounds once. False if it has no memory.
bool run_bf16(const Product& product, Arguments& arguments, Tensors& result) {
  const rockiln_op_call& call = arguments.call();
  const rockiln_array &a = call.inputs[0], &b = call.inputs[1];
  const FoldedRows rows = fold_rows(a, 1), weights = fold_rows(b, 1);
  const bool is_swiglu = product.gate == kSwiglu;
  void* y = add_result(a, is_swiglu ? b.shape[0] / 2 : b.shape[0], arguments, result);
  if (y == nullptr) return false;
  const void* bias = has_bias(product.op, call) ? call.inputs[2].data : nullptr;
  return multiply_bf16({static_cast<const uint16_t*>(a.data), static_cast<const uint16_t*>(b.data),
                        static_cast<const uint16_t*>(bias), static_cast<uint16_t*>(y), rows.rows, b.shape[0], b.shape[1],
                        rows.stride, weights.stride, static_cast<CpuEpilogue>(product.gate + 1),
                        is_swiglu && call.scalars[0].as.integer != 0});
}

// In bf16, for CPUs without AVX512_BF16: g and u in f32's precision from two products, the first rounded, and what that
// leaves of the second, which oneDNN subtracts in f32 before it rounds. Twice a product's time; one in f32 takes longer.
CpuRefusal run_swiglu(Arguments& arguments, StackValue* stack) {
  const rockiln_op_call& call = arguments.call();
  const bool is_wide = call.inputs[0].dtype == ROCKILN_DTYPE_F32;
  Handle bias = has_bias("gemm_swiglu", call) ? arguments.input(2) : nullptr;
  Handle* own_bias = bias == nullptr ? nullptr : &bias;
  const Handle a = arguments.input(0), b = arguments.input(1);
  Tensors product, rest, result;
  void *x = nullptr, *low = nullptr;
  if (!run_plain(arguments, bias, "none", nullptr, product, &x)) return kRefused;
  if (!is_wide) {
    get_cpu_kernels().negate(static_cast<uint16_t*>(x), count_outputs(call));
    if (torch.multiply_and_combine(a, product[0], b, own_bias, "add", rest.take_place())) return kRefused;
    if (torch.read_data(rest[0], &low)) return kRefused;
  }
  if (!add_gated(call, x, low, arguments, result)) return kRefused;
  result.hand_over(stack);
  return {};
}

// oneDNN's gelu of infinity is NaN. Where it made NaN of a product of infinity, that is put there. False if torch refuses.
bool mend_infinities(Arguments& arguments, Handle bias, uint16_t* numbers, uint16_t infinity) {
  const int64_t count = count_outputs(arguments.call());
  if (!get_cpu_kernels().has_nan(numbers, count, infinity)) return true;
  Tensors plain;
  void* products = nullptr;
  if (!run_plain(arguments, bias, "none", nullptr, plain, &products)) return false;
  for (int64_t place = 0; place < count; ++place)
    if ((numbers[place] & 0x7fff) > infinity && static_cast<const uint16_t*>(products)[place] == infinity)
      numbers[place] = infinity;
  return true;
}

CpuRefusal run_pointwise(const Product& product, Arguments& arguments, StackValue* stack) {
  const rockiln_op_call& call = arguments.call();
  const bool is_wide = call.inputs[0].dtype == ROCKILN_DTYPE_F32;
  Handle bias = has_bias(product.op, call) ? arguments.input(2) : nullptr;
  const char* epilogue = is_wide ? "none" : product.epilogue;
  Tensors result;
  void* numbers = nullptr;
  if (!run_plain(arguments, bias, epilogue, is_wide ? nullptr : product.algorithm, result, &numbers)) return kRefused;
  if (is_wide && product.gate >= 0) activate_all(static_cast<float*>(numbers), count_outputs(call), product.gate);
  const uint16_t infinity = call.inputs[0].dtype == ROCKILN_DTYPE_BF16 ? 0x7f80 : 0x7c00;
  if (!is_wide && product.gate == kCpuGelu &&
      !mend_infinities(arguments, bias, static_cast<uint16_t*>(numbers), infinity))
    return kRefused;
  result.hand_over(stack);
  return {};
}

}  // namespace

bool prefers_blas(int64_t m, int64_t n, int64_t k) {
#if defined(__x86_64__)
  static const bool is_intel = __builtin_cpu_is("intel");
  constexpr int64_t kFew = 4, kMany = 256, kLarge = 1 << 21;
  return is_intel && (m <= kFew || m >= kMany || n * k < kLarge);
#else
  static_cast<void>(m), static_cast<void>(n), static_cast<void>(k);
  return false;
#endif
}

bool is_product(const char* op) { return find_product(op) != nullptr; }

const char* judge_product(const char* op, const rockiln_op_call& call) {
  constexpr const char* kMisfit = "oneDNN is given no such shapes or dtypes";
  const Product& product = *find_product(op);
  const rockiln_array &a = call.inputs[0], &b = call.inputs[1];
  if (is_stream_k(op) && call.scalars[0].as.integer < 1) return "programs is not positive";  // and is refused there
  if (torch.multiply == nullptr) return "this torch has no oneDNN";
  if (a.dtype != b.dtype || a.rank < 1 || b.rank != 2 || a.shape[a.rank - 1] != b.shape[1]) return kMisfit;
  for (const rockiln_array* array : {&a, &b})
    for (uint32_t dim = 0; dim < array->rank; ++dim)
      if (array->shape[dim] == 0) return "there is nothing to compute";
  if (a.dtype != ROCKILN_DTYPE_F32 && a.dtype != ROCKILN_DTYPE_F16 && a.dtype != ROCKILN_DTYPE_BF16) return kMisfit;
  if (a.dtype != ROCKILN_DTYPE_F32 && !has_fast_halves(a.dtype)) return "this CPU multiplies no halves";
  if (product.gate == kSwiglu) {
    if (b.shape[0] % 2) return kMisfit;
    if (a.dtype == ROCKILN_DTYPE_F16) return "halves of f16 products may be too large for it";
    if (torch.multiply_and_combine == nullptr) return "this torch has no oneDNN";
  }
  if (is_ours(product, call))
    for (const rockiln_array* array : {&a, &b})
      if (const FoldedRows rows = fold_rows(*array, 1); rows.misfit != nullptr) return rows.misfit;
  if (!has_bias(op, call)) return nullptr;
  const rockiln_array& bias = call.inputs[2];
  if (bias.dtype != a.dtype || bias.rank != 1 || bias.shape[0] != b.shape[0]) return kMisfit;
  return bias.shape[0] < 2 || bias.strides[0] == 1 ? nullptr : kCpuLayout;  // oneDNN reads it so, whatever its strides
}

CpuRefusal run_product(const char* op, bool is_out, Arguments& arguments, StackValue* stack) {
  const char* misfit = judge_product(op, arguments.call());
  if (misfit != nullptr) return {misfit, misfit == kCpuLayout};
  if (is_out) return {"the outputs cannot be written directly", true};
  const Product& product = *find_product(op);
  Tensors own;
  if (is_ours(product, arguments.call()) && run_bf16(product, arguments, own)) {
    own.hand_over(stack);
    return {};
  }
  return product.gate == kSwiglu ? run_swiglu(arguments, stack) : run_pointwise(product, arguments, stack);
}

}  // namespace rockiln_torch
