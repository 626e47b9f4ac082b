// expect: ok
#include <cstdio>
#include <cmath>
#include <vector>
#define RADIUS 2
#define TILE 16
#define SIDE (2 * RADIUS + 1)
__constant__ float filter[SIDE][SIDE];
__global__ void conv(const float* in, float* out, int w, int h) {
  __shared__ float tile[TILE + 2 * RADIUS][TILE + 2 * RADIUS];
  int x0 = blockIdx.x * TILE - RADIUS, y0 = blockIdx.y * TILE - RADIUS;
  for (int y = threadIdx.y; y < TILE + 2 * RADIUS; y += TILE)
    for (int x = threadIdx.x; x < TILE + 2 * RADIUS; x += TILE) {
      int gx = min(max(x0 + x, 0), w - 1), gy = min(max(y0 + y, 0), h - 1);
      tile[y][x] = in[gy * w + gx];
    }
  __syncthreads();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < w && y < h) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
      for (int j = 0; j < SIDE; j++) sum += filter[i][j] * tile[threadIdx.y + i][threadIdx.x + j];
    out[y * w + x] = sum;
  }
}
int main() {
  const int w = 50, h = 35;
  float f[SIDE][SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) f[i / SIDE][i % SIDE] = 1.0f / (i + 1);
  cudaMemcpyToSymbol(filter, f, sizeof(f));
  float back[SIDE][SIDE];
  cudaMemcpyFromSymbol(back, filter, sizeof(back));
  std::vector<float> img(w * h), out(w * h);
  for (int i = 0; i < w * h; i++) img[i] = i % 23;
  float *a, *b;
  cudaMalloc(&a, w * h * sizeof(float)); cudaMalloc(&b, w * h * sizeof(float));
  cudaStream_t s; cudaStreamCreate(&s);
  cudaMemcpyAsync(a, img.data(), w * h * sizeof(float), cudaMemcpyHostToDevice, s);
  conv<<<dim3((w + TILE - 1) / TILE, (h + TILE - 1) / TILE), dim3(TILE, TILE), 0, s>>>(a, b, w, h);
  cudaMemcpyAsync(out.data(), b, w * h * sizeof(float), cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s); cudaStreamDestroy(s);
  double worst = fabs(back[1][1] - f[1][1]);
  for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
    double sum = 0;
    for (int i = -RADIUS; i <= RADIUS; i++) for (int j = -RADIUS; j <= RADIUS; j++)
      sum += f[i + RADIUS][j + RADIUS] * img[std::min(std::max(y + i, 0), h - 1) * w + std::min(std::max(x + j, 0), w - 1)];
    worst = fmax(worst, fabs(sum - out[y * w + x]));
  }
  printf("worst %g\n", worst);
  return worst > 1e-3;
}
