// Everything in double precision.
#include "../launch.h"

__global__ void nbody_double_precision(const float4* body, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = body[i];
  double sx = 0, sy = 0, sz = 0;
  for (int j = 0; j < n; ++j) {
    float4 b = body[j];
    double x = (double)b.x - me.x, y = (double)b.y - me.y, z = (double)b.z - me.z;
    double r = x * x + y * y + z * z + 0.01, f = b.w / (r * sqrt(r));
    sx += f * x;
    sy += f * y;
    sz += f * z;
  }
  out[i] = make_float4(sx, sy, sz, 0);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  nbody_double_precision<<<n[0] / 128, 128, 0, stream>>>((float4*)a[0], (float4*)a[3], n[0]);
  return 0;
}
