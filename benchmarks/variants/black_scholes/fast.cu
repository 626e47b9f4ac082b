// Fast intrinsics and a polynomial.
#include "../launch.h"

__device__ float normal(float z) {  // Abramowitz and Stegun 26.2.17
  float k = __frcp_rn(1.0f + 0.2316419f * fabsf(z));
  float p =
      0.39894228f * __expf(-0.5f * z * z) * k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  return z > 0 ? 1 - p : p;
}

__device__ void price(float s, float k, float t, float& call, float& put) {
  const float r = (float)0.02, v = (float)0.3;
  float root = sqrtf(t), d = (__logf(__fdividef(s, k)) + (r + v * v / 2) * t) / (v * root), e = d - v * root, w = k * __expf(-r * t);
  float p = normal(d), q = normal(e);
  call = s * p - w * q;
  put = w * (1 - q) - s * (1 - p);
}

__global__ void black_scholes_fast(const float* spot, const float* strike, const float* years, const float* records, float* call, float* put, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float c, p;
  price(spot[i], strike[i], years[i], c, p);
  call[i] = c;
  put[i] = p;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  black_scholes_fast<<<n[0] / 256, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], (float*)a[5], n[0]);
  return 0;
}
