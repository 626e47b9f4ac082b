// expect: unsupported
// message: cudaStreamBeginCapture
#include <cstdio>
__global__ void inc(int* v) { v[threadIdx.x] += 1; }
int main() {
  int* v; cudaMalloc(&v, 128); cudaMemset(v, 0, 128);
  cudaStream_t s; cudaStreamCreate(&s);
  cudaGraph_t g; cudaGraphExec_t x;
  cudaError_t e = cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  if (e) { printf("capture: %s\n", cudaGetErrorString(e)); return 1; }
  inc<<<1, 32, 0, s>>>(v);
  cudaStreamEndCapture(s, &g);
  cudaGraphInstantiate(&x, g, 0);
  for (int i = 0; i < 3; i++) cudaGraphLaunch(x, s);
  cudaStreamSynchronize(s);
  int h; cudaMemcpy(&h, v, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
  return h != 3;
}
