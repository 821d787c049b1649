/* A fake HIP runtime with HIP 7's rules for errors: the last error stays until hipGetLastError takes it; a kernel that touches
   freed memory returns hipErrorIllegalAddress at the next synchronisation, and from then on every call does. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 1, NO_DEVICE = 100, INVALID_DEVICE = 101, NO_BINARY = 209, NOT_READY = 600, ILLEGAL = 700 };

#define MAX_BLOCKS 64
static struct { char *start; size_t size; int live; } blocks[MAX_BLOCKS];
static int count, last, pending_fault, dead;
static const char *launched;

static int leave(int code) { return code ? (last = code) : OK; }

int hipPeekAtLastError(void) { return last; }
int hipGetLastError(void) { int code = last; last = OK; return code; }

const char *hipGetErrorName(int code) {
    return code == OK ? "hipSuccess" : code == INVALID ? "hipErrorInvalidValue" : code == ILLEGAL ? "hipErrorIllegalAddress"
         : code == INVALID_DEVICE ? "hipErrorInvalidDevice" : code == NO_BINARY ? "hipErrorNoBinaryForGpu"
         : code == NOT_READY ? "hipErrorNotReady" : "hipErrorUnknown";
}
const char *hipGetErrorString(int code) { return code == INVALID ? "invalid argument" : "some text"; }

int hipGetDeviceCount(int *number) { *number = 1; return leave(OK); }
int hipSetDevice(int device) { return leave(device == 0 ? OK : INVALID_DEVICE); }

int hipMalloc(void **address, size_t size) {
    if (dead) return leave(ILLEGAL);
    if (!address || !size || count == MAX_BLOCKS) return leave(INVALID);
    blocks[count].start = *address = malloc(size);
    blocks[count].size = size;
    blocks[count++].live = 1;
    return OK;
}

int hipFree(void *address) {
    for (int i = 0; i < count; i++)
        if (blocks[i].start == address && blocks[i].live) { blocks[i].live = 0; return OK; }  /* kept: no address comes twice */
    return leave(address ? INVALID : OK);
}

static int is_live(const char *from, size_t size) {
    for (int i = 0; i < count; i++)
        if (blocks[i].live && from >= blocks[i].start && from + size <= blocks[i].start + blocks[i].size) return 1;
    return 0;
}

int hipMemcpy(void *target, const void *source, size_t size, int kind) {
    if (dead) return leave(ILLEGAL);
    if (kind == 1 ? !is_live(target, size) : kind == 2 ? !is_live(source, size) : 1) return leave(INVALID);
    memcpy(target, source, size);
    return OK;
}

int hipModuleLoadData(void **module, const void *image) {
    if (memcmp(image, "gfx942", 6)) return leave(NO_BINARY);
    *module = (void *)image;
    return OK;
}
int hipModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    launched = name;
    *function = (void *)(uintptr_t)(0x1000 + strlen(name));
    return OK;
}

/* Every kernel here has the arguments (pointer, unsigned n) and touches n bytes. */
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
    (void)f; (void)gy; (void)gz; (void)by; (void)bz; (void)shared; (void)stream; (void)extra;
    if (dead) return leave(ILLEGAL);
    if (!gx || bx > 1024) return leave(INVALID);
    if (!is_live(*(char **)params[0], *(unsigned *)params[1])) pending_fault = 1;
    return OK;
}

int hipDeviceSynchronize(void) {
    if (pending_fault) dead = 1;
    return dead ? leave(ILLEGAL) : OK;
}
int hipStreamSynchronize(void *stream) { (void)stream; return hipDeviceSynchronize(); }
int hipStreamQuery(void *stream) { (void)stream; return NOT_READY; }

/* What code outside the wrapper does: it fails, and nobody looks. */
void leave_an_error(int code) { last = code; }
