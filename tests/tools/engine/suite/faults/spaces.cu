// Out of range by memory space: shared (static, dynamic, beyond the carve-out), local, constant, managed, device heap, module variables.
#include "pair.cuh"

// The index of a static shared array is one too large.
template <bool right>
__global__ void shared_static(int* y) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  s[right ? i : i + 1] = i;  // FAULT shared_static_end memcheck invalid_shared_write
  __syncthreads();
  y[i] = s[i ? i : 1];
}
PAIR(shared_static_end) {
  shared_static<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// Less dynamic shared memory than the kernel uses.
extern __shared__ float dynamic[];
__global__ void reverse(float* y) {
  const int i = threadIdx.x;
  dynamic[i] = i;  // FAULT dynamic_too_small memcheck invalid_shared_write
  __syncthreads();
  y[i] = dynamic[blockDim.x - 1 - i];  // FAULT dynamic_too_small memcheck invalid_shared_read
}
PAIR(dynamic_too_small) {
  reverse<<<1, 128, (right ? 128 : 100) * sizeof(float)>>>(zeros<float>(128));
  settle();
}

// Dynamic shared memory forgotten altogether.
__global__ void doubled(float* y) {
  float* twice = dynamic;
  twice[threadIdx.x] = y[threadIdx.x] * 2;  // FAULT-OR dynamic_forgotten memcheck invalid_shared_write
  y[threadIdx.x] = twice[threadIdx.x];      // FAULT-OR dynamic_forgotten memcheck invalid_shared_read
}
PAIR(dynamic_forgotten) {
  doubled<<<1, 32, right ? 128 : 0>>>(zeros<float>(32));
  settle();
}

// A negative index of shared memory.
template <bool right>
__global__ void halo(float* y) {
  __shared__ float s[34];
  const int i = threadIdx.x;
  s[i + 1] = i;
  if (i == 0) s[0] = s[33] = 0;
  __syncthreads();
  y[i] = s[right ? i : i - 1] + s[i + 2 - !right];  // FAULT shared_before memcheck invalid_shared_read
}
PAIR(shared_before) {
  halo<right><<<1, 32>>>(zeros<float>(32));
  settle();
}

// An atomic in shared memory with an unchecked key.
template <bool right>
__global__ void tally(const int* keys, int* out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  const int key = keys[threadIdx.x];
  atomicAdd(&bins[right ? key & 15 : key], 1);  // FAULT shared_atomic_key memcheck invalid_shared_atomic
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
PAIR(shared_atomic_key) {
  int* keys = zeros<int>(32);
  const int wild = 1000;
  cudaMemcpy(keys + 3, &wild, 4, cudaMemcpyHostToDevice);
  tally<right><<<1, 32>>>(keys, zeros<int>(16));
  settle();
}

// A shared address through a generic pointer, in a function that isn't inlined.
__device__ __noinline__ void put(int* p, int at, int value) {
  p[at] = value;  // FAULT shared_by_generic memcheck invalid_shared_write
}
template <bool right>
__global__ void generic(int* y) {
  __shared__ int s[32];
  put(s, threadIdx.x, 1);
  put(s, right ? 0 : 64 + threadIdx.x, 1);
  __syncwarp();
  put(y, threadIdx.x, s[threadIdx.x]);
}
CASE(shared_by_generic) {
  generic<false><<<1, 32>>>(zeros<int>(32));
  settle();
}

// A local array with an index from memory, far outside the frame.
template <bool right>
__global__ void digits(const int* order, int* y) {
  int local[8];
#pragma unroll 1
  for (int k = 0; k < 8; ++k) local[k] = order[k] * 3;
  y[threadIdx.x] = local[right ? order[threadIdx.x] & 7 : order[threadIdx.x]];  // FAULT local_index memcheck invalid_local_read
}
PAIR(local_index) {
  int* order = zeros<int>(32);
  const int wild = 5000;
  cudaMemcpy(order + 9, &wild, 4, cudaMemcpyHostToDevice);
  digits<right><<<1, 32>>>(order, zeros<int>(32));
  settle();
}

// A stack of a depth-first search that is too small for its tree.
template <bool right>
__global__ void search(const int* children, int* y, int rounds) {
  int stack[16];
  int top = 0;
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) {
    stack[top] = children[k];  // FAULT local_stack memcheck invalid_local_write
    if (!right || top < 15) ++top;
  }
  y[threadIdx.x] = stack[children[threadIdx.x]];
}
PAIR(local_stack) {
  search<right><<<1, 1>>>(zeros<int>(300), zeros<int>(1), 300);
  settle();
}

// A module variable's array.
__device__ int table[100];
template <bool right>
__global__ void variable(int* y) {
  y[threadIdx.x] = table[right ? threadIdx.x : threadIdx.x + 96];  // FAULT variable_end memcheck invalid_global_read
}
PAIR(variable_end) {
  variable<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// Constant memory beyond its array.
__constant__ float weights[5];
__device__ __noinline__ void set(float* x, float value) {
  x[threadIdx.x] = value;  // FAULT constant_store memcheck invalid_constant_write
}
template <bool right>
__global__ void weighted(float* y, int taps) {
  float sum = 0;
  for (int k = 0; k < taps; ++k) sum += weights[k * (right ? 1 : 4000)];  // FAULT constant_index memcheck invalid_constant_read
  y[threadIdx.x] = sum;
}
PAIR(constant_index) {
  weighted<right><<<1, 32>>>(zeros<float>(32), 5);
  settle();
}

// A store to constant memory behind the compiler's back.
template <bool right>
__global__ void overwrite(float* y) {
  if (threadIdx.x >= 5) set(y, 2);
  else set(right ? y : const_cast<float*>(weights), weights[threadIdx.x] + 1);
}
PAIR(constant_store) {
  overwrite<right><<<1, 8>>>(zeros<float>(8));
  settle();
}

// Managed memory past its end.
__global__ void fill(int* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = i;  // FAULT managed_end memcheck invalid_global_write
}
PAIR(managed_end) {
  int* x = nullptr;
  cudaMallocManaged(&x, 100 * sizeof(int));
  fill<<<1, 32>>>(x, right ? 100 : 101);
  settle();
}

// Memory of the device heap past its end.
template <bool right>
__global__ void heap(int* y) {
  int* mine = static_cast<int*>(malloc(8 * sizeof(int)));
  if (!mine) return;
  for (int k = 0; k < 8; ++k) mine[k] = k;
  mine[right ? 7 : 8] = y[threadIdx.x];  // FAULT heap_end memcheck invalid_global_write
  y[threadIdx.x] = mine[3];
  free(mine);
}
PAIR(heap_end) {
  heap<right><<<1, 4>>>(zeros<int>(4));
  settle();
}

// The device heap is exhausted and nobody looks: a null pointer.
template <bool right>
__global__ void exhausted(int* y) {
  int* mine = static_cast<int*>(malloc(size_t{1} << 40));
  if (right && !mine) return;
  mine[0] = 1;  // FAULT heap_exhausted memcheck invalid_global_write
  y[threadIdx.x] = mine[0];  // FAULT-OR heap_exhausted memcheck invalid_global_read
}
PAIR(heap_exhausted) {
  exhausted<right><<<1, 1>>>(zeros<int>(1));
  settle();
}
