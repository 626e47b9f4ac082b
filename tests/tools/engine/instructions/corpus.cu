#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/ptx>
#include <cuda/annotated_ptr>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
#include <cstdio>
#include <cassert>
namespace cg = cooperative_groups;
__global__ void reduces(int* x, float* f, long long* l) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  auto small = cg::tiled_partition<4>(tile);
  auto active = cg::coalesced_threads();
  int v = x[threadIdx.x];
  v = cg::reduce(tile, v, cg::plus<int>()) + cg::reduce(small, v, cg::bit_xor<int>()) + cg::reduce(active, v, cg::greater<int>());
  f[threadIdx.x] = cg::reduce(tile, f[threadIdx.x], cg::plus<float>()) + cg::reduce(small, f[threadIdx.x], cg::less<float>());
  l[threadIdx.x] = cg::reduce(tile, l[threadIdx.x], cg::plus<long long>());
  v += cg::inclusive_scan(tile, v) + cg::exclusive_scan(small, v, cg::less<int>());
  auto labels = cg::labeled_partition(tile, v & 3);
  v += cg::reduce(labels, v, cg::plus<int>()) + labels.thread_rank();
  auto halves = cg::binary_partition(active, v & 1);
  v += halves.size() + cg::invoke_one_broadcast(tile, [&] { return v * 2; });
  x[threadIdx.x] = v + tile.shfl_xor(v, 3) + tile.match_any(v) + small.any(v) + small.ballot(v);
}
__global__ void big_tiles(int* x) {
  __shared__ cg::block_tile_memory<1024> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<128>(block);
  int v = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
  tile.sync();
  x[threadIdx.x] = cg::inclusive_scan(tile, v) + tile.shfl(v, 3);
}
__global__ void grids(int* x) {
  auto g = cg::this_grid();
  x[g.thread_rank()] = 1;
  auto t = g.barrier_arrive();
  g.barrier_wait(std::move(t));
  x[g.thread_rank()] += x[(g.thread_rank() + 1) % g.size()];
  g.sync();
}
__global__ void copies(int* x, int* y) {
  __shared__ int s[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof s);
  cg::wait(block);
  y[threadIdx.x] = s[threadIdx.x];
  cg::memcpy_async(block, s, x, cuda::aligned_size_t<16>(sizeof s));
  cg::memcpy_async(block, s, x, sizeof(int) * 17);
  cg::wait_prior<1>(block);
  auto token = block.barrier_arrive();
  block.barrier_wait(std::move(token));
}
__global__ void pipelines(int* x, int* y) {
  __shared__ int s[2][256];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0; k < 4; ++k) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, s[k & 1], x + 256 * k, sizeof s[0], pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    y[256 * k + threadIdx.x] = s[k & 1][threadIdx.x];
    pipe.consumer_release();
  }
  auto own = cuda::make_pipeline();
  own.producer_acquire();
  cuda::memcpy_async(&s[0][threadIdx.x], x + threadIdx.x, 4, own);
  own.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(own);
}
__global__ void roles(int* x, int* y) {
  __shared__ int s[256];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state, block.thread_rank() < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  if (block.thread_rank() < 32) {
    pipe.producer_acquire();
    cuda::memcpy_async(&s[threadIdx.x], x + threadIdx.x, 4, pipe);
    pipe.producer_commit();
  } else {
    pipe.consumer_wait();
    y[threadIdx.x] = s[threadIdx.x];
    pipe.consumer_release();
  }
}
__global__ void barriers(int* x) {
  using bar_t = cuda::barrier<cuda::thread_scope_block>;
  __shared__ bar_t bar;
  __shared__ int s[256];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];
  bar.arrive_and_wait();
  cuda::memcpy_async(&s[threadIdx.x], x + threadIdx.x, 4, bar);
  auto t = bar.arrive();
  bar.wait(std::move(t));
  bar.wait_parity(true);
  if (threadIdx.x == 3) bar.arrive_and_drop();
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__device__ cuda::barrier<cuda::thread_scope_device> global_bar(64);
__device__ cuda::latch<cuda::thread_scope_device> the_latch(64);
__device__ cuda::counting_semaphore<cuda::thread_scope_device, 8> sem(4);
__device__ cuda::atomic<int, cuda::thread_scope_device> counter;
__global__ void atomics(int* x, float* f, double* d, unsigned long long* u, short* h) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(x[0]);
  a.fetch_add(1, cuda::memory_order_relaxed);
  a.fetch_max(3);
  a.store(4, cuda::memory_order_release);
  int e = a.load(cuda::memory_order_acquire);
  a.compare_exchange_strong(e, 9, cuda::memory_order_acq_rel);
  cuda::atomic_ref<float, cuda::thread_scope_block> b(f[0]);
  b.fetch_add(1.5f);
  cuda::atomic_ref<double, cuda::thread_scope_system> c(d[0]);
  c.fetch_sub(2.0);
  cuda::atomic_ref<unsigned long long> g(u[0]);
  g.fetch_xor(5), g.fetch_min(7), g.exchange(1);
  cuda::atomic_ref<short> sh(h[0]);
  sh.fetch_add(3), sh.exchange(2);
  counter.fetch_add(1, cuda::memory_order_seq_cst);
  counter.wait(0);
  counter.notify_all();
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);
  global_bar.arrive_and_wait();
  the_latch.arrive_and_wait();
  sem.acquire(), sem.release();
  atomicAdd_block(x, 1), atomicAdd_system(f, 1.f), atomicCAS((unsigned short*)h, (unsigned short)1, (unsigned short)2);
  atomicAdd((__half2*)f, __half2()), atomicAdd((__nv_bfloat16*)f, __nv_bfloat16()), atomicAdd((__half*)f, __half());
#if __CUDA_ARCH__ >= 900
  atomicAdd((float2*)f, float2{1, 2}), atomicAdd((float4*)f, float4{});
#endif
}
struct alignas(16) Big { long long a, b; };
__global__ void wide(Big* x, __int128* y) {
#if __CUDA_ARCH__ >= 900
#endif
  y[threadIdx.x] = y[threadIdx.x + 1] * y[threadIdx.x] + (y[threadIdx.x] / 3);
}
__global__ void hints(const float* x, float* y, int n) {
  float a = __ldg(x) + __ldcg(x + 1) + __ldca(x + 2) + __ldcs(x + 3) + __ldlu(x + 4) + __ldcv(x + 5);
  __stcg(y, a), __stcs(y + 1, a), __stwb(y + 2, a), __stwt(y + 3, a);
  float4 v = __ldcs((const float4*)x);
  __stcg((float4*)y + 2, v);
  cuda::annotated_ptr<const float, cuda::access_property::persisting> p(x);
  cuda::annotated_ptr<float, cuda::access_property::streaming> q(y);
  q[5] = p[6];
  cuda::apply_access_property(x, 1024, cuda::access_property::persisting{});
  cuda::discard_memory(y, 1024);
  __builtin_assume(n > 0);
}
using namespace nvcuda;
template <class A, class B, int M, int N, int K, class LA = wmma::row_major, class LB = wmma::col_major>
__device__ void tensor(const void* a, const void* b, void* c) {
  wmma::fragment<wmma::matrix_a, M, N, K, A, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, A, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, B> fc;
  using E = typename wmma::fragment<wmma::matrix_a, M, N, K, A, LA>::storage_element_type;
  wmma::fill_fragment(fc, B(0));
  wmma::load_matrix_sync(fa, (const E*)a, 64);
  wmma::load_matrix_sync(fb, (const E*)b, 64);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync((B*)c, fc, 64, wmma::mem_row_major);
  wmma::load_matrix_sync(fc, (const B*)c, 64, wmma::mem_col_major);
  wmma::store_matrix_sync((B*)c + 64, fc, 64, wmma::mem_col_major);
}
__global__ void tensors(const void* a, const void* b, void* c) {
  tensor<half, float, 16, 16, 16>(a, b, c);
  tensor<half, half, 16, 16, 16, wmma::col_major, wmma::row_major>(a, b, c);
  tensor<half, float, 32, 8, 16>(a, b, c);
  tensor<half, half, 8, 32, 16>(a, b, c);
  tensor<__nv_bfloat16, float, 16, 16, 16>(a, b, c);
  tensor<__nv_bfloat16, float, 32, 8, 16>(a, b, c);
  tensor<__nv_bfloat16, float, 8, 32, 16>(a, b, c);
  tensor<wmma::precision::tf32, float, 16, 16, 8>(a, b, c);
  tensor<signed char, int, 16, 16, 16>(a, b, c);
  tensor<unsigned char, int, 32, 8, 16>(a, b, c);
  tensor<signed char, int, 8, 32, 16, wmma::col_major>(a, b, c);
  tensor<double, double, 8, 8, 4>(a, b, c);
}
__global__ void small_tensors(const void* a, const void* b, int* c) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
  wmma::fill_fragment(fc, 0);
  wmma::load_matrix_sync(fa, (const int*)a, 64);
  wmma::load_matrix_sync(fb, (const int*)b, 64);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 64, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> ga;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> gb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> gc;
  wmma::fill_fragment(gc, 0);
  wmma::load_matrix_sync(ga, (const int*)a, 128);
  wmma::load_matrix_sync(gb, (const int*)b, 128);
  wmma::bmma_sync(gc, ga, gb, gc, wmma::experimental::bmmaBitOpXOR);
  wmma::bmma_sync(gc, ga, gb, gc, wmma::experimental::bmmaBitOpAND);
  wmma::store_matrix_sync(c, gc, 64, wmma::mem_row_major);
}
__global__ void cluster_things(int* x) {
#if __CUDA_ARCH__ >= 900
  __shared__ int s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) init(&bar, 1);
  c.sync();
  s[threadIdx.x] = c.block_rank();
  auto t = c.barrier_arrive();
  c.barrier_wait(std::move(t));
  x[threadIdx.x] = *c.map_shared_rank(s + threadIdx.x, 1) + c.query_shared_rank(s) + c.dim_blocks().x + c.block_index().x;
  atomicAdd(c.map_shared_rank(s, 0), 1);
  c.sync();
#endif
}
struct Node { virtual __device__ int f(int) = 0; virtual __device__ ~Node() {} };
struct One : Node { __device__ int f(int x) override { return x + 1; } };
struct Two : Node { int k; __device__ int f(int x) override { return x * k; } };
__device__ int deep(int n) { return n < 2 ? 1 : deep(n - 1) + deep(n - 2); }
__device__ int (*table[2])(int) = {deep, nullptr};
extern __shared__ float4 dynamic[];
__device__ __managed__ int managed_value;
__constant__ float coefficients[16];
__global__ void __launch_bounds__(256, 2) language(int n, int* x, const float* __restrict__ f, double* d) {
  Node* node = n & 1 ? (Node*)new One : new Two;
  int* v = (int*)alloca(4 * n);
  for (int k = 0; k < n; ++k) v[k] = x[k];
  x[0] = node->f(v[n / 2]) + table[0](n) + managed_value;
  delete node;
  if (n > 5) printf("%d %s %f %c\n", n, "text", f[0], 'c');
  assert(n < 100);
  if (n == 77) __trap();
  if (n == 78) __brkpt();
  int* heap = (int*)malloc(n);
  memcpy(heap, x, n), memset(heap, 3, 16);
  free(heap);
  dynamic[threadIdx.x] = float4{f[1], f[2], coefficients[n & 15], 4};
  __syncthreads();
  d[0] = sin(d[1]) + exp(d[2]) + dynamic[n].x + pow(d[3], d[4]) + fmod(d[5], d[6]) + lgamma(d[7]) + clock() + clock64();
  long double q = d[1];
  switch (n) {
    case 1: x[1] = 3; break;
    case 2: x[1] = x[2]; break;
    case 3: x[1] = x[3] / n; break;
    case 4: x[1] = x[4] % n; break;
    case 5: x[1] = x[5] << n; break;
    case 6: x[1] = 9; break;
    case 7: x[2] = 8; break;
  }
  __nanosleep(n);
  d[9] = q + __fsqrt_rn(f[3]) + __frcp_ru(f[4]) + __fdividef(f[5], f[6]) + __sinf(f[7]) + rsqrtf(f[8]) + tanhf(f[9]) + erff(f[10]) + cbrtf(f[11]) + __saturatef(f[12]);
}
__global__ void halves(__half* h, __nv_bfloat16* b, __nv_fp8_e4m3* e, float* f) {
  h[0] = hexp(h[1]) + hsin(h[2]) * htanh(h[3]) + hrcp(h[4]) + __hmax(h[5], h[6]) + __hfma_relu(h[1], h[2], h[3]);
  b[0] = hexp2(b[1]) + hlog(b[2]) * hsqrt(b[3]) + __hmin_nan(b[4], b[5]);
  ((__half2*)h)[4] = __hcmadd(((__half2*)h)[5], ((__half2*)h)[6], ((__half2*)h)[7]) + h2sqrt(((__half2*)h)[8]);
  e[0] = __nv_fp8_e4m3(f[0]);
  f[1] = float(e[1]) + __half2float(h[9]) + __bfloat162float(b[9]);
  h[10] = __float2half_rz(f[2]), h[11] = __int2half_rn((int)f[3]), f[4] = __half2int_rd(h[12]);
  f[5] = __hlt(h[1], h[2]) + __hbeq2(((__half2*)h)[1], ((__half2*)h)[2]);
}
__global__ void sync_words(int* x) {
  unsigned m = __activemask();
  x[0] = __ballot_sync(m, x[1]) + __any_sync(m, x[2]) + __all_sync(m, x[3]) + __match_any_sync(m, x[4]) + __reduce_add_sync(m, x[5]) + __reduce_xor_sync(m, x[6]);
  x[7] = __shfl_sync(m, x[8], 3) + __shfl_up_sync(m, x[9], 1, 16) + __shfl_down_sync(m, x[10], 2) + __shfl_xor_sync(m, x[11], 4, 8);
  double q = __shfl_sync(m, (double)x[12], 1);
  x[13] = (int)q + __syncthreads_count(x[14]) + __syncthreads_and(x[15]) + __syncthreads_or(x[16]);
  __syncwarp(m), __threadfence(), __threadfence_block(), __threadfence_system();
  x[17] = __popc(x[18]) + __clz(x[19]) + __ffs(x[20]) + __brev(x[21]) + __byte_perm(x[22], x[23], 0x1234) + __funnelshift_l(x[1], x[2], 3) + __dp4a(x[1], x[2], x[3]) + __vadd4(x[4], x[5]) + __vabsdiffu2(x[6], x[7]) + __usad(x[1], x[2], x[3]) + __mulhi(x[1], x[2]) + __fns(x[1], x[2], 3) + __sad(x[1], x[2], x[3]) + __viaddmax_s32(x[1], x[2], x[3]) + __vimax3_s32(x[1], x[2], x[3]);
}
