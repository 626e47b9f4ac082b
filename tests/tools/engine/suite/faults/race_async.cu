// Asynchronous copies, mbarriers and pipelines that are not waited for, or for the wrong thing.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include <cooperative_groups.h>

#include "pair.cuh"

#pragma nv_diag_suppress 20054  // a barrier in shared memory is initialised by init()

using barrier_t = cuda::barrier<cuda::thread_scope_block>;

// A copy that nobody waits for.
template <bool right>
__global__ void no_wait(const float* x, float* y) {
  __shared__ float s[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&s[i], &x[i], 4);  // FAULT-OR copy_not_waited_for racecheck shared_race_war
  __pipeline_commit();
  if (right) __pipeline_wait_prior(0);
  __syncthreads();
  y[i] = s[63 - i];  // FAULT-OR copy_not_waited_for synccheck missing_async_wait // FAULT-OR copy_not_waited_for initcheck uninitialized_shared_read // FAULT-OR copy_not_waited_for racecheck shared_race_raw
}
PAIR(copy_not_waited_for) {
  no_wait<right><<<1, 64>>>(zeros<float>(64), zeros<float>(64));
  settle();
}

// The thread waits for its own copy, and reads what another thread copied.
template <bool right>
__global__ void own_wait(const float* x, float* y) {
  __shared__ float s[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&s[i], &x[i], 4);  // FAULT-OR wait_without_barrier racecheck shared_race_war
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (right) __syncthreads();
  y[i] = s[63 - i];  // FAULT-OR wait_without_barrier racecheck shared_race_raw // FAULT-OR wait_without_barrier synccheck missing_async_wait // FAULT-OR wait_without_barrier initcheck uninitialized_shared_read
}
PAIR(wait_without_barrier) {
  own_wait<right><<<1, 64>>>(zeros<float>(64), zeros<float>(64));
  settle();
}

// A pipeline of two stages that waits for all but two groups.
template <bool right>
__global__ void stages(const float* x, float* y, int rounds) {
  __shared__ float s[2][32];
  const int i = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[0][i], &x[i], 4);
  __pipeline_commit();
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) {
    if (k + 1 < rounds) __pipeline_memcpy_async(&s[(k + 1) % 2][i], &x[32 * (k + 1) + i], 4);
    __pipeline_commit();
    if (right) __pipeline_wait_prior(1);
    else __pipeline_wait_prior(2);
    __syncthreads();
    sum += s[k % 2][31 - i];  // FAULT-OR waits_for_too_few synccheck missing_async_wait // FAULT-OR waits_for_too_few initcheck uninitialized_shared_read // FAULT-OR waits_for_too_few racecheck shared_race_raw
    __syncthreads();
  }
  y[i] = sum;
}
PAIR(waits_for_too_few) {
  stages<right><<<1, 32>>>(zeros<float>(128), zeros<float>(32), 4);
  settle();
}

// The next copy into a buffer starts while other threads still read it.
template <bool right>
__global__ void refill(const float* x, float* y) {
  __shared__ float s[64];
  const int i = threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 3; ++k) {
    __pipeline_memcpy_async(&s[i], &x[64 * k + i], 4);  // FAULT-OR refilled_while_read racecheck shared_race_war
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[63 - i];  // FAULT-OR refilled_while_read racecheck shared_race_raw // FAULT-OR refilled_while_read synccheck missing_async_wait
    if (right) __syncthreads();
  }
  y[i] = sum;
}
PAIR(refilled_while_read) {
  refill<right><<<1, 64>>>(zeros<float>(192), zeros<float>(64));
  settle();
}

// The target is written while its copy is under way.
template <bool right>
__global__ void write_under_way(const float* x, float* y) {
  __shared__ float s[32];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&s[i], &x[i], 4);
  __pipeline_commit();
  if (right) __pipeline_wait_prior(0);
  s[i] = 1;  // FAULT-OR written_under_way synccheck missing_async_wait // FAULT-OR written_under_way racecheck shared_race_waw
  __pipeline_wait_prior(0);
  __syncwarp();
  y[i] = s[31 - i];
}
PAIR(written_under_way) {
  write_under_way<right><<<1, 32>>>(zeros<float>(32), zeros<float>(32));
  settle();
}

// A barrier object: threads arrive and go on without waiting.
template <bool right>
__global__ void arrive_only(const int* x, int* y) {
  __shared__ int s[64];
  __shared__ barrier_t barrier;
  const int i = threadIdx.x;
  if (i == 0) init(&barrier, blockDim.x);
  __syncthreads();
  s[i] = x[i];  // FAULT-OR arrives_without_waiting racecheck shared_race_war
  auto token = barrier.arrive();
  if (right) barrier.wait(std::move(token));
  y[i] = s[63 - i];  // FAULT-OR arrives_without_waiting racecheck shared_race_raw // FAULT-OR arrives_without_waiting initcheck uninitialized_shared_read
}
PAIR(arrives_without_waiting) {
  arrive_only<right><<<1, 64>>>(zeros<int>(64), zeros<int>(64));
  settle();
}

// The write comes after the arrival that should publish it.
template <bool right>
__global__ void late_write(const int* x, int* y) {
  __shared__ int s[64];
  __shared__ barrier_t barrier;
  const int i = threadIdx.x;
  if (i == 0) init(&barrier, blockDim.x);
  __syncthreads();
  if (right) s[i] = x[i];
  auto token = barrier.arrive();
  if (!right) s[i] = x[i];  // FAULT-OR written_after_arrival racecheck shared_race_war
  barrier.wait(std::move(token));
  y[i] = s[63 - i];  // FAULT-OR written_after_arrival racecheck shared_race_raw // FAULT-OR written_after_arrival initcheck uninitialized_shared_read
}
PAIR(written_after_arrival) {
  late_write<right><<<1, 64>>>(zeros<int>(64), zeros<int>(64));
  settle();
}

__device__ void mbarrier_init(unsigned long long* b, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(b))), "r"(count) : "memory");
}
__device__ void mbarrier_arrive(unsigned long long* b) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(b))) : "memory");
}
__device__ void mbarrier_wait(unsigned long long* b, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(b))), "r"(parity)
                 : "memory");
}

// The parity of the phase is mistaken: the wait is over before it began.
template <bool right>
__global__ void parity(const int* x, int* y) {
  __shared__ int s[64];
  __shared__ unsigned long long full;
  const int i = threadIdx.x;
  if (i == 0) mbarrier_init(&full, 32);
  __syncthreads();
  if (i < 32) {
    s[i] = x[i] + i + 1;  // FAULT-OR wrong_parity racecheck shared_race_war
    mbarrier_arrive(&full);
  } else {
    mbarrier_wait(&full, right ? 0 : 1);
    y[i - 32] = s[63 - i];  // FAULT-OR wrong_parity racecheck shared_race_raw // FAULT-OR wrong_parity initcheck uninitialized_shared_read
  }
}
PAIR(wrong_parity) {
  parity<right><<<1, 64>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// The consumer gives a buffer back before it has read it.
template <bool right>
__global__ void ring(const int* x, int* y, int rounds) {
  __shared__ int s[2][32];
  __shared__ unsigned long long full[2], empty[2];
  const int i = threadIdx.x % 32;
  if (threadIdx.x < 2) mbarrier_init(&full[threadIdx.x], 32), mbarrier_init(&empty[threadIdx.x], 32);
  __syncthreads();
  int sum = 0;
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int k = 0; k < rounds; ++k) {
      if (k >= 2) mbarrier_wait(&empty[k % 2], (k / 2 - 1) % 2);
      s[k % 2][i] = x[i] + k;  // FAULT-OR buffer_returned_too_early racecheck shared_race_war
      mbarrier_arrive(&full[k % 2]);
    }
  } else {
#pragma unroll 1
    for (int k = 0; k < rounds; ++k) {
      mbarrier_wait(&full[k % 2], k / 2 % 2);
      if (!right) mbarrier_arrive(&empty[k % 2]);
      sum += s[k % 2][31 - i];  // FAULT-OR buffer_returned_too_early racecheck shared_race_raw
      if (right) mbarrier_arrive(&empty[k % 2]);
    }
    y[i] = sum;
  }
}
PAIR(buffer_returned_too_early) {
  ring<right><<<1, 64>>>(zeros<int>(32), zeros<int>(32), 6);
  settle();
}

// A pipeline object whose consumer does not wait.
template <bool right>
__global__ void pipeline(const int* x, int* y) {
  __shared__ int s[64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  pipe.producer_acquire();
  cuda::memcpy_async(block, s, x, sizeof s, pipe);  // FAULT-OR pipeline_not_waited_for racecheck shared_race_war
  pipe.producer_commit();                           // FAULT-OR pipeline_not_waited_for racecheck shared_race_war
  if (right) pipe.consumer_wait();
  y[threadIdx.x] = s[63 - threadIdx.x];  // FAULT-OR pipeline_not_waited_for racecheck shared_race_raw // FAULT-OR pipeline_not_waited_for synccheck missing_async_wait // FAULT-OR pipeline_not_waited_for initcheck uninitialized_shared_read
  if (right) pipe.consumer_release();
}
PAIR(pipeline_not_waited_for) {
  pipeline<right><<<1, 64>>>(zeros<int>(64), zeros<int>(64));
  settle();
}
