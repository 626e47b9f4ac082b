// expect: ok
// Device malloc and a linked list, recursion, virtual functions, function pointers, device lambdas, printf, assert, clock64.
// flags: --extended-lambda
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>
struct Node { int value; Node* next; };
__device__ Node* head;
__global__ void push(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node* fresh = (Node*)malloc(sizeof(Node));
  assert(fresh != nullptr);
  fresh->value = i;
  unsigned long long seen, old = (unsigned long long)head;
  do {
    seen = old;
    fresh->next = (Node*)seen;
    __threadfence();
    old = atomicCAS((unsigned long long*)&head, seen, (unsigned long long)fresh);
  } while (old != seen);
}
__global__ void drain(int* sum, int* count) {
  for (Node* p = head; p;) { *sum += p->value; ++*count; Node* next = p->next; free(p); p = next; }
  head = nullptr;
}
__device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
struct Shape { __device__ virtual ~Shape() {} __device__ virtual float area() const = 0; };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.0f * r * r; } };
__global__ void shapes(float* out) {
  Shape* s = threadIdx.x % 2 ? (Shape*)new Square(threadIdx.x) : (Shape*)new Circle(threadIdx.x);
  out[threadIdx.x] = s->area();
  delete s;
}
typedef int (*Op)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Op ops[2] = {plus, times};
__global__ void apply(Op* chosen, int* out) {
  out[0] = ackermann(2, 3);
  out[1] = chosen[0](6, 7) * 100 + ops[1](6, 7);
  long long t0 = clock64();
  __nanosleep(100);
  out[2] = clock64() >= t0;
  if (threadIdx.x == 0) printf("block %d says %d %s %5.2f\n", blockIdx.x, out[0], "hello", 1.5);
}
template <class F> __global__ void for_each(int n, F f) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) f(i); }
int main() {
  int* r; cudaMallocManaged(&r, 16 * sizeof(int)); for (int i = 0; i < 16; i++) r[i] = 0;
  push<<<3, 40>>>(100);
  drain<<<1, 1>>>(r, r + 1);
  float* areas; cudaMallocManaged(&areas, 32 * sizeof(float));
  shapes<<<1, 32>>>(areas);
  Op* chosen; cudaMalloc(&chosen, sizeof(Op));
  Op host; cudaMemcpyFromSymbol(&host, ops, sizeof(Op)); cudaMemcpy(chosen, &host, sizeof(Op), cudaMemcpyHostToDevice);
  apply<<<1, 1>>>(chosen, r + 2);
  int* sq = r + 8; int scale = 3;
  for_each<<<1, 32>>>(8, [=] __device__(int i) { sq[i] = scale * i * i; });
  cudaError_t e = cudaDeviceSynchronize();
  bool ok = e == cudaSuccess && r[0] == 99 * 50 && r[1] == 100 && r[2] == 9 && r[3] == 1342 && r[4] == 1;
  for (int i = 0; i < 32; i++) ok = ok && areas[i] == (i % 2 ? 1.f : 3.f) * i * i;
  for (int i = 0; i < 8; i++) ok = ok && sq[i] == 3 * i * i;
  printf("%s %s\n", ok ? "ok" : "wrong", cudaGetErrorString(e));
  return !ok;
}
