// expect: memcheck invalid_global_write
#include <cstdio>
__global__ void fill(float* image, size_t pitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) image[y * pitch + x] = x + y;  // BUG
}
int main() {
  const int w = 100, h = 60;
  float* image;
  size_t pitch;
  cudaMallocPitch(&image, &pitch, w * sizeof(float), h);
  fill<<<dim3(7, 4), dim3(16, 16)>>>(image, pitch, w, h);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e;
}
