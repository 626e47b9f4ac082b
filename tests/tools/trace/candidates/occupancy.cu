// Asks for the occupancy of kernels whose resources the table makes up: an answer is a query of the trace.
#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

constexpr int kernels = 33;

template <int I>
__global__ void asked(float* y) { y[I] = 1; }

template <int... I>
static const void* of(int which, std::integer_sequence<int, I...>) {
  const void* all[] = {(const void*)asked<I>...};
  return all[which];
}

extern "C" int solve(const float* x, float* y, int n, int which, void* ws, size_t bytes, cudaStream_t stream) {
  constexpr int threads[] = {1, 32, 33, 64, 96, 128, 160, 256, 288, 384, 512, 640, 736, 768, 1024};
  constexpr int dynamic[] = {0, 1, 1000, 1024, 7168, 16384, 32768, 49152, 75776, 115712, 115713, 200000};
  const void* kernel = of(which, std::make_integer_sequence<int, kernels>());
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000);
  for (int t : threads)
    for (int d : dynamic) {
      int blocks = 0;
      if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, t, d)) return 1;
    }
  return 0;
}
extern "C" size_t workspace_bytes(int64_t) { return 4000; }
