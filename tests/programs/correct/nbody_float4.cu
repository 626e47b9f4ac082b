// expect: ok
#include <cmath>
#include <cstdio>
#include <vector>
constexpr int TILE = 64;
constexpr float SOFTENING = 1e-3f;

__device__ float3 interact(float4 me, float4 other, float3 sum) {
  float3 r = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
  float d2 = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
  float inv = rsqrtf(d2);
  float s = other.w * inv * inv * inv;
  sum.x += r.x * s; sum.y += r.y * s; sum.z += r.z * s;
  return sum;
}

__global__ void __launch_bounds__(TILE) forces(const float4* __restrict__ bodies, float3* __restrict__ out, int n) {
  __shared__ float4 tile[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += TILE) {
    int j = base + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.f, 0.f, 0.f, 0.f);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < TILE; ++k) sum = interact(me, tile[k], sum);
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}

int main() {
  const int n = 150;
  std::vector<float4> h(n);
  unsigned s = 1;
  auto next = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 16777216.0f; };
  for (auto& b : h) b = make_float4(next(), next(), next(), 0.5f + next());
  float4* d; float3* f;
  cudaMalloc(&d, n * sizeof(float4));
  cudaMalloc(&f, n * sizeof(float3));
  cudaMemcpy(d, h.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  forces<<<(n + TILE - 1) / TILE, TILE>>>(d, f, n);
  std::vector<float3> got(n);
  cudaMemcpy(got.data(), f, n * sizeof(float3), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double x = 0, y = 0, z = 0;
    for (int j = 0; j < n; ++j) {
      double rx = h[j].x - h[i].x, ry = h[j].y - h[i].y, rz = h[j].z - h[i].z;
      double d2 = rx * rx + ry * ry + rz * rz + SOFTENING, w = h[j].w / (d2 * std::sqrt(d2));
      x += rx * w; y += ry * w; z += rz * w;
    }
    double scale = std::fabs(x) + std::fabs(y) + std::fabs(z);
    worst = std::fmax(worst, (std::fabs(got[i].x - x) + std::fabs(got[i].y - y) + std::fabs(got[i].z - z)) / scale);
  }
  printf("largest relative error %.2e\n", worst);
  cudaFree(d); cudaFree(f);
  return worst > 1e-3;
}
