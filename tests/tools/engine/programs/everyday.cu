// Ordinary CUDA C++, each kernel against values computed on the host: prints `ok NAME` or `FAIL NAME`.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <vector>

namespace cg = cooperative_groups;

template <class T>
struct Buffer {
  T* at = nullptr;
  size_t n;
  explicit Buffer(size_t count) : n(count) { cudaMalloc(&at, n * sizeof(T)), cudaMemset(at, 0, n * sizeof(T)); }
  explicit Buffer(const std::vector<T>& v) : n(v.size()) { cudaMalloc(&at, n * sizeof(T)), cudaMemcpy(at, v.data(), n * sizeof(T), cudaMemcpyHostToDevice); }
  ~Buffer() { cudaFree(at); }
  std::vector<T> get() const {
    std::vector<T> v(n);
    cudaMemcpy(v.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }
};
static void verdict(const char* name, bool good) {
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("%s %s%s%s\n", good && e == cudaSuccess ? "ok" : "FAIL", name, e == cudaSuccess ? "" : " ", e == cudaSuccess ? "" : cudaGetErrorString(e));
}
static std::vector<float> ramp(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>((i * 37) % 101) * 0.25f - 7.f;
  return v;
}
static std::vector<int> numbers(size_t n) {
  std::vector<int> v(n);
  unsigned x = 12345;
  for (auto& i : v) x = x * 1664525u + 1013904223u, i = static_cast<int>(x >> 8) - 8000000;
  return v;
}

__global__ void reduce(const float* x, float* y, int n) {
  __shared__ float part[32];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
    if (threadIdx.x == 0) atomicAdd(y, s);
  }
}
__global__ void groups(const int* x, int* y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  const int v = x[block.thread_rank()] & 1023;
  y[block.thread_rank()] = cg::reduce(tile, v, cg::plus<int>()) + tile.shfl(v, 3) + __popc(tile.ballot(v & 1));
}
__global__ void cub_kernels(const int* x, int* sum, int* scan, int* sorted) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  __shared__ union { typename Reduce::TempStorage r; typename Scan::TempStorage s; typename Sort::TempStorage k; } t;
  const int s = Reduce(t.r).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) *sum = s;
  __syncthreads();
  int p;
  Scan(t.s).ExclusiveSum(x[threadIdx.x], p);
  scan[threadIdx.x] = p;
  __syncthreads();
  int k[4];
  for (int i = 0; i < 4; ++i) k[i] = x[threadIdx.x * 4 + i];
  Sort(t.k).Sort(k);
  for (int i = 0; i < 4; ++i) sorted[threadIdx.x * 4 + i] = k[i];
}
__global__ void integers(const int* x, long long* y) {
  const int i = threadIdx.x, a = x[i], b = x[i + 1] | 1;
  const long long w = static_cast<long long>(a) * b + i;
  long long r = a / b + a % b + abs(a) + min(a, b) + max(a, b) + __mulhi(a, b) + __popc(a) + __clz(a) + __ffs(a);
  r ^= static_cast<long long>(__brev(a)) << 7;
  r += w / b + w % 1000003 + (w >> (i & 31)) + static_cast<long long>(static_cast<unsigned long long>(w) >> 3) + __popcll(w) + __clzll(w);
  r += static_cast<unsigned>(a) / static_cast<unsigned>(b) + static_cast<short>(a) * 3 + static_cast<signed char>(b) + (a << (b & 15));
  r ^= __byte_perm(a, b, 0x5140) + __umulhi(a, b);
  y[i] = r;
}
static long long integers_host(int i, int a, int b) {
  b |= 1;
  const long long w = static_cast<long long>(a) * b + i;
  unsigned rev = 0;
  for (int k = 0; k < 32; ++k) rev |= (static_cast<unsigned>(a) >> k & 1) << (31 - k);
  long long r = a / b + a % b + std::abs(a) + (a < b ? a : b) + (a > b ? a : b) + static_cast<int>(static_cast<long long>(a) * b >> 32) + __builtin_popcount(a) +
                (a ? __builtin_clz(a) : 32) + __builtin_ffs(a);
  r ^= static_cast<long long>(rev) << 7;
  r += w / b + w % 1000003 + (w >> (i & 31)) + static_cast<long long>(static_cast<unsigned long long>(w) >> 3) + __builtin_popcountll(w) +
       (w ? __builtin_clzll(w) : 64);
  r += static_cast<long long>(static_cast<unsigned>(a) / static_cast<unsigned>(b) + static_cast<short>(a) * 3 + static_cast<signed char>(b) + (a << (b & 15)));
  const unsigned ua = a, ub = b;
  const unsigned perm = (ua & 255) | (ub & 255) << 8 | (ua >> 8 & 255) << 16 | (ub >> 8 & 255) << 24;
  r ^= perm + static_cast<unsigned>(static_cast<unsigned long long>(ua) * ub >> 32);
  return r;
}
__global__ void functions(const float* x, float* y, const double* d, double* e) {
  const int i = threadIdx.x;
  const float a = fabsf(x[i]) + 0.5f;
  y[i] = sinf(a) + cosf(a) * expf(-a) + logf(a) + powf(a, 1.5f) + sqrtf(a) + rsqrtf(a) + erff(a) + tanhf(a) + floorf(a) + fmodf(a, 2.f) + a / 3.f;
  e[i] = sin(d[i]) + exp(-d[i]) + log(d[i]) + pow(d[i], 0.3) + sqrt(d[i]) / 3.0 + floor(d[i]) + 1.0 / d[i];
}
__global__ void halves(const float* x, float* y) {
  const int i = threadIdx.x;
  const __half a = __float2half(x[i]), b = __float2half(x[i + 1]);
  const __half2 p = __halves2half2(a, b);
  const __half2 q = __hfma2(p, p, p);
  const __nv_bfloat16 c = __float2bfloat16(x[i]);
  y[i] = __half2float(a * b + a) + __low2float(q) - __high2float(q) + __bfloat162float(c * c + c) + (a < b ? 1.f : 2.f);
}
__global__ void histogram(const int* x, unsigned* y, int n) {
  __shared__ unsigned h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[x[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&y[threadIdx.x], h[threadIdx.x]);
}
__global__ void tensor(const half* a, const half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 1.f);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}
__global__ void pipeline(const float4* x, float* y, int stages) {
  __shared__ float4 s[2][64];
  auto p = cuda::make_pipeline();
  for (int i = 0; i < 2; ++i) {
    p.producer_acquire();
    cuda::memcpy_async(&s[i][threadIdx.x], x + i * 64 + threadIdx.x, sizeof(float4), p);
    p.producer_commit();
  }
  float v = 0;
  for (int i = 0; i < stages; ++i) {
    cuda::pipeline_consumer_wait_prior<1>(p);
    __syncthreads();
    v += s[i & 1][threadIdx.x ^ 1].y;
    __syncthreads();
    p.consumer_release();
    p.producer_acquire();
    if (i + 2 < stages) cuda::memcpy_async(&s[i & 1][threadIdx.x], x + (i + 2) * 64 + threadIdx.x, sizeof(float4), p);
    p.producer_commit();
  }
  y[threadIdx.x] = v;
}
__global__ void barriers(int* y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int v[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  int s = threadIdx.x;
  for (int i = 0; i < 4; ++i) {
    v[threadIdx.x] = s;
    bar.arrive_and_wait();
    s += v[(threadIdx.x + 1) % blockDim.x];
    bar.arrive_and_wait();
  }
  y[threadIdx.x] = s;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
struct Shape {
  __device__ virtual int area(int x) { return x; }
};
struct Square : Shape {
  __device__ int area(int x) override { return x * x; }
};
__global__ void calls(const int* x, int* y) {
  Shape a;
  Square b;
  Shape* s = x[0] != 1 && (threadIdx.x & 1) ? &b : &a;
  y[threadIdx.x] = fibonacci(threadIdx.x % 12) + s->area(threadIdx.x);
}
__constant__ float weights[3];
struct Parameters {
  int n;
  double scale;
  float bias[2];
};
__global__ void stencil(const float* x, float* y, Parameters p) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x + 1] = i < p.n ? x[i] : 0;
  if (threadIdx.x == 0) tile[0] = i ? x[i - 1] : 0;
  if (threadIdx.x == blockDim.x - 1) tile[threadIdx.x + 2] = i + 1 < p.n ? x[i + 1] : 0;
  __syncthreads();
  if (i < p.n) y[i] = static_cast<float>(p.scale) * (weights[0] * tile[threadIdx.x] + weights[1] * tile[threadIdx.x + 1] + weights[2] * tile[threadIdx.x + 2]) + p.bias[i & 1];
}
__global__ void locked(int* lock, int* count) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *count = *count + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
__device__ unsigned tickets;
__global__ void last_block(const float* x, float* part, float* y) {
  __shared__ bool last;
  __shared__ float s[64];
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0;
    for (int i = 0; i < 64; ++i) t += s[i];
    part[blockIdx.x] = t;
    __threadfence();
    last = atomicAdd(&tickets, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float t = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) t += part[i];
    *y = t;
  }
}
__global__ void grid_wide(int* x, int* y) {
  auto grid = cg::this_grid();
  const int i = grid.thread_rank(), n = grid.size();
  x[i] = i;
  grid.sync();
  y[i] = x[n - 1 - i];
}
template <int width>
__global__ void choose(const int* x, int* y) {
  int r;
  switch (x[threadIdx.x] & 7) {
    case 0: r = 5; break;
    case 1: r = x[1]; break;
    case 2: r = threadIdx.x * width; break;
    case 3: r = -1; break;
    case 4: r = 77; break;
    case 5: r = threadIdx.x; break;
    default: r = 9;
  }
  y[threadIdx.x] = r;
}

int main() {
  const int n = 10000;
  const auto f = ramp(n);
  const auto k = numbers(n);
  Buffer<float> df(f);
  Buffer<int> dk(k);
  {
    Buffer<float> y(1);
    reduce<<<8, 256>>>(df.at, y.at, n);
    double s = 0;
    for (float v : f) s += v;
    verdict("reduce", std::fabs(y.get()[0] - s) < 1e-2 * std::fabs(s));
  }
  {
    Buffer<int> y(64);
    groups<<<1, 64>>>(dk.at, y.at);
    bool good = true;
    const auto got = y.get();
    for (int i = 0; i < 64; ++i) {
      int s = 0, odd = 0;
      for (int j = i / 8 * 8; j < i / 8 * 8 + 8; ++j) s += k[j] & 1023, odd += k[j] & 1;
      good &= got[i] == s + (k[i / 8 * 8 + 3] & 1023) + odd;
    }
    verdict("groups", good);
  }
  {
    Buffer<int> sum(1), scan(128), sorted(512);
    cub_kernels<<<1, 128>>>(dk.at, sum.at, scan.at, sorted.at);
    int s = 0;
    bool good = true;
    const auto p = scan.get();
    for (int i = 0; i < 128; ++i) good &= p[i] == s, s += k[i];
    good &= sum.get()[0] == s;
    const auto o = sorted.get();
    for (int i = 1; i < 512; ++i) good &= o[i - 1] <= o[i];
    verdict("cub", good);
  }
  {
    Buffer<long long> y(256);
    integers<<<1, 256>>>(dk.at, y.at);
    const auto got = y.get();
    bool good = true;
    for (int i = 0; i < 256; ++i) good &= got[i] == integers_host(i, k[i], k[i + 1]);
    verdict("integers", good);
  }
  {
    std::vector<double> d(128);
    for (int i = 0; i < 128; ++i) d[i] = 0.1 + i * 0.37;
    Buffer<double> dd(d), e(128);
    Buffer<float> y(128);
    functions<<<1, 128>>>(df.at, y.at, dd.at, e.at);
    const auto gy = y.get();
    const auto ge = e.get();
    bool good = true;
    for (int i = 0; i < 128; ++i) {
      const double a = std::fabs(f[i]) + 0.5;
      const double want = std::sin(a) + std::cos(a) * std::exp(-a) + std::log(a) + std::pow(a, 1.5) + std::sqrt(a) + 1 / std::sqrt(a) + std::erf(a) + std::tanh(a) + std::floor(a) +
                          std::fmod(a, 2.0) + a / 3;
      good &= std::fabs(gy[i] - want) < 1e-5 * std::fabs(want) + 1e-5;
      const double w = std::sin(d[i]) + std::exp(-d[i]) + std::log(d[i]) + std::pow(d[i], 0.3) + std::sqrt(d[i]) / 3.0 + std::floor(d[i]) + 1 / d[i];
      good &= std::fabs(ge[i] - w) < 1e-13 * std::fabs(w) + 1e-13;
    }
    verdict("functions", good);
  }
  {
    Buffer<float> y(100);
    halves<<<1, 100>>>(df.at, y.at);
    const auto got = y.get();
    bool good = true;
    for (int i = 0; i < 100; ++i) {
      const auto h = [](double v) { return static_cast<double>(static_cast<float>(static_cast<_Float16>(v))); };
      const auto b = [](double v) {
        float g = static_cast<float>(v);
        unsigned u;
        std::memcpy(&u, &g, 4);
        u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
        std::memcpy(&g, &u, 4);
        return static_cast<double>(g);
      };
      const double p = h(f[i]), q = h(f[i + 1]), c = b(f[i]);
      const double want = h(p * q + p) + h(p * p + p) - h(q * q + q) + b(c * c + c) + (p < q ? 1 : 2);
      const double twice = h(h(p * q) + p) + h(p * p + p) - h(q * q + q) + b(b(c * c) + c) + (p < q ? 1 : 2);
      good &= std::fabs(got[i] - want) < 1e-4 * std::fabs(want) + 1e-4 || std::fabs(got[i] - twice) < 1e-4 * std::fabs(twice) + 1e-4 || std::fabs(got[i] - want) < 2;
    }
    verdict("halves", good);
  }
  {
    Buffer<unsigned> y(64);
    histogram<<<4, 128>>>(dk.at, y.at, n);
    std::vector<unsigned> want(64);
    for (int v : k) ++want[v & 63];
    verdict("histogram", y.get() == want);
  }
  {
    std::vector<half> a(256), b(256);
    for (int i = 0; i < 256; ++i) a[i] = __float2half(static_cast<float>(i % 7) - 3), b[i] = __float2half(static_cast<float>(i % 5) * 0.5f);
    Buffer<half> da(a), db(b);
    Buffer<float> c(256);
    tensor<<<1, 32>>>(da.at, db.at, c.at);
    const auto got = c.get();
    bool good = true;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        float s = 1;
        for (int q = 0; q < 16; ++q) s += (static_cast<float>((i * 16 + q) % 7) - 3) * (static_cast<float>((j * 16 + q) % 5) * 0.5f);
        good &= got[i * 16 + j] == s;
      }
    verdict("tensor", good);
  }
  {
    Buffer<float> y(64);
    pipeline<<<1, 64>>>(reinterpret_cast<const float4*>(df.at), y.at, 6);
    const auto got = y.get();
    bool good = true;
    for (int t = 0; t < 64; ++t) {
      float s = 0;
      for (int i = 0; i < 6; ++i) s += f[4 * (i * 64 + (t ^ 1)) + 1];
      good &= got[t] == s;
    }
    verdict("pipeline", good);
  }
  {
    Buffer<int> y(128);
    barriers<<<1, 128>>>(y.at);
    std::vector<int> s(128);
    for (int i = 0; i < 128; ++i) s[i] = i;
    for (int r = 0; r < 4; ++r) {
      auto v = s;
      for (int i = 0; i < 128; ++i) s[i] += v[(i + 1) % 128];
    }
    verdict("barriers", y.get() == s);
  }
  {
    Buffer<int> y(64);
    calls<<<1, 64>>>(dk.at, y.at);
    const auto got = y.get();
    const int fib[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    bool good = true;
    for (int i = 0; i < 64; ++i) good &= got[i] == fib[i % 12] + ((i & 1) ? i * i : i);
    verdict("calls", good);
  }
  {
    const float w[3] = {0.25f, 0.5f, 0.25f};
    cudaMemcpyToSymbol(weights, w, sizeof w);
    Buffer<float> y(1000);
    stencil<<<8, 128, 130 * sizeof(float)>>>(df.at, y.at, Parameters{1000, 2.0, {1.f, -1.f}});
    const auto got = y.get();
    bool good = true;
    for (int i = 0; i < 1000; ++i) {
      const float l = i ? f[i - 1] : 0, r = i + 1 < 1000 ? f[i + 1] : 0;
      good &= std::fabs(got[i] - (2.f * (0.25f * l + 0.5f * f[i] + 0.25f * r) + ((i & 1) ? -1.f : 1.f))) < 1e-5;
    }
    verdict("stencil", good);
  }
  {
    Buffer<int> lock(1), count(1);
    locked<<<2, 64>>>(lock.at, count.at);
    verdict("locked", count.get()[0] == 128);
  }
  {
    Buffer<float> part(16), y(1);
    last_block<<<16, 64>>>(df.at, part.at, y.at);
    float s = 0;
    for (int i = 0; i < 1024; ++i) s += f[i];
    verdict("last_block", std::fabs(y.get()[0] - s) < 1e-2f);
  }
  {
    Buffer<int> x(256), y(256);
    int *px = x.at, *py = y.at;
    void* arguments[] = {&px, &py};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_wide), dim3(4), dim3(64), arguments, 0, nullptr);
    const auto got = y.get();
    bool good = true;
    for (int i = 0; i < 256; ++i) good &= got[i] == 255 - i;
    verdict("grid_wide", good);
  }
  {
    Buffer<int> y(64);
    choose<3><<<1, 64>>>(dk.at, y.at);
    const auto got = y.get();
    bool good = true;
    for (int i = 0; i < 64; ++i) {
      const int want[8] = {5, k[1], i * 3, -1, 77, i, 9, 9};
      good &= got[i] == want[k[i] & 7];
    }
    verdict("choose", good);
  }
  return 0;
}
