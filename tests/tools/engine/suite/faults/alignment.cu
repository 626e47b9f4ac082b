// Addresses that aren't multiples of the access's width.
#include <cuda_pipeline.h>

#include "pair.cuh"

// An int in the middle of bytes.
template <bool right>
__global__ void header(const unsigned char* packet, int* y) {
  y[0] = *reinterpret_cast<const int*>(packet + (right ? 8 : 5));  // FAULT scalar_in_bytes memcheck misaligned_global_read
}
PAIR(scalar_in_bytes) {
  header<right><<<1, 1>>>(zeros<unsigned char>(64), zeros<int>(1));
  settle();
}

// float4 from a row whose length is no multiple of four.
template <bool right>
__global__ void rows(const float* x, float* y, int width) {
  const float4 v = *reinterpret_cast<const float4*>(x + threadIdx.x * width);  // FAULT vector_in_rows memcheck misaligned_global_read
  y[threadIdx.x] = v.x + v.w;
}
PAIR(vector_in_rows) {
  rows<right><<<1, 8>>>(zeros<float>(128), zeros<float>(8), right ? 8 : 7);
  settle();
}

// A double in a struct that was laid out without padding.
template <bool right>
__global__ void packed(char* record) {
  *reinterpret_cast<double*>(record + 12 * threadIdx.x + (right ? 12 * threadIdx.x : 0)) = 1;  // FAULT double_at_four memcheck misaligned_global_write
}
PAIR(double_at_four) {
  packed<right><<<1, 4>>>(zeros<char>(128));
  settle();
}

// A vector store to shared memory behind an odd number of floats.
template <bool right>
__global__ void shared_vector(float* y) {
  __shared__ __align__(16) float s[72];
  const int i = threadIdx.x;
  *reinterpret_cast<float2*>(&s[2 * i + (right ? 2 : 1)]) = make_float2(i, i);  // FAULT shared_vector_store memcheck misaligned_shared_write
  __syncthreads();
  y[i] = right ? s[2 * i + 2] : 0;
}
PAIR(shared_vector_store) {
  shared_vector<right><<<1, 32>>>(zeros<float>(32));
  settle();
}

// A 64-bit atomic on a 32-bit slot.
template <bool right>
__global__ void wide_atomic(unsigned* x) {
  atomicAdd(reinterpret_cast<unsigned long long*>(x + (right ? 2 : 1)), 1ull);  // FAULT atomic_at_four memcheck misaligned_global_atomic
}
PAIR(atomic_at_four) {
  wide_atomic<right><<<1, 1>>>(zeros<unsigned>(4));
  settle();
}

// The target of an asynchronous copy of 16 bytes.
template <bool right>
__global__ void async_target(const float* x, float* y) {
  __shared__ __align__(16) float s[72];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * i + (right ? 0 : 2)], &x[4 * i], 16);  // FAULT async_misaligned memcheck misaligned_shared_write
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[i] = right ? s[4 * i] : 0;
}
PAIR(async_misaligned) {
  async_target<right><<<1, 16>>>(zeros<float>(64), zeros<float>(16));
  settle();
}

// Local memory: a short array read as one long.
template <bool right>
__global__ void local_cast(const int* from, long long* y) {
  __align__(8) int local[6];
#pragma unroll 1
  for (int k = 0; k < 6; ++k) local[from[k]] = k;
  y[0] = *reinterpret_cast<long long*>(&local[right ? 2 : from[1]]);  // FAULT local_misaligned memcheck misaligned_local_read
}
PAIR(local_misaligned) {
  int* from = zeros<int>(6);
  const int order[6] = {0, 1, 2, 3, 4, 5};
  cudaMemcpy(from, order, sizeof order, cudaMemcpyHostToDevice);
  local_cast<right><<<1, 1>>>(from, zeros<long long>(1));
  settle();
}
