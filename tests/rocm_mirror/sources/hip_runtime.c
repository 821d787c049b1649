/* libamdhip64.so.7 of the mirror: takes registrations and answers "no device", as the real one does without a GPU. */
#include <stddef.h>

enum { hip_success = 0, hip_error_invalid_value = 1, hip_error_no_device = 100 };

static int registered_binaries;

void **__hipRegisterFatBinary(const void *wrapper) {
  static void *modules[4096];
  (void)wrapper;
  return &modules[registered_binaries++ % 4096];
}
void __hipUnregisterFatBinary(void **module) { (void)module; }
void __hipRegisterFunction(void **m, const void *h, char *d, const char *n, unsigned t, void *a, void *b, void *c, void *e,
                           int *w) {
  (void)m, (void)h, (void)d, (void)n, (void)t, (void)a, (void)b, (void)c, (void)e, (void)w;
}
void __hipRegisterVar(void **m, void *v, char *h, char *d, int e, size_t s, int c, int g) {
  (void)m, (void)v, (void)h, (void)d, (void)e, (void)s, (void)c, (void)g;
}
int __hipPushCallConfiguration(void) { return hip_success; }
int __hipPopCallConfiguration(void) { return hip_success; }
int hipLaunchKernel(void) { return hip_error_no_device; }
int hipInit(unsigned flags) { return flags ? hip_error_invalid_value : hip_error_no_device; }
int hipGetDeviceCount(int *count) {
  if (!count) return hip_error_invalid_value;
  *count = 0;
  return hip_error_no_device;
}
int hipRuntimeGetVersion(int *version) {
  if (!version) return hip_error_invalid_value;
  *version = 70051831;
  return hip_success;
}
int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }
const char *hipGetErrorString(int error) { return error ? "no ROCm-capable device is detected" : "no error"; }
