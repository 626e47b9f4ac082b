// What stops a kernel by itself: assertions, traps, the stack, and calls of nothing.
#include <cassert>

#include "pair.cuh"

// An assertion that does not hold for one thread.
template <bool right>
__global__ void asserts(const int* x, int* y) {
  assert(x[threadIdx.x] == 0 || right);  // FAULT assertion memcheck assertion_failed
  y[threadIdx.x] = 1;
}
PAIR(assertion) {
  int* x = zeros<int>(32);
  cudaMemset(x + 9, 1, 4);
  asserts<right><<<1, 32>>>(x, zeros<int>(32));
  settle();
}

// A trap in what should never be reached.
template <bool right>
__global__ void traps(const int* x, int* y) {
  if (x[threadIdx.x] != 0 && !right) __trap();  // FAULT trap memcheck device_fault
  y[threadIdx.x] = 1;
}
PAIR(trap) {
  int* x = zeros<int>(32);
  cudaMemset(x + 3, 1, 4);
  traps<right><<<1, 32>>>(x, zeros<int>(32));
  settle();
}

// A recursion that does not end.
__device__ __noinline__ int depth(const int* x, int n) {
  int frame[16];
  for (int k = 0; k < 16; ++k) frame[k] = x[k & 3] + n;
  if (n > 0 && frame[n & 15] > 0) return frame[3];
  return depth(x, n + (x[0] == 0 ? 1 : -1)) + frame[n & 15];  // FAULT stack_overflow memcheck device_fault
}
template <bool right>
__global__ void recursion(const int* x, int* y) {
  y[threadIdx.x] = depth(x, right ? 1 : -1000000);
}
PAIR(stack_overflow) {
  recursion<right><<<1, 32>>>(zeros<int>(4), zeros<int>(32));
  settle();
}

// A function pointer that was never set.
using Function = int (*)(int);
__device__ Function chosen;
__device__ int twice(int x) { return 2 * x; }
__global__ void choose() { chosen = twice; }
__global__ void call(int* y) {
  y[threadIdx.x] = chosen(threadIdx.x);  // FAULT function_never_set memcheck device_fault
}
PAIR(function_never_set) {
  if (right) choose<<<1, 1>>>();
  call<<<1, 32>>>(zeros<int>(32));
  settle();
}
