// One translation unit of a math library, without HIP's headers: two kernels, a device variable and host entry points.
// Written for the mirror; it computes something simple so that every arch gets real code.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

struct dim3 {
  unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, unsigned long shared, void *stream);
extern "C" int __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long shared = 0, void *stream = 0);
extern "C" unsigned hipConfigureCall(dim3 grid, dim3 block, unsigned long shared, void *stream);

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

__device__ float PASTE(LIBRARY, bias) = 3.0f;

// Bytes that do not compress and are others in each arch, so that compressed device code has the size of several pages.
#ifdef __amdgcn_processor__
struct Noise {
  unsigned words[1536];
  constexpr Noise() : words() {
    unsigned state = 2166136261u;
    for (const char *one = __amdgcn_processor__; *one; ++one) state = (state ^ *one) * 16777619u;
    for (unsigned &word : words) word = state = state * 1664525u + 1013904223u, word ^= state >> 13;
  }
};
__device__ __attribute__((used)) Noise PASTE(LIBRARY, noise);
#endif

extern "C" __global__ void PASTE(LIBRARY, scale)(float *values, float factor, int count) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < count) values[i] = values[i] * factor + PASTE(LIBRARY, bias);
}

extern "C" __global__ void PASTE(LIBRARY, sum)(const float *a, const float *b, float *c, int count) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < count) c[i] = a[i] + b[i];
}

extern "C" int PASTE(LIBRARY, version)(void) { return VERSION; }

extern "C" int PASTE(LIBRARY, launch)(float *values, float factor, int count) {
  void *args[] = {&values, &factor, &count};
  return hipLaunchKernel((const void *)PASTE(LIBRARY, scale), {1, 1, 1}, {64, 1, 1}, args, 0, 0);
}
