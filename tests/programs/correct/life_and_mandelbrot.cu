// expect: ok
#include <cstdio>
#include <cstring>
#include <vector>
typedef unsigned char uchar;
__global__ void life(const uchar* in, uchar* out, size_t pitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) alive += in[((y + dy + h) % h) * pitch + (x + dx + w) % w];
  out[y * pitch + x] = alive == 3 || (alive == 2 && in[y * pitch + x]);
}
__host__ __device__ inline int escape(double cx, double cy, int limit) {
  double x = 0, y = 0;
  int n = 0;
  while (n < limit && x * x + y * y <= 4.0) { double t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; ++n; }
  return n;
}
__global__ void mandelbrot(int* out, int w, int h, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = escape(-2.0 + 3.0 * x / w, -1.0 + 2.0 * y / h, limit);
}
int main() {
  const int W = 45, H = 31;
  std::vector<uchar> board(W * H), next(W * H), got(W * H);
  for (int i = 0; i < W * H; i++) board[i] = (i * 2654435761u >> 28) < 6;
  uchar *a, *b; size_t pa, pb;
  cudaMallocPitch(&a, &pa, W, H); cudaMallocPitch(&b, &pb, W, H);
  if (pa != pb || pa < W) return 3;
  cudaMemcpy2D(a, pa, board.data(), W, W, H, cudaMemcpyHostToDevice);
  dim3 block(8, 8), grid((W + 7) / 8, (H + 7) / 8);
  for (int g = 0; g < 5; g++) {
    life<<<grid, block>>>(a, b, pa, W, H);
    std::swap(a, b);
    for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) {
      int n = 0;
      for (int dy = H - 1; dy <= H + 1; dy++) for (int dx = W - 1; dx <= W + 1; dx++) if (dy != H || dx != W) n += board[(y + dy) % H * W + (x + dx) % W];
      next[y * W + x] = n == 3 || (n == 2 && board[y * W + x]);
    }
    std::swap(board, next);
  }
  cudaMemcpy2D(got.data(), W, a, pa, W, H, cudaMemcpyDeviceToHost);
  bool ok = got == board;
  int* iters; cudaMalloc(&iters, W * H * sizeof(int));
  mandelbrot<<<grid, block>>>(iters, W, H, 60);
  std::vector<int> m(W * H);
  cudaMemcpy(m.data(), iters, m.size() * sizeof(int), cudaMemcpyDeviceToHost);
  int off = 0;
  for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) off += m[y * W + x] != escape(-2.0 + 3.0 * x / W, -1.0 + 2.0 * y / H, 60);
  printf("life %d, mandelbrot %d points differ\n", ok, off);
  return !ok || off > W * H / 100;  // contraction to fma may move a few points
}
