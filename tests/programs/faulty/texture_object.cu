// expect: unsupported
// message: cudaCreateTextureObject
#include <cstdio>
#include <cstring>
__global__ void sample(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
int main() {
  float *d, *o, h[32] = {};
  cudaMalloc(&d, 128); cudaMalloc(&o, 128);
  cudaMemcpy(d, h, 128, cudaMemcpyHostToDevice);
  cudaResourceDesc r; memset(&r, 0, sizeof r);
  r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = d; r.res.linear.desc = cudaCreateChannelDesc<float>(); r.res.linear.sizeInBytes = 128;
  cudaTextureDesc t; memset(&t, 0, sizeof t); t.readMode = cudaReadModeElementType;
  cudaTextureObject_t tex = 0;
  cudaError_t e = cudaCreateTextureObject(&tex, &r, &t, nullptr);
  printf("%s\n", cudaGetErrorString(e));
  sample<<<1, 32>>>(tex, o);
  e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess;
}
