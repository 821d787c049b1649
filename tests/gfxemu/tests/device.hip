#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
typedef unsigned int u32; typedef unsigned long long u64;
extern "C" {
__device__ __attribute__((noinline)) float helper(float x, float *p) { return x * 2.0f + p[0]; }
__device__ __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }
__device__ float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
__global__ void axpy(float a, const float *x, float *y, int n) {
  u32 i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < (u32)n) y[i] = a * x[i] + y[i] + table[i & 3];
}
__global__ void calls(const float *x, float *y, int *f) {
  u32 i = __builtin_amdgcn_workitem_id_x();
  float local[8];
  for (int k = 0; k < 8; k++) local[k] = x[k];
  local[i & 7] += 1.0f;
  y[i] = helper(x[i], &local[(i*3) & 7]);
  f[i] = fib(i & 7);
}
__global__ void reduce(const int *x, int *out, u32 *sizes) {
  __shared__ int s[256];
  u32 i = __builtin_amdgcn_workitem_id_x();
  s[i] = x[__builtin_amdgcn_workgroup_id_x() * 256 + i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  for (int k = 128; k; k >>= 1) {
    if (i < k) s[i] += s[i + k];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  if (i == 0) { __atomic_fetch_add(out, s[0], __ATOMIC_RELAXED); sizes[0] = __builtin_amdgcn_grid_size_x(); sizes[1] = __builtin_amdgcn_workgroup_size_x(); }
}
}
