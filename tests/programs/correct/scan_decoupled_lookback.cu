// expect: ok
// Single-pass inclusive scan: each tile looks back at the published sums of the tiles before it.
#include <cstdio>
#include <cstdint>
#include <vector>
constexpr int T = 128;
enum : unsigned long long { INVALID = 0, AGGREGATE = 1, PREFIX = 2 };

__device__ unsigned int tile_counter;

__device__ void publish(unsigned long long* s, unsigned long long flag, unsigned value) {
  atomicExch(s, (flag << 32) | value);
}

__global__ void scan(const unsigned* in, unsigned* out, unsigned long long* state, int n) {
  __shared__ unsigned tile, prefix;
  __shared__ unsigned buf[2][T];
  if (threadIdx.x == 0) tile = atomicAdd(&tile_counter, 1u);
  __syncthreads();
  int i = tile * T + threadIdx.x;
  unsigned v = i < n ? in[i] : 0;
  int cur = 0;
  buf[0][threadIdx.x] = v;
  __syncthreads();
  for (int d = 1; d < T; d <<= 1) {
    buf[cur ^ 1][threadIdx.x] = buf[cur][threadIdx.x] + ((int)threadIdx.x >= d ? buf[cur][threadIdx.x - d] : 0);
    cur ^= 1;
    __syncthreads();
  }
  unsigned total = buf[cur][T - 1];
  if (threadIdx.x == 0) {
    if (tile == 0) {
      publish(&state[0], PREFIX, total);
      prefix = 0;
    } else {
      publish(&state[tile], AGGREGATE, total);
      unsigned sum = 0;
      for (int t = (int)tile - 1; t >= 0;) {
        unsigned long long s = atomicAdd(&state[t], 0ull);
        unsigned flag = s >> 32;
        if (flag == INVALID) continue;
        sum += (unsigned)s;
        if (flag == PREFIX) break;
        --t;
      }
      publish(&state[tile], PREFIX, sum + total);
      prefix = sum;
    }
  }
  __syncthreads();
  if (i < n) out[i] = buf[cur][threadIdx.x] + prefix;
}

int main() {
  const int n = 3000, tiles = (n + T - 1) / T;
  std::vector<unsigned> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i % 17;
  unsigned *in, *out;
  unsigned long long* state;
  cudaMalloc(&in, n * 4);
  cudaMalloc(&out, n * 4);
  cudaMalloc(&state, tiles * 8);
  cudaMemset(state, 0, tiles * 8);
  unsigned zero = 0;
  cudaMemcpyToSymbol(tile_counter, &zero, sizeof zero);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  scan<<<tiles, T>>>(in, out, state, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  unsigned run = 0;
  for (int i = 0; i < n; ++i) {
    run += h[i];
    if (got[i] != run) { printf("wrong at %d: %u, not %u\n", i, got[i], run); return 1; }
  }
  puts("ok");
}
