/* librockiln: kernels of a pack -> launches on a GPU. This header is the documentation of the C ABI.
 *
 * The library links neither HIP nor CUDA. It opens libamdhip64.so.7, else .6 (or what ROCKILN_HIP_LIBRARY names), or
 * libcuda.so.1 (ROCKILN_CUDA_LIBRARY), when a runtime is opened and not before.
 *
 *     rockiln_runtime *runtime;  rockiln_open_runtime(ROCKILN_HIP, NULL, &runtime);
 *     rockiln_pack *pack;        rockiln_open_pack(runtime, "/path/of/pack", &pack);
 *     const rockiln_kernel *kernel;  rockiln_find_kernel(pack, "rms_norm-0123456789ab", &kernel);
 *     rockiln_call call = {.struct_bytes = sizeof call, .kernel = kernel, .device = -1, .grid = {rows, 1, 1}, ...};
 *     if (rockiln_launch(&call)) puts(rockiln_last_error());
 *
 * Threads: every function may be called from any thread at any time, but for the two that close: nothing may use what
 * they free. Graph capture: a launch whose kernel is preloaded on its device neither allocates nor loads. One whose
 * kernel is not is refused with ROCKILN_CAPTURING while its stream captures. Launches are asynchronous, as the driver's
 * are: faults of a kernel show up at a later synchronisation. Argument values are copied before the launch returns.
 *
 * ABI: within one ROCKILN_ABI_VERSION fields and functions are only added, fields at the ends of structs. */
#ifndef ROCKILN_H
#define ROCKILN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROCKILN_ABI_VERSION 1
#define ROCKILN_API __attribute__((visibility("default")))

typedef enum rockiln_status {
  ROCKILN_OK = 0,
  ROCKILN_NO_RUNTIME = 1,      /* no driver library, or one that lacks a function */
  ROCKILN_NO_DEVICE = 2,       /* the driver sees no GPU, or not the one asked for */
  ROCKILN_BAD_PACK = 3,        /* missing or damaged pack, or one of another format */
  ROCKILN_UNKNOWN_KERNEL = 4,  /* the pack has no kernel of that key */
  ROCKILN_BAD_ARGUMENT = 5,    /* count, kind, range or divisibility of an argument; a null pointer to this library */
  ROCKILN_WRONG_ARCH = 6,      /* the pack was compiled for another arch than the device's */
  ROCKILN_LIMIT = 7,           /* more threads, LDS or workgroups than the device allows */
  ROCKILN_CAPTURING = 8,       /* a module would have to be loaded while the stream captures: rockiln_preload first */
  ROCKILN_DRIVER = 9,          /* the driver refused; the message has its own words */
  ROCKILN_NO_MEMORY = 10,      /* the host has no memory left */
  ROCKILN_NO_PLANNER = 11,     /* from here on: rockiln_dispatch.h */
  ROCKILN_UNKNOWN_OP = 12,
  ROCKILN_CALL_TYPE = 13,
  ROCKILN_CALL_VALUE = 14,
  ROCKILN_CALL_LAYOUT = 15,
  ROCKILN_NOT_SELECTED = 16,
  ROCKILN_STALE = 17,
  ROCKILN_PLANNER = 18
} rockiln_status;

typedef enum rockiln_backend { ROCKILN_HIP = 0, ROCKILN_CUDA = 1 } rockiln_backend;

/* What an argument is. The compiler's reserved arguments are filled in by the library and never passed. */
typedef enum rockiln_kind { ROCKILN_POINTER = 1, ROCKILN_I32 = 2, ROCKILN_I64 = 3, ROCKILN_F32 = 4 } rockiln_kind;

typedef struct rockiln_runtime rockiln_runtime; /* an opened driver */
typedef struct rockiln_pack rockiln_pack;       /* an opened folder of kernels of one arch */
typedef struct rockiln_kernel rockiln_kernel;   /* lives as long as its pack */

typedef struct rockiln_value {
  uint32_t kind; /* rockiln_kind; must be that of the kernel's argument at this place */
  uint32_t reserved;
  union {
    uint64_t address; /* ROCKILN_POINTER: of device memory; 0 is allowed, as optional arrays are absent */
    int64_t integer;  /* ROCKILN_I32 (must fit) and ROCKILN_I64 */
    float number;     /* ROCKILN_F32 */
  } as;
} rockiln_value;

typedef struct rockiln_call {
  uint32_t struct_bytes; /* sizeof(rockiln_call) of the caller */
  int32_t device;        /* the driver's number of the GPU; -1: the calling thread's current one */
  const rockiln_kernel *kernel;
  void *stream;          /* hipStream_t or CUstream; NULL is the default stream */
  uint32_t grid[3];      /* workgroups; a 0 among them: checked, and nothing is launched */
  uint32_t value_count;
  const rockiln_value *values; /* in the manifest's order, without `null` arguments */
  const char *op;        /* for messages: the op; NULL: the kernel's source */
  const char *shapes;    /* for messages: "x=bf16[4,4096]"; may be NULL */
} rockiln_call;

typedef struct rockiln_kernel_facts {
  const char *key, *source, *symbol; /* live as long as the pack */
  uint32_t threads;                  /* of a workgroup, all along x */
  uint32_t shared_bytes;             /* dynamic LDS, passed at each launch */
  uint32_t kernarg_bytes;
  uint32_t value_count;              /* what a call must pass */
} rockiln_kernel_facts;

typedef struct rockiln_device_facts {
  char arch[64];          /* "gfx942" or "sm_90", without feature suffixes (":sramecc+:xnack-") */
  uint32_t threads_limit; /* of a workgroup */
  uint32_t shared_limit;  /* bytes of LDS a workgroup */
  uint32_t grid_limit[3]; /* workgroups along each axis */
} rockiln_device_facts;

/* The version this library was built for: compare with ROCKILN_ABI_VERSION before anything else. */
ROCKILN_API uint32_t rockiln_abi_version(void);

/* What went wrong in this thread's last call that did not return ROCKILN_OK: one sentence with op, kernel, arch and
 * shapes where there are any. Valid until this thread's next call into the library. */
ROCKILN_API const char *rockiln_last_error(void);

/* Open a driver. `library`: path or soname; NULL: as said above. No GPU is not an error here. */
ROCKILN_API rockiln_status rockiln_open_runtime(rockiln_backend backend, const char *library, rockiln_runtime **out);
ROCKILN_API void rockiln_close_runtime(rockiln_runtime *runtime); /* after its packs; the driver stays in the process */

ROCKILN_API rockiln_status rockiln_count_devices(rockiln_runtime *runtime, int32_t *out); /* no GPU: ROCKILN_NO_DEVICE */
ROCKILN_API rockiln_status rockiln_read_device(rockiln_runtime *runtime, int32_t device, rockiln_device_facts *out);

/* Open a pack's folder. Reads index.bin; code objects are mapped when they are first needed, and refused with
 * ROCKILN_BAD_PACK where they are not those that the pack was made with. Needs no GPU. */
ROCKILN_API rockiln_status rockiln_open_pack(rockiln_runtime *runtime, const char *folder, rockiln_pack **out);
ROCKILN_API void rockiln_close_pack(rockiln_pack *pack);
ROCKILN_API const char *rockiln_pack_arch(const rockiln_pack *pack);
ROCKILN_API const char *rockiln_pack_sha256(const rockiln_pack *pack); /* hex, of manifest.json */

ROCKILN_API rockiln_status rockiln_find_kernel(const rockiln_pack *pack, const char *key, const rockiln_kernel **out);
ROCKILN_API rockiln_status rockiln_describe_kernel(const rockiln_kernel *kernel, rockiln_kernel_facts *out);

/* Load a kernel on a device (-1: current), so that no later launch there loads or allocates. Not while capturing. */
ROCKILN_API rockiln_status rockiln_preload(const rockiln_kernel *kernel, int32_t device);

/* Check and launch. Nothing reaches the driver unless everything checked holds. */
ROCKILN_API rockiln_status rockiln_launch(const rockiln_call *call);

#ifdef __cplusplus
}
#endif
#endif
