// Memory that is no longer there, was never allocated that way, or is never given back.
#include "pair.cuh"

__global__ void add_one(int* x) {
  x[threadIdx.x] += 1;  // FAULT kernel_after_free memcheck use_after_free_read // FAULT kernel_after_free memcheck use_after_free_write
}
// A kernel gets an array that was freed.
PAIR(kernel_after_free) {
  int* x = zeros<int>(32);
  if (!right) cudaFree(x);
  add_one<<<1, 32>>>(x);
  settle();
}

__device__ int* kept;
__global__ void keep(int* x) { kept = x; }
__global__ void use_kept() {
  atomicAdd(kept, 1);  // FAULT pointer_kept_on_device memcheck use_after_free_atomic
}
// A pointer that the device kept from an earlier launch.
PAIR(pointer_kept_on_device) {
  int* x = zeros<int>(1);
  keep<<<1, 1>>>(x);
  settle();
  if (!right) cudaFree(x);
  use_kept<<<1, 1>>>();
  settle();
}

// The same memory freed twice by the host.
PAIR(host_double_free) {
  int* x = zeros<int>(32);
  cudaFree(x);
  if (!right) cudaFree(x);  // FAULT host_double_free memcheck double_free
  settle();
}

// A pointer into an allocation is freed.
PAIR(free_inside) {
  int* x = zeros<int>(32);
  cudaFree(right ? x : x + 8);  // FAULT free_inside memcheck invalid_free
  settle();
}

// Host memory given to cudaFree.
PAIR(free_host_pointer) {
  int* x = zeros<int>(32);
  int on_host[4];
  cudaFree(right ? x : on_host);  // FAULT free_host_pointer memcheck invalid_free
  settle();
}

__global__ void add_last(int* x) {
  x[threadIdx.x] = 1;  // FAULT async_free_then_use memcheck use_after_free_write
}
// Stream-ordered memory used by the stream after it was freed there.
PAIR(async_free_then_use) {
  int* x = nullptr;
  cudaMallocAsync(&x, 128, 0);
  cudaMemsetAsync(x, 0, 128, 0);
  if (!right) cudaFreeAsync(x, 0);
  add_last<<<1, 32>>>(x);
  if (right) cudaFreeAsync(x, 0);
  settle();
}

// A device thread frees twice.
template <bool right>
__global__ void free_twice(int* y) {
  int* mine = static_cast<int*>(malloc(16));
  mine[0] = threadIdx.x;
  y[threadIdx.x] = mine[0];
  free(mine);
  if (!right) free(mine);  // FAULT device_double_free memcheck double_free
}
PAIR(device_double_free) {
  free_twice<right><<<1, 2>>>(zeros<int>(2));
  settle();
}

// A device thread frees what malloc did not return.
template <bool right>
__global__ void free_middle(int* y) {
  int* mine = static_cast<int*>(malloc(64));
  mine[4] = threadIdx.x;
  y[threadIdx.x] = mine[4];
  free(right ? mine : mine + 4);  // FAULT device_free_inside memcheck invalid_free
}
PAIR(device_free_inside) {
  free_middle<right><<<1, 1>>>(zeros<int>(1));
  settle();
}

// One thread frees what another still reads.
template <bool right>
__global__ void free_too_early(int* y) {
  __shared__ int* mine;
  if (threadIdx.x == 0) {
    mine = static_cast<int*>(malloc(256));
    for (int k = 0; k < 64; ++k) mine[k] = k;
  }
  __syncthreads();
  if (!right && threadIdx.x == 0) free(mine);
  __syncthreads();
  y[threadIdx.x] = mine[threadIdx.x];  // FAULT device_use_after_free memcheck use_after_free_read
  __syncthreads();
  if (right && threadIdx.x == 0) free(mine);
}
PAIR(device_use_after_free) {
  free_too_early<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// The address of a local variable outlives its function and thread.
struct Work {
  const int* input;
};
__global__ void publish(Work* work, int* y) {
  int local[4];
  for (int k = 0; k < 4; ++k) local[k] = y[k];
  work->input = local;
}
__global__ void consume(const Work* work, int* y) {
  y[threadIdx.x] = work->input[0];  // FAULT-OR address_of_local memcheck invalid_local_read // FAULT-OR address_of_local memcheck invalid_global_read
}
CASE(address_of_local) {
  Work* work = zeros<Work>(1);
  int* y = zeros<int>(4);
  publish<<<1, 1>>>(work, y);
  consume<<<1, 1>>>(work, y);
  settle();
}

// Never given back: reported where leaks are asked for.
PAIR(leak_of_the_host) {
  int* x = nullptr;
  cudaMalloc(&x, 1000);  // FAULT leak_of_the_host memcheck leak
  add_last<<<1, 32>>>(x);
  settle();
  if (right) cudaFree(x);
}

// Memory of the device heap that no thread frees.
template <bool right>
__global__ void forget(int* y) {
  int* mine = static_cast<int*>(malloc(48));  // FAULT leak_of_the_device memcheck leak
  mine[0] = 5;
  y[0] = mine[0];
  if (right) free(mine);
}
PAIR(leak_of_the_device) {
  int* y = zeros<int>(1);
  forget<right><<<1, 1>>>(y);
  settle();
  cudaFree(y);
}
