// Values that nobody wrote.
#include <cuda_pipeline.h>

#include "pair.cuh"

template <class T>
T* raw(size_t n) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  return p;
}

// An input that was allocated and forgotten.
__global__ void scale(const float* x, float* y) {
  y[threadIdx.x] = 2 * x[threadIdx.x];  // FAULT never_filled initcheck uninitialized_global_read
}
PAIR(never_filled) {
  scale<<<1, 64>>>(right ? zeros<float>(64) : raw<float>(64), raw<float>(64));
  settle();
}

// The fill counts elements where it needs bytes.
__global__ void sum_up(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x] + 1;  // FAULT partly_filled initcheck uninitialized_global_read
}
PAIR(partly_filled) {
  int* x = raw<int>(64);
  cudaMemset(x, 0, right ? 64 * sizeof(int) : 64);
  sum_up<<<1, 64>>>(x, raw<int>(64));
  settle();
}

// A counter that atomics add to and nobody cleared.
__global__ void count(const int* x, unsigned* counter) {
  if (x[threadIdx.x] == 0) atomicAdd(counter, 1u);  // FAULT counter_not_cleared initcheck uninitialized_global_read
}
PAIR(counter_not_cleared) {
  count<<<1, 64>>>(zeros<int>(64), right ? zeros<unsigned>(1) : raw<unsigned>(1));
  settle();
}

// An output that is accumulated into.
__global__ void accumulate(const float* x, float* y) {
  y[threadIdx.x] += x[threadIdx.x];  // FAULT accumulated_output initcheck uninitialized_global_read
}
PAIR(accumulated_output) {
  accumulate<<<1, 64>>>(zeros<float>(64), right ? zeros<float>(64) : raw<float>(64));
  settle();
}

// A producer that leaves out every element behind a condition.
template <bool right>
__global__ void produce(const int* x, int* y) {
  if (right || threadIdx.x % 4 != 3) y[threadIdx.x] = x[threadIdx.x];
}
__global__ void consume(const int* y, int* z) {
  z[threadIdx.x] = y[threadIdx.x];  // FAULT holes_between_kernels initcheck uninitialized_global_read
}
PAIR(holes_between_kernels) {
  int* y = raw<int>(64);
  produce<right><<<1, 64>>>(zeros<int>(64), y);
  consume<<<1, 64>>>(y, raw<int>(64));
  settle();
}

// Padding of a struct that a bytewise hash reads.
struct Key {
  char kind;
  int value;
};
__global__ void make_keys(Key* keys) {
  keys[threadIdx.x].kind = 1;
  keys[threadIdx.x].value = threadIdx.x;
}
__global__ void hash(const Key* keys, unsigned* y) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&keys[threadIdx.x]);
  unsigned h = 2166136261u;
#pragma unroll 1
  for (int k = 0; k < 8; ++k) h = (h ^ bytes[k]) * 16777619u;  // FAULT padding_hashed initcheck uninitialized_global_read
  y[threadIdx.x] = h;
}
PAIR(padding_hashed) {
  Key* keys = right ? zeros<Key>(32) : raw<Key>(32);
  make_keys<<<1, 32>>>(keys);
  hash<<<1, 32>>>(keys, raw<unsigned>(32));
  settle();
}

// The tail of a vector load that the producer did not write.
__global__ void three(float* x) {
  for (int k = 0; k < 3; ++k) x[4 * threadIdx.x + k] = k;
}
__global__ void four(const float4* x, float* y) {
  const float4 v = x[threadIdx.x];  // FAULT vector_tail initcheck uninitialized_global_read
  y[threadIdx.x] = v.x + v.w;
}
PAIR(vector_tail) {
  float* x = right ? zeros<float>(128) : raw<float>(128);
  three<<<1, 32>>>(x);
  four<<<1, 32>>>(reinterpret_cast<float4*>(x), raw<float>(32));
  settle();
}

// Shared memory beyond what the block loaded.
template <bool right>
__global__ void tile(const int* x, int* y, int n) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  if (i < n) s[i] = x[i];
  else if (right) s[i] = 0;
  __syncthreads();
  y[i] = s[63 - i];  // FAULT shared_tail initcheck uninitialized_shared_read
}
PAIR(shared_tail) {
  tile<right><<<1, 64>>>(zeros<int>(64), raw<int>(64), 50);
  settle();
}

// A shared accumulator that no thread cleared.
template <bool right>
__global__ void block_sum(const int* x, int* y) {
  __shared__ int total;
  if (right && threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, x[threadIdx.x]);  // FAULT shared_accumulator initcheck uninitialized_shared_read
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
PAIR(shared_accumulator) {
  block_sum<right><<<2, 64>>>(zeros<int>(64), raw<int>(2));
  settle();
}

// The second block relies on what the first left in shared memory.
extern __shared__ int dynamic[];
template <bool right>
__global__ void once(int* y) {
  if (right || blockIdx.x == 0) dynamic[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = dynamic[threadIdx.x ^ 1];  // FAULT shared_of_another_block initcheck uninitialized_shared_read
}
PAIR(shared_of_another_block) {
  once<right><<<2, 32, 128>>>(raw<int>(64));
  settle();
}

// A local array of which only the even elements are set.
template <bool right>
__global__ void local_holes(const int* order, int* y) {
  int local[16];
#pragma unroll 1
  for (int k = 0; k < 16; k += right ? 1 : 2) local[order[k]] = k;
  y[threadIdx.x] = local[order[threadIdx.x]];  // FAULT local_holes initcheck uninitialized_local_read
}
PAIR(local_holes) {
  int order[16];
  for (int k = 0; k < 16; ++k) order[k] = k;
  int* on_device = raw<int>(16);
  cudaMemcpy(on_device, order, sizeof order, cudaMemcpyHostToDevice);
  local_holes<right><<<1, 16>>>(on_device, raw<int>(16));
  settle();
}

// Unwritten values that a shuffle hands on.
__global__ void exchanged(const float* x, float* y) {
  const float mine = x[threadIdx.x];  // FAULT through_a_shuffle initcheck uninitialized_global_read
  y[threadIdx.x] = mine + __shfl_down_sync(0xffffffffu, mine, 1);
}
PAIR(through_a_shuffle) {
  float* x = raw<float>(32);
  cudaMemset(x, 0, right ? 128 : 124);
  exchanged<<<1, 32>>>(x, raw<float>(32));
  settle();
}

// A result that no kernel wrote is copied to the host.
template <bool right>
__global__ void half(int* y) {
  if (right || threadIdx.x < 16) y[threadIdx.x] = 1;
}
PAIR(copied_to_the_host) {
  int* y = raw<int>(32);
  int on_host[32];
  half<right><<<1, 32>>>(y);
  cudaMemcpy(on_host, y, sizeof on_host, cudaMemcpyDeviceToHost);  // FAULT copied_to_the_host initcheck uninitialized_copy
  settle();
}

__global__ void after_copy(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];  // FAULT copied_on_the_device initcheck uninitialized_global_read
}
// What a copy on the device hands on is as unwritten as before.
PAIR(copied_on_the_device) {
  int *x = right ? zeros<int>(32) : raw<int>(32), *y = raw<int>(32);
  cudaMemcpy(y, x, 128, cudaMemcpyDeviceToDevice);
  after_copy<<<1, 32>>>(y, raw<int>(32));
  settle();
}

// Memory of the device heap.
template <bool right>
__global__ void heap(int* y) {
  int* mine = static_cast<int*>(malloc(64));
  if (right) mine[threadIdx.x] = 1;
  y[threadIdx.x] = mine[threadIdx.x];  // FAULT heap_not_written initcheck uninitialized_global_read
  free(mine);
}
PAIR(heap_not_written) {
  heap<right><<<1, 2>>>(raw<int>(2));
  settle();
}

// The source of an asynchronous copy.
__global__ void async_source(const float* x, float* y) {
  __shared__ float s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // FAULT async_copy_of_nothing initcheck uninitialized_global_read
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
PAIR(async_copy_of_nothing) {
  async_source<<<1, 32>>>(right ? zeros<float>(32) : raw<float>(32), raw<float>(32));
  settle();
}
