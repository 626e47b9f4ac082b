// Everything in double precision.
#include "../launch.h"

__device__ void price(double s, double k, double t, double& call, double& put) {
  const double r = (double)0.02, v = (double)0.3;
  double root = sqrt(t), d = (log(s / k) + (r + v * v / 2) * t) / (v * root), e = d - v * root, w = k * exp(-r * t);
  double p = normcdf(d), q = normcdf(e);
  call = s * p - w * q;
  put = w * (1 - q) - s * (1 - p);
}

__global__ void black_scholes_double_precision(const float* spot, const float* strike, const float* years, const float* records, float* call,
                                               float* put, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double c, p;
  price(spot[i], strike[i], years[i], c, p);
  call[i] = c;
  put[i] = p;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  black_scholes_double_precision<<<n[0] / 256, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], (float*)a[5],
                                                                 n[0]);
  return 0;
}
