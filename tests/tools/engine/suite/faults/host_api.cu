// Calls of the runtime that ask for what cannot be.
#include "pair.cuh"

__global__ void touch(int* x) { x[threadIdx.x] = 1; }
__global__ void __launch_bounds__(128) bounded(int* x) { x[threadIdx.x] = 1; }
extern __shared__ int dynamic[];
__global__ void with_dynamic(int* x) {
  dynamic[threadIdx.x] = 1;
  x[threadIdx.x] = dynamic[threadIdx.x];
}

// A copy of elements where bytes of a larger type were meant: it runs past the end of the source.
PAIR(copy_too_long) {
  int* x = zeros<int>(32);
  static long long on_host[32];
  cudaMemcpy(on_host, x, right ? 32 * sizeof(int) : 32 * sizeof(long long), cudaMemcpyDeviceToHost);  // FAULT copy_too_long memcheck invalid_copy
  settle();
}

// A device-to-device copy between arrays of different lengths.
PAIR(copy_between_lengths) {
  int *x = zeros<int>(64), *y = zeros<int>(48);
  cudaMemcpy(y, x, (right ? 48 : 64) * sizeof(int), cudaMemcpyDeviceToDevice);  // FAULT copy_between_lengths memcheck invalid_copy
  settle();
}

// An offset that belongs to elements, added to bytes.
PAIR(copy_with_offset) {
  char* x = zeros<char>(256);
  const char on_host[64] = {};
  cudaMemcpy(x + (right ? 192 : 224), on_host, 64, cudaMemcpyHostToDevice);  // FAULT copy_with_offset memcheck invalid_copy
  settle();
}

// Rows of a two-dimensional copy that are one too many.
PAIR(copy_one_row_too_many) {
  char* x = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&x, &pitch, 100, 8);
  static char on_host[9 * 100];
  cudaMemcpy2D(x, pitch, on_host, 100, 100, right ? 8 : 9, cudaMemcpyHostToDevice);  // FAULT copy_one_row_too_many memcheck invalid_copy
  settle();
}

// The direction says device to host, the pointers say otherwise.
PAIR(copy_in_the_wrong_direction) {
  int* x = zeros<int>(32);
  int on_host[32] = {};
  cudaMemcpy(x, on_host, 128, right ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);  // FAULT copy_in_the_wrong_direction memcheck invalid_copy
  settle();
}

// A copy from memory that was freed.
PAIR(copy_from_freed) {
  int* x = zeros<int>(32);
  int on_host[32];
  if (!right) cudaFree(x);
  cudaMemcpy(on_host, x, 128, cudaMemcpyDeviceToHost);  // FAULT copy_from_freed memcheck invalid_copy
  settle();
}

// A fill that runs past the end.
PAIR(fill_too_long) {
  int* x = zeros<int>(33);
  cudaMemset(x, 0, right ? 132 : 136);  // FAULT fill_too_long memcheck invalid_copy
  settle();
}

// More bytes to a symbol than it has.
__constant__ float taps[8];
PAIR(symbol_too_small) {
  const float on_host[16] = {};
  cudaMemcpyToSymbol(taps, on_host, (right ? 8 : 16) * sizeof(float));  // FAULT symbol_too_small memcheck invalid_copy
  settle();
}

// More threads in a block than a block can have.
PAIR(block_too_large) {
  touch<<<1, right ? dim3(1024) : dim3(64, 32)>>>(zeros<int>(2048));  // FAULT block_too_large memcheck invalid_launch
  settle();
}

// A grid of no blocks, from a rounded-down division.
PAIR(empty_grid) {
  const int n = 100;
  touch<<<right ? (n + 127) / 128 : n / 128, 128>>>(zeros<int>(128));  // FAULT empty_grid memcheck invalid_launch
  settle();
}

// A grid whose second dimension is too large.
PAIR(grid_too_tall) {
  touch<<<dim3(1, right ? 2 : 70000), 1>>>(zeros<int>(1));  // FAULT grid_too_tall memcheck invalid_launch
  settle();
}

// More threads than the kernel's launch bounds allow.
PAIR(beyond_launch_bounds) {
  bounded<<<1, right ? 128 : 256>>>(zeros<int>(256));  // FAULT beyond_launch_bounds memcheck invalid_launch
  settle();
}

// More dynamic shared memory than without the attribute.
PAIR(shared_without_attribute) {
  if (right) cudaFuncSetAttribute(with_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  with_dynamic<<<1, 32, 64 << 10>>>(zeros<int>(32));  // FAULT shared_without_attribute memcheck invalid_launch
  settle();
}
