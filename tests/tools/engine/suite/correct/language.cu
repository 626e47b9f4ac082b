// What the language has: heap, calls, recursion, virtual functions, local arrays, constants, printing.
#include <cassert>
#include <cstdio>
#include <new>

#include "../suite.cuh"

using suite::Array;

// A list on the device heap that one kernel makes, another walks and frees.
struct Link {
  int value;
  Link* next;
};
__global__ void make_list_kernel(Link** heads, const int* lengths) {
  Link* head = nullptr;
  for (int k = 0; k < lengths[threadIdx.x]; ++k) {
    auto* made = static_cast<Link*>(malloc(sizeof(Link)));
    made->value = k * threadIdx.x;
    made->next = head;
    head = made;
  }
  heads[threadIdx.x] = head;
}
__global__ void free_list_kernel(Link** heads, int* y) {
  int sum = 0;
  for (Link* at = heads[threadIdx.x]; at;) {
    Link* next = at->next;
    sum = sum * 3 + at->value;
    free(at);
    at = next;
  }
  y[threadIdx.x] = sum;
}
CASE(lists_on_the_device_heap) {
  const Array<Link*> heads(32);
  const Array<int> lengths(suite::numbers(32, 6)), y(32);
  make_list_kernel<<<1, 32>>>(heads, lengths);
  free_list_kernel<<<1, 32>>>(heads, y);
  y.show("y");
}

// Each block takes one piece of heap for all its threads.
__global__ void block_heap_kernel(int* y) {
  __shared__ int* room;
  if (threadIdx.x == 0) room = new int[blockDim.x];
  __syncthreads();
  room[threadIdx.x] = threadIdx.x * blockIdx.x;
  __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) delete[] room;
}
CASE(heap_for_a_block) {
  const Array<int> y(192);
  block_heap_kernel<<<3, 64>>>(y);
  y.show("y");
}

// Virtual functions of objects made on the device.
struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Rectangle : Square {
  int other;
  __device__ Rectangle(int a, int b) : Square(a), other(b) {}
  __device__ int area() const override { return side * other + static_cast<int>(Square::area() % 7); }
};
__global__ void shapes_kernel(int* y) {
  const int i = threadIdx.x;
  Shape* shape = i % 3 == 0 ? static_cast<Shape*>(new Square(i)) : new Rectangle(i, i % 5);
  y[i] = shape->area();
  delete shape;
}
CASE(virtual_functions) {
  const Array<int> y(64);
  shapes_kernel<<<1, 64>>>(y);
  y.show("y");
}

// Pointers to functions in a table, different for each lane.
__device__ __noinline__ int add_up(int a, int b) { return a + b; }
__device__ __noinline__ int take_away(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
using Operation = int (*)(int, int);
__device__ Operation operations[] = {add_up, take_away, multiply};
__global__ void table_kernel(const int* x, int* y) {
  const int i = threadIdx.x;
  int v = i;
  for (int k = 0; k < 4; ++k) v = operations[(x[i] >> k) % 3](v, k + 2);
  y[i] = v;
}
CASE(table_of_functions) {
  const Array<int> x(suite::numbers(64, 1000)), y(64);
  table_kernel<<<1, 64>>>(x, y);
  y.show("y");
}

// Recursion whose depth differs between lanes, with arrays in each frame.
__device__ __noinline__ int descend(const int* x, int from, int to) {
  if (to - from <= 2) return to - from == 2 ? max(x[from], x[from + 1]) : x[from];
  int results[3];
  const int third = (to - from) / 3;
  for (int k = 0; k < 3; ++k) results[k] = descend(x, from + k * third, k == 2 ? to : from + (k + 1) * third);
  return max(results[0], max(results[1], results[2])) + 1;
}
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__global__ void recursion_kernel(const int* x, int* y) {
  y[threadIdx.x] = descend(x, 0, threadIdx.x + 1) * 100 + ackermann(2, threadIdx.x % 3);
}
CASE(recursion_of_differing_depth) {
  const Array<int> x(suite::numbers(64, 1000)), y(64);
  recursion_kernel<<<1, 64>>>(x, y);
  y.show("y");
}

// Local arrays with indices known only at run time, and memory from alloca.
__global__ void local_kernel(const int* x, int* y) {
  const int i = threadIdx.x;
  int digits[10], order[10];
  for (int k = 0; k < 10; ++k) digits[k] = 0, order[k] = 9 - k;
  for (int v = x[i]; v; v /= 10) ++digits[v % 10];
  for (int k = 1; k < 10; ++k)
    for (int j = k; j > 0 && digits[order[j]] > digits[order[j - 1]]; --j) {
      const int t = order[j];
      order[j] = order[j - 1];
      order[j - 1] = t;
    }
  const int n = x[i] % 7 + 1;
  auto* room = static_cast<int*>(alloca(n * sizeof(int)));
  for (int k = 0; k < n; ++k) room[k] = order[k] * k;
  int sum = 0;
  for (int k = n; k-- > 0;) sum = sum * 5 + room[k];
  y[i] = sum;
}
CASE(local_arrays_and_alloca) {
  const Array<int> x(suite::numbers(64, 100000)), y(64);
  local_kernel<<<1, 64>>>(x, y);
  y.show("y");
}

// Constants, module variables with initial values, and shared state between launches.
__constant__ int weights[5] = {1, -2, 3, -2, 1};
__device__ int counter = 5;
__device__ const float scale = 0.5f;
__global__ void constant_kernel(const int* x, float* y) {
  const int i = threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 5; ++k) sum += weights[k] * x[i + k];
  y[i] = sum * scale + weights[i % 5];
  if (i == 0) ++counter;
}
CASE(constants_and_module_variables) {
  const Array<int> x(suite::numbers(68, 100));
  const Array<float> y(64);
  constant_kernel<<<1, 64>>>(x, y);
  const int changed[2] = {7, 9};
  cudaMemcpyToSymbol(weights, changed, sizeof changed, sizeof(int));
  constant_kernel<<<1, 64>>>(x, y);
  int count = 0;
  cudaMemcpyFromSymbol(&count, counter, sizeof count);
  y.show("y");
  std::printf("counter %d\n", count);
}

// Lambdas and templates over them.
template <int rounds, class F>
__global__ void apply_kernel(int* y, F f) {
  int v = threadIdx.x;
#pragma unroll
  for (int k = 0; k < rounds; ++k) v = f(v, k);
  y[threadIdx.x] = v;
}
CASE(lambdas_and_templates) {
  const Array<int> y(64), z(64);
  const int a = 3, b = 11;
  apply_kernel<4><<<1, 64>>>(y, [a, b] __device__(int v, int k) { return v * a + b - k; });
  apply_kernel<7><<<1, 64>>>(z, [=] __device__(int v, int k) { return v % 2 ? v * 3 + 1 : v / 2 + k; });
  y.show("y");
  z.show("z");
}

// Printing by one thread, an assertion that holds, clocks that go forward.
__global__ void saying_kernel(const int* x, int* y) {
  const long long before = clock64();
  const int i = threadIdx.x;
  assert(x[i] >= 0);
  if (i == 5) printf("thread %d of %u: %d %.3f %s %c %llx\n", i, blockDim.x, x[i], x[i] * 0.5, "text", 'c', 1ull << 40);
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  y[i] = (clock64() >= before) + (time > 0) * 2;
}
CASE(printf_assert_and_clocks) {
  const Array<int> x(suite::numbers(32, 1000)), y(32);
  saying_kernel<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  y.show("y");
}

// Launch bounds, an early return and a switch with many ways.
__global__ void __launch_bounds__(96, 2) ways_kernel(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i];
  for (int k = 0; k < 6; ++k) {
    switch ((v + k) % 9) {
      case 0: v += 5; break;
      case 1: v *= 3; [[fallthrough]];
      case 2: v -= 7; break;
      case 3: v ^= 0x55; break;
      case 4: continue;
      case 5: v = -v; break;
      case 6: v <<= 1; break;
      case 7:
        if (v > 100) goto out;
        v += k;
        break;
      default: v >>= 1;
    }
  }
out:
  y[i] = v;
}
CASE(switch_with_many_ways) {
  const Array<int> x(suite::numbers(200, 1000)), y(200);
  ways_kernel<<<3, 96>>>(x, y, 200);
  y.show("y");
}
