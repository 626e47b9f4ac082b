// expect: ok
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/tuple>
#include <cuda/std/array>
#include <cooperative_groups.h>
#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;
// Producer and consumer warps hand a buffer over with cuda::barrier.
__global__ void produce_consume(const int* in, int* out, int rounds) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier filled, taken;
  __shared__ int buffer[32];
  if (threadIdx.x == 0) { init(&filled, 64); init(&taken, 64); }
  __syncthreads();
  bool producer = threadIdx.x < 32;
  int lane = threadIdx.x % 32;
  for (int r = 0; r < rounds; r++) {
    if (producer) buffer[lane] = in[r * 32 + lane];
    filled.arrive_and_wait();
    if (!producer) out[r * 32 + lane] = 2 * buffer[31 - lane];
    taken.arrive_and_wait();
  }
}
__global__ void pipelined(const float* in, float* out, int batches) {
  constexpr int stages = 2;
  extern __shared__ float shared[];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto pipe = cuda::make_pipeline(block, &state);
  int size = block.size();
  for (int compute = 0, fetch = 0; compute < batches; ++compute) {
    for (; fetch < batches && fetch < compute + stages; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, shared + fetch % stages * size, in + fetch * size, sizeof(float) * size, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[compute * size + threadIdx.x] = shared[compute % stages * size + (threadIdx.x + 1) % size] + 1.f;
    pipe.consumer_release();
  }
}
__global__ void message(int* data, int* flag, int* result) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) { *data = 42; f.store(1, cuda::memory_order_release); }
  } else if (threadIdx.x == 0) {
    while (f.load(cuda::memory_order_acquire) == 0) __nanosleep(20);
    cuda::std::array<int, 2> a{*data, 1};
    auto t = cuda::std::make_tuple(a[0], a[1]);
    *result = cuda::std::get<0>(t) + cuda::std::get<1>(t);
  }
}
int main() {
  const int rounds = 5;
  std::vector<int> h(rounds * 32), got(rounds * 32);
  for (int i = 0; i < rounds * 32; i++) h[i] = i * i;
  int *in, *out; cudaMalloc(&in, h.size() * 4); cudaMalloc(&out, h.size() * 4);
  cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  produce_consume<<<1, 64>>>(in, out, rounds);
  cudaMemcpy(got.data(), out, h.size() * 4, cudaMemcpyDeviceToHost);
  bool ok = true;
  for (int i = 0; i < rounds * 32; i++) ok = ok && got[i] == 2 * h[i / 32 * 32 + 31 - i % 32];
  const int size = 64, batches = 6;
  std::vector<float> x(size * batches), y(size * batches);
  for (int i = 0; i < size * batches; i++) x[i] = i;
  float *dx, *dy; cudaMalloc(&dx, x.size() * 4); cudaMalloc(&dy, x.size() * 4);
  cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice);
  pipelined<<<1, size, 2 * size * sizeof(float)>>>(dx, dy, batches);
  cudaMemcpy(y.data(), dy, x.size() * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < size * batches; i++) ok = ok && y[i] == i / size * size + (i % size + 1) % size + 1.f;
  int *flags, r; cudaMalloc(&flags, 12); cudaMemset(flags, 0, 12);
  message<<<2, 32>>>(flags, flags + 1, flags + 2);
  cudaMemcpy(&r, flags + 2, 4, cudaMemcpyDeviceToHost);
  printf("%s, message %d: %s\n", ok ? "ok" : "wrong", r, cudaGetErrorString(cudaGetLastError()));
  return !ok || r != 43;
}
