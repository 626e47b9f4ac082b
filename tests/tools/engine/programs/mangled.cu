// Kernels whose PTX tests damage.
#include <cstdio>
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void sums(float* out, int n) {
  __shared__ float part[64];
  extern __shared__ float4 room[];
  part[threadIdx.x] = table[threadIdx.x & 3] * n;
  if (threadIdx.x < 16) room[threadIdx.x] = make_float4(1, 2, 3, n);
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 64; ++k) sum += part[k] + room[k & 15].w;
  sum += __shfl_xor_sync(~0u, sum, 5);
  if (__any_sync(~0u, sum > 1e30f)) atomicAdd(&counter, 1);
  if (out) out[threadIdx.x] = sum;
}
extern "C" __global__ void calls(int* out, int n, double x) {
  int local[8];
  for (int k = 0; k < 8; ++k) local[k] = k * n;
  const int v = fib(5) + local[(n + threadIdx.x) & 7];
  switch (v & 7) {
    case 0: counter = 1; break;
    case 1: counter = static_cast<int>(sqrt(x)); break;
    case 3: counter = __popc(v); break;
    case 4: counter = v / (n | 1); break;
    case 6: atomicMax(&counter, v); break;
  }
  if (v == 12345678) printf("%d %f\n", v, x);
  if (out) out[threadIdx.x] = v;
}
