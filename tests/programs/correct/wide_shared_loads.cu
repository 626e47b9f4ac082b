// expect: ok
// One load of shared memory per kernel: type by lane pattern. The wavefronts of each were measured on an H200.
#include <cstdio>
template <int PATTERN> __device__ int place(int t) {
  constexpr int p = PATTERN;
  return p == 0 ? 0 : p == 1 ? t / 16 : p == 2 ? t % 16 : p == 3 ? t : p == 4 ? t / 8 : p == 5 ? t % 8 : p == 6 ? t / 2 : p == 7 ? t * 2 : p == 8 ? t / 8 * 128 : t % 2 + t / 4 * 2;
}
template <class T, int PATTERN> __global__ void probe(T* out) {
  __shared__ T s[512];
  for (int i = threadIdx.x; i < 512; i += 32) s[i] = out[i];
  __syncthreads();
  T found = s[place<PATTERN>(threadIdx.x)];  // LOAD
  out[threadIdx.x] = found;  // LOAD (nvcc moves wide ones here)
}
template <int PATTERN> void all(void* out) {
  probe<float, PATTERN><<<1, 32>>>((float*)out);
  probe<float2, PATTERN><<<1, 32>>>((float2*)out);
  probe<float4, PATTERN><<<1, 32>>>((float4*)out);
}
int main() {
  void* out;
  cudaMalloc(&out, 512 * sizeof(float4));
  cudaMemset(out, 0, 512 * sizeof(float4));
  all<0>(out); all<1>(out); all<2>(out); all<3>(out); all<4>(out); all<5>(out); all<6>(out); all<7>(out); all<8>(out); all<9>(out);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e;
}
