#include "cpu_plan.h"

#include <cstring>

namespace rockiln_torch {

const char* const kCpuLayout = "the CPU's kernels take rows that are contiguous";

namespace {

using Planner = const char* (*)(const rockiln_op_call& call, int kind, CpuPlan& plan);

constexpr const char* kMisfit = "the CPU's kernels take no such shapes or dtypes";
constexpr const char* kEmpty = "there is nothing to compute";

const char* check_vector(const rockiln_array& array, uint32_t dtype, int64_t size) {
  if (array.dtype != dtype || array.rank != 1 || array.shape[0] != size) return kMisfit;
  return size < 2 || array.strides[0] == 1 ? nullptr : kCpuLayout;
}

bool have_one_shape(const rockiln_array& one, const rockiln_array& other) {
  if (one.dtype != other.dtype || one.rank != other.rank) return false;
  return std::memcmp(one.shape, other.shape, one.rank * sizeof *one.shape) == 0;
}

bool find_number(uint32_t dtype, CpuNumber* number) {
  if (dtype != ROCKILN_DTYPE_F32 && dtype != ROCKILN_DTYPE_F16 && dtype != ROCKILN_DTYPE_BF16) return false;
  *number = dtype == ROCKILN_DTYPE_F32 ? kCpuF32 : dtype == ROCKILN_DTYPE_F16 ? kCpuF16 : kCpuBf16;
  return true;
}

// An output of the leading dims of `like`, whose last `dropped` dims give way to `width` where it is not 0.
void add_output(CpuPlan& plan, const rockiln_array& like, uint32_t dropped, int64_t width, uint32_t dtype) {
  int64_t* shape = plan.shapes[plan.output_count];
  uint32_t rank = like.rank - dropped;
  std::memcpy(shape, like.shape, rank * sizeof *shape);
  if (width != 0) shape[rank++] = width;
  plan.outputs[plan.output_count++] = {"", shape, rank, dtype};
}

int64_t last(const rockiln_array& array) { return array.shape[array.rank - 1]; }

const char* plan_gate(const rockiln_op_call& call, int gate, CpuPlan& plan) {
  const rockiln_array& x = call.inputs[0];
  const FoldedRows folded = fold_rows(x, 1);
  if (folded.misfit != nullptr) return folded.misfit;
  if (!find_number(x.dtype, &plan.number) || last(x) % 2) return kMisfit;
  GateRows work = {};
  work.x = x.data, work.stride = folded.stride, work.width = last(x) / 2;
  work.limit = call.scalars[0].as.number;
  const bool is_whole = call.scalar_count == 4;  // swiglu_and_mul: limit, alpha, up_offset, interleaved; else two
  work.alpha = is_whole ? call.scalars[1].as.number : 1.0f;
  work.up_offset = is_whole ? call.scalars[2].as.number : 0.0f;
  work.interleaved = call.scalars[is_whole ? 3 : 1].as.integer != 0;
  plan.rows = folded.rows, plan.row_cost = work.width;
  plan.kernel = get_cpu_kernels().gates[gate][plan.number];
  add_output(plan, x, 1, work.width, x.dtype);
  plan.work = work;
  return nullptr;
}

const char* plan_norm(const rockiln_op_call& call, int has_residual, CpuPlan& plan) {
  const rockiln_array &x = call.inputs[0], &weight = call.inputs[has_residual ? 2 : 1];
  const FoldedRows folded = fold_rows(x, 1), other = has_residual ? fold_rows(call.inputs[1], 1) : FoldedRows{};
  if (folded.misfit != nullptr || other.misfit != nullptr) return folded.misfit ? folded.misfit : other.misfit;
  if (!find_number(x.dtype, &plan.number)) return kMisfit;
  if (has_residual && !have_one_shape(x, call.inputs[1])) return kMisfit;
  if (const char* misfit = check_vector(weight, x.dtype, last(x))) return misfit;
  NormRows work = {};
  work.x = x.data, work.weight = weight.data, work.stride = folded.stride, work.width = last(x);
  work.residual = has_residual ? call.inputs[1].data : nullptr;
  work.residual_stride = other.stride;
  work.eps = call.scalars[0].as.number, work.weight_offset = call.scalars[1].as.number;
  plan.rows = folded.rows, plan.row_cost = work.width;
  plan.kernel = get_cpu_kernels().norms[plan.number];
  for (int count = 0; count < 1 + has_residual; ++count) add_output(plan, x, 0, 0, x.dtype);
  plan.work = work;
  return nullptr;
}

const char* plan_rope(const rockiln_op_call& call, int, CpuPlan& plan) {
  const rockiln_array &x = call.inputs[0], &cos = call.inputs[1], &sin = call.inputs[2], &positions = call.inputs[3];
  const FoldedRows folded = fold_rows(x, 2), tables[2] = {fold_rows(cos, 2), fold_rows(sin, 2)};
  for (const FoldedRows* one : {&folded, &tables[0], &tables[1]})
    if (one->misfit != nullptr) return one->misfit;
  if (!find_number(x.dtype, &plan.number) || cos.dtype != ROCKILN_DTYPE_F32 || cos.rank != 2) return kMisfit;
  if (!have_one_shape(cos, sin) || 2 * last(cos) > last(x)) return kMisfit;
  if (const char* misfit = check_vector(positions, ROCKILN_DTYPE_I32, folded.rows)) return misfit;
  RopeRows work = {};
  work.x = x.data, work.stride = folded.stride, work.heads = x.shape[x.rank - 2], work.width = last(x);
  work.cos = static_cast<const float*>(cos.data), work.sin = static_cast<const float*>(sin.data);
  work.positions = static_cast<const int32_t*>(positions.data), work.pairs = last(cos);
  work.interleaved = call.scalars[0].as.integer != 0;
  plan.rows = folded.rows, plan.row_cost = work.heads * work.width;
  plan.kernel = get_cpu_kernels().ropes[plan.number];
  add_output(plan, x, 0, 0, x.dtype);
  plan.work = work;
  return nullptr;
}

enum Scales { kOfRows, kOfGroups, kOfAll, kGiven };

const char* plan_quant(const rockiln_op_call& call, int scales, CpuPlan& plan) {
  const rockiln_array& x = call.inputs[0];
  const FoldedRows folded = fold_rows(x, 1);
  if (folded.misfit != nullptr) return folded.misfit;
  const uint32_t code = call.dtypes[0];
  if (!find_number(x.dtype, &plan.number) || code < ROCKILN_DTYPE_E4M3 || code > ROCKILN_DTYPE_E5M2FNUZ) return kMisfit;
  if (scales == kGiven && check_vector(call.inputs[1], ROCKILN_DTYPE_F32, 1)) return kMisfit;
  QuantRows work = {};
  work.x = x.data, work.stride = folded.stride, work.width = last(x);
  work.group = scales == kOfGroups ? 128 : work.width;
  work.scale = scales == kGiven ? static_cast<const float*>(call.inputs[1].data) : nullptr;
  plan.code = static_cast<CpuCode>(code - ROCKILN_DTYPE_E4M3);
  plan.has_one_scale = scales == kOfAll;
  plan.rows = folded.rows, plan.row_cost = work.width;
  plan.kernel = get_cpu_kernels().quants[plan.number][plan.code];
  add_output(plan, x, 0, 0, code);
  if (scales == kOfGroups) add_output(plan, x, 1, (work.width + 127) / 128, ROCKILN_DTYPE_F32);
  if (scales == kOfRows || scales == kOfAll) {
    plan.shapes[1][0] = scales == kOfAll ? 1 : folded.rows;
    plan.outputs[plan.output_count++] = {"", plan.shapes[1], 1, ROCKILN_DTYPE_F32};
  }
  plan.work = work;
  return nullptr;
}

const char* plan_choice(const rockiln_op_call& call, int is_sigmoid, CpuPlan& plan) {
  const rockiln_array& logits = call.inputs[0];
  const FoldedRows folded = fold_rows(logits, 1);
  if (folded.misfit != nullptr) return folded.misfit;
  ChoiceRows work = {};
  const rockiln_scalar* scalars = call.scalars;
  work.logits = logits.data, work.stride = folded.stride, work.experts = last(logits);
  work.top = scalars[0].as.integer, work.renormalise = scalars[1].as.integer != 0, work.scaling = scalars[2].as.number;
  work.groups = is_sigmoid ? scalars[3].as.integer : 1, work.keep = is_sigmoid ? scalars[4].as.integer : 1;
  const bool has_bias = is_sigmoid && call.inputs[1].dtype != ROCKILN_ABSENT;
  const char* misfit = has_bias ? check_vector(call.inputs[1], ROCKILN_DTYPE_F32, work.experts) : nullptr;
  if (misfit != nullptr) return misfit;
  if (!find_number(logits.dtype, &plan.number) || work.experts > kCpuExperts) return kMisfit;
  if (work.groups < 1 || work.groups > kCpuGroups || work.experts % work.groups) return kMisfit;
  if (work.keep < 1 || work.keep > work.groups || work.top < 1 || work.top > kCpuChoices) return kMisfit;
  if (work.top > work.experts / work.groups * work.keep) return kMisfit;
  work.bias = has_bias ? static_cast<const float*>(call.inputs[1].data) : nullptr;
  plan.rows = folded.rows, plan.row_cost = work.experts * (work.top + 2);
  const CpuKernels& kernels = get_cpu_kernels();
  plan.kernel = (is_sigmoid ? kernels.sigmoid_choices : kernels.softmax_choices)[plan.number];
  add_output(plan, logits, 1, work.top, ROCKILN_DTYPE_F32);
  add_output(plan, logits, 1, work.top, ROCKILN_DTYPE_I32);
  plan.work = work;
  return nullptr;
}

struct CpuOp {
  const char* name;
  Planner plan;
  int kind;
};

constexpr CpuOp kCpuOps[] = {
    {"add_rms_norm", plan_norm, 1},        {"gelu_and_mul", plan_gate, kCpuGelu},
    {"gelu_tanh_and_mul", plan_gate, kCpuGeluTanh}, {"quant_fp8_group", plan_quant, kOfGroups},
    {"quant_fp8_static", plan_quant, kGiven}, {"quant_fp8_tensor", plan_quant, kOfAll},
    {"quant_fp8_token", plan_quant, kOfRows}, {"rms_norm", plan_norm, 0},
    {"rope", plan_rope, 0},                {"silu_and_mul", plan_gate, kCpuSilu},
    {"swiglu_and_mul", plan_gate, kCpuSilu}, {"topk_sigmoid", plan_choice, 1},
    {"topk_softmax", plan_choice, 0},
};

const CpuOp* find_op(const char* name) {
  for (const CpuOp& op : kCpuOps)
    if (!std::strcmp(op.name, name)) return &op;
  return nullptr;
}

}  // namespace

FoldedRows fold_rows(const rockiln_array& array, uint32_t own) {
  FoldedRows result;
  if (array.dtype == ROCKILN_ABSENT || array.rank < own) return {1, 0, kMisfit};
  for (uint32_t dim = 0; dim < array.rank; ++dim)  // first: strides of what is empty mean nothing, copied or not
    if (array.shape[dim] == 0) return {0, 0, kEmpty};
  int64_t step = 1;
  for (uint32_t dim = array.rank; dim-- > 0;) {
    if (dim + own >= array.rank) {
      if (array.shape[dim] > 1 && array.strides[dim] != step) return {1, 0, kCpuLayout};
    } else if (array.shape[dim] > 1) {
      if (result.rows == 1) result.stride = array.strides[dim];
      else if (array.strides[dim] != result.stride * result.rows) return {1, 0, kCpuLayout};
      result.rows *= array.shape[dim];
    }
    if (dim + own >= array.rank) step *= array.shape[dim];
  }
  return result;
}

bool has_cpu_kernel(const char* op) { return find_op(op) != nullptr; }

const char* plan_on_cpu(const char* op, const rockiln_op_call& call, CpuPlan& plan) {
  const CpuOp* found = find_op(op);
  return found == nullptr ? "there is no kernel for CPUs" : found->plan(call, found->kind, plan);
}

const char* find_data_misfit(const CpuPlan& plan, const rockiln_op_call& call) {
  const auto* rope = std::get_if<RopeRows>(&plan.work);
  if (rope == nullptr) return nullptr;
  for (int64_t row = 0; row < plan.rows; ++row)
    if (rope->positions[row] < 0 || rope->positions[row] >= call.inputs[1].shape[0])
      return "a position is outside the tables of cos and sin";
  return nullptr;
}

}  // namespace rockiln_torch
