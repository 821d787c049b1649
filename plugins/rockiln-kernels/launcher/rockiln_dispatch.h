/* rockiln_dispatch: a call of an op -> a plan that says who runs it, and how. What an adapter of a framework uses.
 *
 * The second header of librockiln.so; rockiln.h documents packs and single launches, this one whole calls. An adapter
 * states a call, gets a plan, allocates what the plan asks for, and runs it:
 *
 *     const rockiln_op *op;  rockiln_find_op("rms_norm", &op);                        // once an op
 *     rockiln_op_call call = {.struct_bytes = sizeof call, .op = op, .device = 0, .input_count = 2, .inputs = arrays,
 *                             .scalar_count = 2, .scalars = scalars};
 *     const rockiln_plan *plan;
 *     if (rockiln_find_plan(&call, &plan)) raise(rockiln_last_error());               // see "What may go wrong"
 *     const rockiln_plan_facts *facts = rockiln_describe_plan(plan);
 *     if (facts->provider == ROCKILN_BY_PACK) {
 *       ... allocate facts->outputs and facts->workspace_bytes ...
 *       rockiln_plan_run run = {.struct_bytes = sizeof run, .inputs = in, .outputs = out, .workspace = w, .stream = s};
 *       if (rockiln_run_plan(plan, &run)) raise(rockiln_last_error());
 *     } else { ... the framework's own composition, or AITER ... }
 *     rockiln_release_plan(plan);
 *
 * Who decides. The library holds a bounded cache of plans. Their key is op, device and flags, of each input the dtype,
 * shape, strides and alignment up to 256 bytes, and scalars and dtypes. What is not in it is asked of the planner, one
 * callback that Python installs by `rockiln_kernels.dispatch.install()`; a hit does not enter Python. The GPU's runtime
 * and the packs are opened by the first miss, never before, and stay open.
 *
 * What may go wrong, by status; the text is rockiln_last_error():
 *     ROCKILN_NO_PLANNER    nobody called rockiln_kernels.dispatch.install() in this process
 *     ROCKILN_UNKNOWN_OP    there is no op of that name                              raise: NotImplementedError
 *     ROCKILN_CALL_TYPE     an input is missing or of the wrong dtype                raise: TypeError
 *     ROCKILN_CALL_VALUE    shapes, scalars or constraints do not fit                raise: ValueError
 *     ROCKILN_CALL_LAYOUT   strides that the op does not take: ask again with contiguous copies, or raise ValueError
 *     ROCKILN_NOT_SELECTED  strict mode, and the pack does not run the call          raise: RuntimeError
 *     ROCKILN_STALE         the plan is of another process (a fork): find it again
 *     ROCKILN_PLANNER       the planner failed; the text is its exception
 *     others                as in rockiln.h: no runtime, no device, damaged pack, a refusal of the driver
 * Failures are not kept: the same call asks the planner again.
 *
 * Graph capture: finding a plan allocates nothing on the GPU, and running one does not either, once its kernels are
 * loaded: by an earlier run of it, or by rockiln_preload_plan. A run while its stream captures, of a plan with a kernel
 * that is not loaded, is refused with ROCKILN_CAPTURING before anything is launched.
 *
 * Threads: any function from any thread; the planner may run in several at once. Fork: a child starts with an empty
 * cache and opens the runtime anew (which HIP refuses, in its own words, if the parent had used it).
 *
 * ABI: as rockiln.h, with ROCKILN_DISPATCH_ABI_VERSION. */
#ifndef ROCKILN_DISPATCH_H
#define ROCKILN_DISPATCH_H

#include "rockiln.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROCKILN_DISPATCH_ABI_VERSION 1

typedef enum rockiln_dtype {
  ROCKILN_ABSENT = 0, /* of an input: an optional array that is not there */
  ROCKILN_DTYPE_F32 = 1,
  ROCKILN_DTYPE_F16 = 2,
  ROCKILN_DTYPE_BF16 = 3,
  ROCKILN_DTYPE_E4M3 = 4,     /* OCP: float8_e4m3fn */
  ROCKILN_DTYPE_E5M2 = 5,     /* OCP: float8_e5m2 */
  ROCKILN_DTYPE_E4M3FNUZ = 6,
  ROCKILN_DTYPE_E5M2FNUZ = 7,
  ROCKILN_DTYPE_U8 = 8,
  ROCKILN_DTYPE_I32 = 9,
  ROCKILN_DTYPE_I64 = 10,
  ROCKILN_DTYPE_E2M3 = 11, /* only of an axis: arrays of fp6 are packed in u8 */
  ROCKILN_DTYPE_E3M2 = 12
} rockiln_dtype; /* the names are those of rockiln_kernels.dtypes */

typedef enum rockiln_provider {
  ROCKILN_BY_PACK = 1,     /* rockiln_run_plan runs it */
  ROCKILN_BY_AITER = 2,    /* the adapter calls AITER; in no plan that the library keeps: adapters share them */
  ROCKILN_BY_FRAMEWORK = 3 /* the adapter runs the framework's own composition */
} rockiln_provider;

typedef enum rockiln_call_flags { ROCKILN_STRICT = 1 /* refuse what the pack does not run */ } rockiln_call_flags;

typedef struct rockiln_op rockiln_op;     /* a name; lives as long as the process */
typedef struct rockiln_plan rockiln_plan; /* counted: every plan that is handed out is released once */

typedef struct rockiln_array {
  const void *data;       /* device memory; NULL: unknown, and taken to be aligned, or an empty or absent array */
  const int64_t *shape;   /* `rank` sizes */
  const int64_t *strides; /* in elements; NULL: contiguous */
  uint32_t rank;          /* at most ROCKILN_RANK_LIMIT */
  uint32_t dtype;         /* rockiln_dtype; ROCKILN_ABSENT, and all else is ignored */
} rockiln_array;

#define ROCKILN_RANK_LIMIT 16
#define ROCKILN_INPUT_LIMIT 32 /* of inputs, of outputs, of scalars, each */

/* kind: ROCKILN_I32 or ROCKILN_I64 (as.integer; a bool is 0 or 1), ROCKILN_F32 (as.number), or 0: the op's default. */
typedef rockiln_value rockiln_scalar;

typedef struct rockiln_op_call {
  uint32_t struct_bytes; /* sizeof(rockiln_op_call) of the caller */
  int32_t device;        /* the driver's number of the GPU */
  const rockiln_op *op;
  const rockiln_array *inputs;   /* in the OpSpec's order; absent ones at the end may be left out */
  const rockiln_scalar *scalars; /* in the OpSpec's order; those left out at the end are the op's defaults */
  const uint32_t *dtypes;        /* rockiln_dtype of each dtype axis that no input decides, in the OpSpec's order */
  uint32_t input_count, scalar_count, dtype_count;
  uint32_t flags; /* rockiln_call_flags */
} rockiln_op_call;

typedef struct rockiln_output {
  const char *name;
  const int64_t *shape; /* with the leading dims of the input that it follows; always contiguous, 256-byte aligned */
  uint32_t rank;
  uint32_t dtype; /* rockiln_dtype */
} rockiln_output;

typedef struct rockiln_plan_facts {
  uint32_t struct_bytes; /* sizeof(rockiln_plan_facts) of the library */
  uint32_t provider;     /* rockiln_provider */
  const char *op;
  const char *arch;
  const char *kernel;   /* key of the pack's variant, "rms_norm/bf16/row4096"; "" unless the pack runs it */
  const char *reason;   /* why this provider, in words */
  const char *rejected; /* "candidate: reason" a line, of all that do not run it */
  const char *call;     /* "x=bf16[4,4096] weight=bf16[4096] eps=1e-06" */
  const rockiln_output *outputs; /* for every provider */
  uint64_t workspace_bytes;      /* 256-byte aligned scratch memory of one run; 0: none */
  uint32_t output_count;
  uint32_t launch_count;
  int32_t device;
  uint32_t reserved;
} rockiln_plan_facts;

typedef struct rockiln_plan_run {
  uint32_t struct_bytes; /* sizeof(rockiln_plan_run) of the caller */
  uint32_t input_count, output_count, reserved;
  const void *const *inputs; /* addresses in the order of the call; alignments must be those of the call, or better */
  void *const *outputs;      /* in the order of the facts */
  void *workspace;           /* NULL if the facts ask for none; free again when the stream has passed the run */
  void *stream;              /* hipStream_t or CUstream of the plan's device; NULL is the default stream */
} rockiln_plan_run;

/* An op by name. Nothing is asked: a name that is no op's is refused when a plan is looked for. */
ROCKILN_API rockiln_status rockiln_find_op(const char *name, const rockiln_op **out);
ROCKILN_API const char *rockiln_op_name(const rockiln_op *op);

/* The plan of a call, from the cache or the planner. */
ROCKILN_API rockiln_status rockiln_find_plan(const rockiln_op_call *call, const rockiln_plan **out);
ROCKILN_API void rockiln_release_plan(const rockiln_plan *plan);

/* Lives as long as the plan is held. */
ROCKILN_API const rockiln_plan_facts *rockiln_describe_plan(const rockiln_plan *plan);

/* Launch all kernels of a plan of ROCKILN_BY_PACK, in order, on one stream. */
ROCKILN_API rockiln_status rockiln_run_plan(const rockiln_plan *plan, const rockiln_plan_run *run);

/* Load its kernels on its device, so that it can be run while a graph is captured. Not while capturing. */
ROCKILN_API rockiln_status rockiln_preload_plan(const rockiln_plan *plan);

/* How often each of these was answered since the process began (or forked). */
typedef struct rockiln_dispatch_counts {
  uint64_t hits, misses, evictions, plans; /* plans: how many the cache holds now */
} rockiln_dispatch_counts;
ROCKILN_API rockiln_status rockiln_count_dispatches(rockiln_dispatch_counts *out);

/* Up to `room` plans of the cache, those used last first, each to be released; `*count` is how many there were. */
ROCKILN_API rockiln_status rockiln_list_plans(const rockiln_plan **out, uint32_t room, uint32_t *count);
ROCKILN_API uint64_t rockiln_plan_hits(const rockiln_plan *plan); /* how often it was found in the cache */

/* Forget every plan: after the environment, a record or a pack has changed. Plans that are held stay usable. */
ROCKILN_API void rockiln_clear_plans(void);

/* For profilers: called with every plan that rockiln_find_plan hands out, in the caller's thread. NULL removes it; a
 * call that has begun may still reach the old one. */
typedef void (*rockiln_observer)(void *user, const rockiln_plan *plan);
ROCKILN_API void rockiln_observe_plans(rockiln_observer observer, void *user);

/* ---- for the planner ------------------------------------------------------------------------------------------- */

typedef struct rockiln_request rockiln_request; /* one question; valid while the planner is called */

typedef struct rockiln_question {
  const char *op, *arch;
  const rockiln_op_call *call; /* strides are never NULL here but for absent inputs */
  const uint32_t *alignments;  /* of each input: bytes, a power of two up to 256 */
} rockiln_question;
ROCKILN_API void rockiln_read_request(const rockiln_request *request, rockiln_question *out);

typedef enum rockiln_source { /* what a value of a launch is */
  ROCKILN_CONSTANT = 0,
  ROCKILN_INPUT = 1,    /* address of input `place` */
  ROCKILN_OUTPUT = 2,   /* address of output `place` */
  ROCKILN_WORKSPACE = 3 /* address of the workspace, `place` bytes on */
} rockiln_source;

typedef struct rockiln_planned_value {
  rockiln_value value; /* kind always; the rest for ROCKILN_CONSTANT */
  uint32_t source;     /* rockiln_source */
  uint32_t reserved;
  uint64_t place;
} rockiln_planned_value;

typedef struct rockiln_planned_launch {
  const char *key; /* of the kernel in the pack */
  const rockiln_planned_value *values;
  uint32_t value_count;
  uint32_t grid[3];
} rockiln_planned_launch;

typedef struct rockiln_answer {
  uint32_t struct_bytes;
  uint32_t provider;
  const char *kernel, *reason, *rejected, *call; /* as in the facts */
  const char *pack; /* folder that the launches' kernels are of; may be NULL without launches */
  const rockiln_output *outputs;
  const rockiln_planned_launch *launches;
  uint64_t workspace_bytes;
  uint32_t output_count, launch_count;
} rockiln_answer;

/* The planner calls one of these two, once; all is copied. */
ROCKILN_API rockiln_status rockiln_answer_request(rockiln_request *request, const rockiln_answer *answer);
ROCKILN_API void rockiln_refuse_request(rockiln_request *request, rockiln_status status, const char *message);

typedef void (*rockiln_plan_maker)(void *user, rockiln_request *request);

typedef struct rockiln_planner {
  uint32_t struct_bytes;
  uint32_t backend;    /* rockiln_backend */
  const char *library; /* of the driver; NULL: as rockiln_open_runtime */
  rockiln_plan_maker make_plan;
  void *user;
  uint32_t capacity; /* plans that the cache may hold; 0: 4096 */
  uint32_t reserved;
} rockiln_planner;

/* Install a planner, instead of the one before; NULL removes it. Forgets all plans. Its first miss opens the runtime. */
ROCKILN_API rockiln_status rockiln_install_planner(const rockiln_planner *planner);

/* ---- for adapters that do not link the library ----------------------------------------------------------------- */

/* All that an adapter calls, behind one address: `rockiln_kernels.dispatch.read_api_address()` in Python, or dlsym of
 * rockiln_dispatch_functions. Check abi_version first. */
typedef struct rockiln_dispatch_api {
  uint32_t struct_bytes;
  uint32_t abi_version; /* ROCKILN_DISPATCH_ABI_VERSION */
  const char *(*last_error)(void);
  rockiln_status (*find_op)(const char *name, const rockiln_op **out);
  rockiln_status (*find_plan)(const rockiln_op_call *call, const rockiln_plan **out);
  const rockiln_plan_facts *(*describe_plan)(const rockiln_plan *plan);
  rockiln_status (*run_plan)(const rockiln_plan *plan, const rockiln_plan_run *run);
  rockiln_status (*preload_plan)(const rockiln_plan *plan);
  void (*release_plan)(const rockiln_plan *plan);
} rockiln_dispatch_api;
ROCKILN_API const rockiln_dispatch_api *rockiln_dispatch_functions(void);

#ifdef __cplusplus
}
#endif
#endif
