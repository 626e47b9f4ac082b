// expect: ok
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdio>
#include <vector>
__global__ void axpy2(const __half2* x, __half2* y, __half a, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}
__global__ void gelu_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = __bfloat162float(x[i]);
    y[i] = __float2bfloat16(0.5f * v * (1.f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));
  }
}
__global__ void half_ops(__half* r, float* f) {
  __half a = __float2half(1.5f), b = __float2half(-2.25f);
  r[0] = a + b; r[1] = a * b; r[2] = __hdiv(a, b); r[3] = hsqrt(a); r[4] = hexp(b); r[5] = __hmax(a, b); r[6] = __habs(b); r[7] = hrint(b);
  __half2 p = __floats2half2_rn(3.f, -4.f);
  r[8] = __low2half(p); r[9] = __high2half(p); r[10] = __hadd(__low2half(__lowhigh2highlow(p)), a); r[11] = __int2half_rn(-7);
  f[0] = __half2int_rz(b); f[1] = __hgt(a, b); f[2] = __hisnan(__float2half(NAN)); f[3] = __half2float(atomicAdd(&r[11], a));
  __nv_bfloat162 q = __float22bfloat162_rn(make_float2(1.f, 2.5f));
  q = __hmul2(q, q);
  f[4] = __low2float(q); f[5] = __high2float(q);
}
int main() {
  const int n = 514;
  std::vector<__half> x(n), y(n), got(n);
  for (int i = 0; i < n; i++) { x[i] = __float2half(i * 0.25f); y[i] = __float2half(100.f - i); }
  __half *dx, *dy; cudaMalloc(&dx, n * 2); cudaMalloc(&dy, n * 2);
  cudaMemcpy(dx, x.data(), n * 2, cudaMemcpyHostToDevice); cudaMemcpy(dy, y.data(), n * 2, cudaMemcpyHostToDevice);
  axpy2<<<(n / 2 + 127) / 128, 128>>>((__half2*)dx, (__half2*)dy, __float2half(0.5f), n / 2);
  cudaMemcpy(got.data(), dy, n * 2, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < n; i++) bad += __half2float(got[i]) != __half2float(__float2half(0.5f * __half2float(x[i]) + __half2float(y[i])));
  printf("axpy %d wrong\n", bad);
  std::vector<__nv_bfloat16> b(n), g(n);
  for (int i = 0; i < n; i++) b[i] = __float2bfloat16((i - 257) * 0.02f);
  __nv_bfloat16 *db, *dg; cudaMalloc(&db, n * 2); cudaMalloc(&dg, n * 2);
  cudaMemcpy(db, b.data(), n * 2, cudaMemcpyHostToDevice);
  gelu_bf16<<<1, 128>>>(db, dg, n);
  cudaMemcpy(g.data(), dg, n * 2, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    double v = __bfloat162float(b[i]), w = 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
    bad += std::fabs(__bfloat162float(g[i]) - w) > 0.01 * (std::fabs(w) + 0.01);
  }
  printf("gelu %d wrong\n", bad);
  __half* r; float* f; cudaMallocManaged(&r, 24); cudaMallocManaged(&f, 24);
  half_ops<<<1, 1>>>(r, f);
  cudaDeviceSynchronize();
  const float want[] = {-0.75f, -3.375f, -0.66667f, 1.22474f, 0.105399f, 1.5f, 2.25f, -2.f, 3.f, -4.f, -2.5f, -5.5f}, wf[] = {-2, 1, 1, -7, 1, 6.25f};
  for (int i = 0; i < 12; i++) if (std::fabs(__half2float(r[i]) - want[i]) > 1e-3f) { printf("r[%d] = %f, not %f\n", i, __half2float(r[i]), want[i]); bad++; }
  for (int i = 0; i < 6; i++) if (f[i] != wf[i]) { printf("f[%d] = %f, not %f\n", i, f[i], wf[i]); bad++; }
  return bad != 0;
}
