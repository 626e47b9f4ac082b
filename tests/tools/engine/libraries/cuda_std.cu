// libcu++ on both sides: containers and numbers of cuda::std, atomics, barriers, semaphores, views, memory resources.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>

#include <cmath>

#include "check.cuh"

namespace cg = cooperative_groups;
namespace cs = cuda::std;

__global__ void values(double* d, int* i) {
  cs::complex<double> z(3, 4);
  z *= cs::complex<double>(0, 1);
  d[0] = cs::abs(z), d[1] = z.real(), d[2] = z.imag();
  d[3] = cs::sqrt(2.0) + cs::fma(2.0, 3.0, 1.0);
  cs::array<int, 4> a{4, 3, 2, 1};
  i[0] = a[1] + static_cast<int>(a.size());
  cs::optional<int> none, some = 5;
  i[1] = none.value_or(7) + *some;
  const auto [x, y] = cs::make_tuple(1, 2);
  i[2] = x + 10 * y;
  cs::span<int> s(a.data(), 3);
  i[3] = s.back() + static_cast<int>(s.size());
  cs::variant<int, double> v = 2.5;
  i[4] = static_cast<int>(v.index()) + static_cast<int>(cs::get<1>(v) * 2);
  i[5] = cs::popcount(0xffu) + cs::countl_zero(1u) + static_cast<int>(cs::bit_ceil(5u));
  i[6] = cs::numeric_limits<int>::max() == 2147483647;
  cs::mdspan<int, cs::extents<int, 2, 2>> m(a.data());
  i[7] = m(1, 0) * 10 + m(0, 1);
  i[8] = cs::gcd(12, 18);
  i[9] = static_cast<int>(cs::chrono::duration_cast<cs::chrono::milliseconds>(cs::chrono::seconds(2)).count());
}

__global__ void atomics(int* plain, cuda::atomic<int, cuda::thread_scope_device>* counter, unsigned long long* wide) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ref(*plain);
  ref.fetch_add(2, cuda::std::memory_order_relaxed);
  counter->fetch_max(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), cuda::std::memory_order_acq_rel);
  cuda::atomic_ref<unsigned long long> big(*wide);
  unsigned long long seen = big.load();
  while (!big.compare_exchange_weak(seen, seen + 3)) {}
}

__global__ void hand_over(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ cuda::latch<cuda::thread_scope_block>* unused;
  __shared__ cuda::binary_semaphore<cuda::thread_scope_block> gate;
  __shared__ int word;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, static_cast<int>(block.size())), new (&gate) cuda::binary_semaphore<cuda::thread_scope_block>(1), word = 0, unused = nullptr;
  block.sync();
  for (int turn = 0; turn < 32; turn++)
    if (static_cast<int>(threadIdx.x % 32) == turn) {
      gate.acquire();
      word = word + 1;
      gate.release();
    }
  bar.arrive_and_wait();
  out[threadIdx.x] = word + (unused ? 1 : 0);
}

// A message through a flag with release and acquire.
__global__ void messages(cuda::atomic<int, cuda::thread_scope_device>* flag, int* data, int* seen) {
  if (blockIdx.x == 0) {
    *data = 42;
    flag->store(1, cuda::std::memory_order_release);
  } else {
    while (flag->load(cuda::std::memory_order_acquire) == 0) {}
    *seen = *data;
  }
}

int main() {
  Device<double> d(4);
  Device<int> i(10);
  values<<<1, 1>>>(d.at, i.at);
  verdict("cuda::std", 1, d.get() == std::vector<double>{5, -4, 3, std::sqrt(2.0) + 7} && i.get() == std::vector<int>{7, 12, 21, 5, 6, 47, 1, 23, 6, 2000});
  Device<int> plain(std::vector<int>{0});
  Device<unsigned long long> wide(std::vector<unsigned long long>{0});
  cuda::atomic<int, cuda::thread_scope_device>* counter;
  cudaMalloc(&counter, sizeof *counter);
  cudaMemset(counter, 0, sizeof *counter);
  atomics<<<4, 64>>>(plain.at, counter, wide.at);
  int top = 0;
  cudaMemcpy(&top, counter, 4, cudaMemcpyDeviceToHost);
  verdict("atomics", 256, plain.get()[0] == 512 && top == 255 && wide.get()[0] == 768);
  Device<int> out(64);
  hand_over<<<1, 64>>>(out.at);
  verdict("barrier and semaphore", 64, out.get() == std::vector<int>(64, 64));
  Device<int> data(std::vector<int>{0}), seen(std::vector<int>{0});
  cudaMemset(counter, 0, sizeof *counter);
  messages<<<2, 1>>>(counter, data.at, seen.at);
  verdict("message", 2, seen.get()[0] == 42);
  cs::complex<float> host(1, 2);
  cs::array<int, 3> list{1, 2, 3};
  verdict("on the host", 3, (host * host).real() == -3 && cs::accumulate(list.begin(), list.end(), 0) == 6);
  cudaFree(counter);
  return failures;
}
