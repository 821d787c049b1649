/* librockiln_torch: the ops of rockiln_kernels → torch.ops.rockiln.*. What rockiln_torch.native calls by ctypes.
 *
 * The library links neither torch nor librockiln: both are found at run time. Functions that return text return NULL if
 * all went well, else one sentence that lives until the thread's next call. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define ROCKILN_TORCH_API __attribute__((visibility("default")))

/* Why a call is handed to Python. */
typedef enum rockiln_torch_cause {
  ROCKILN_TORCH_PLANNED = 0,  /* the plan says that the framework (or AITER) runs it */
  ROCKILN_TORCH_UNPLANNED = 1, /* no plan: no dispatcher, no GPU, other dtypes or devices, a call that does not fit, or
                                  one on a CPU that no kernel there takes */
  ROCKILN_TORCH_CAPTURING = 2, /* its kernels are not loaded, and a graph is being captured */
  ROCKILN_TORCH_OUTPUTS = 3,   /* an out-variant whose outputs the kernels cannot write directly */
  ROCKILN_TORCH_LAYOUT = 4     /* a kernel for CPUs runs it as soon as inputs and outputs are contiguous, and apart */
} rockiln_torch_cause;

/* One call in Python. `values`: the arguments in the schema's order: a tensor's handle, which the callee owns, or 0;
 * the bits of a double, an int, a bool, torch's number of a dtype. `results`: room for the outputs' handles. Returns 0;
 * else results[0] is the address of an exception object and results[1] that of its type, both alive until the thread's
 * next call, and results[2] the address of its text. */
typedef int32_t (*rockiln_torch_compose)(uint32_t op, uint32_t is_out, uint32_t cause, const char *text, uint64_t *values,
                                         uint64_t *results);

/* The address of rockiln_dispatch_functions()'s answer, or 0. Called by the first call on a GPU. */
typedef uint64_t (*rockiln_torch_find_dispatch)(void);

/* Define every op. Once a process. */
ROCKILN_TORCH_API const char *rockiln_torch_define(rockiln_torch_compose compose, rockiln_torch_find_dispatch find);

/* Register native code: "CUDA" that of every op for GPUs, "CPU" that of the ops that have a kernel for CPUs. In tests
 * "host" adds all other ops on CPU tensors, and has all of them planned as on a GPU: a fake HIP takes the host's memory. */
ROCKILN_TORCH_API const char *rockiln_torch_serve(const char *key);

/* Take back what was registered for a key; "" for the definitions. */
ROCKILN_TORCH_API void rockiln_torch_withdraw(const char *key);

/* Ask for the dispatcher again at the next call. */
ROCKILN_TORCH_API void rockiln_torch_forget_dispatch(void);

ROCKILN_TORCH_API uint32_t rockiln_torch_count_ops(void);
ROCKILN_TORCH_API const char *rockiln_torch_op_name(uint32_t op);

/* Two functions around every call, push("rockiln::rms_norm") and pop(): roctx's. NULL for both ends it. */
ROCKILN_TORCH_API void rockiln_torch_trace(int32_t (*push)(const char *name), int32_t (*pop)(void));

/* Why no kernel for CPUs runs a call: one sentence; NULL if one does, if need be of contiguous copies. `call`:
 * rockiln_dispatch.h; its op is ignored, and addresses are not read. */
ROCKILN_TORCH_API const char *rockiln_torch_judge_cpu(uint32_t op, const struct rockiln_op_call *call);

/* 1 if all numbers are finite, else 0; dtype: that of rockiln_dispatch.h for f32, f16 or bf16. */
ROCKILN_TORCH_API uint32_t rockiln_torch_is_finite(const void *numbers, int64_t count, uint32_t dtype);

/* 1 where torch's own linear multiplies f32 [m, k] and [n, k] on this CPU sooner than oneDNN does, else 0. */
ROCKILN_TORCH_API uint32_t rockiln_torch_prefers_blas(int64_t m, int64_t n, int64_t k);

/* Softmax attention of one sequence in bf16. Numbers of q, k and v are finite and those of a head contiguous; strides are
 * in elements, of heads and of rows. The last query stands at the last key. window_left: -1 for none. */
struct rockiln_torch_attention {
  const uint16_t *q, *k, *v; /* [heads, queries, width], [groups, keys, width], [groups, keys, value_width] */
  const float *sinks;        /* [heads] or NULL */
  uint16_t *out;             /* [heads, queries, value_width] */
  float *lse;                /* [heads, queries], contiguous */
  int64_t heads, groups, queries, keys, width, value_width; /* widths are multiples of 32, other sizes not 0 */
  int64_t q_strides[2], k_strides[2], v_strides[2], out_strides[2];
  int64_t window_left;
  float scale;
  int32_t causal;
};

/* 1 when it is computed; 0 where this CPU has no AMX for bf16, or there is no memory. */
ROCKILN_TORCH_API uint32_t rockiln_torch_attend(const struct rockiln_torch_attention *attention);

/* 1 where rockiln_torch_attend runs, else 0. */
ROCKILN_TORCH_API uint32_t rockiln_torch_has_attention(void);

/* Called with every call that a kernel for CPUs is about to run, in its thread, without Python's lock. NULL ends it. */
ROCKILN_TORCH_API void rockiln_torch_observe_cpu(void (*observer)(uint32_t op, const struct rockiln_op_call *call));

/* The instructions that the kernels for CPUs use from now on: "avx512", "avx2", "baseline", "" the best that there are;
 * NULL changes nothing. Returns those in use; NULL if this CPU has not what was asked for. */
ROCKILN_TORCH_API const char *rockiln_torch_cpu_level(const char *level);

/* torch's number of a dtype -> rockiln_dtype of rockiln_dispatch.h, 0 if kernels know no such type. */
ROCKILN_TORCH_API uint32_t rockiln_torch_name_dtype(int32_t dtype);

#ifdef __cplusplus
}
#endif
