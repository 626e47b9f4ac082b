// mbarriers that were not initialised, are initialised twice, or count wrongly.
#include "pair.cuh"

using Word = unsigned long long;

__device__ unsigned address_of(Word* b) { return static_cast<unsigned>(__cvta_generic_to_shared(b)); }
#define INIT(b, count) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_of(b)), "r"(count) : "memory")
#define ARRIVE(b) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(address_of(b)) : "memory")
#define ARRIVE_MANY(b, n) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0], %1; }" ::"r"(address_of(b)), "r"(n) : "memory")
#define TEST(done, b, parity)                                                                                          \
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"            \
               : "=r"(done)                                                                                           \
               : "r"(address_of(b)), "r"(parity)                                                                      \
               : "memory")

// Nobody initialised it.
template <bool right>
__global__ void no_init(int* y) {
  __shared__ Word b;
  if (right && threadIdx.x == 0) INIT(&b, 32);
  __syncthreads();
  ARRIVE(&b);  // FAULT-OR mbarrier_not_initialised synccheck invalid_barrier // FAULT-OR mbarrier_not_initialised initcheck uninitialized_shared_read
  y[threadIdx.x] = 1;
}
PAIR(mbarrier_not_initialised) {
  no_init<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// Used by threads that the initialisation was not ordered before.
template <bool right>
__global__ void init_race(int* y) {
  __shared__ Word b;
  if (threadIdx.x == 0) INIT(&b, 64);  // FAULT-OR init_without_barrier racecheck shared_race_waw
  if (right) __syncthreads();
  ARRIVE(&b);  // FAULT-OR init_without_barrier racecheck shared_race_waw // FAULT-OR init_without_barrier synccheck invalid_barrier // FAULT-OR init_without_barrier initcheck uninitialized_shared_read
  y[threadIdx.x] = 1;
}
PAIR(init_without_barrier) {
  init_race<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// Initialised again while in use.
template <bool right>
__global__ void init_again(int* y) {
  __shared__ Word b;
  if (threadIdx.x == 0) INIT(&b, 32);
  __syncwarp();
  ARRIVE(&b);
  __syncwarp();
  if (!right && threadIdx.x == 0) INIT(&b, 32);  // FAULT initialised_twice synccheck invalid_barrier
  y[threadIdx.x] = 1;
}
PAIR(initialised_twice) {
  init_again<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// A count of zero.
template <bool right>
__global__ void zero_count(int* y, unsigned n) {
  __shared__ Word b;
  if (threadIdx.x == 0) INIT(&b, n);  // FAULT mbarrier_of_nobody synccheck invalid_barrier
  y[threadIdx.x] = 1;
}
PAIR(mbarrier_of_nobody) {
  zero_count<right><<<1, 32>>>(zeros<int>(32), right ? 32 : 0);
  settle();
}

// One thread arrives for more than are expected.
template <bool right>
__global__ void too_many(int* y) {
  __shared__ Word b;
  if (threadIdx.x == 0) INIT(&b, 4);
  __syncwarp();
  if (threadIdx.x == 0) ARRIVE_MANY(&b, right ? 4 : 7);  // FAULT arrives_for_too_many synccheck invalid_barrier
  y[threadIdx.x] = 1;
}
PAIR(arrives_for_too_many) {
  too_many<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// The memory of a live mbarrier is used for something else.
template <bool right>
__global__ void overwritten(int* y) {
  __shared__ Word b;
  if (threadIdx.x == 0) INIT(&b, 32);
  __syncthreads();
  ARRIVE(&b);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (right) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address_of(&b)) : "memory");
    b = 5;  // FAULT mbarrier_overwritten synccheck invalid_barrier
    y[0] = static_cast<int>(b);  // FAULT-OR mbarrier_overwritten synccheck invalid_barrier
  }
}
PAIR(mbarrier_overwritten) {
  overwritten<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// Used after it was invalidated.
template <bool right>
__global__ void after_inval(int* y) {
  __shared__ Word b;
  if (threadIdx.x == 0) {
    INIT(&b, 1);
    if (!right) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address_of(&b)) : "memory");
    ARRIVE(&b);  // FAULT used_after_inval synccheck invalid_barrier
    y[0] = 1;
  }
}
PAIR(used_after_inval) {
  after_inval<right><<<1, 1>>>(zeros<int>(1));
  settle();
}

// A wait for an mbarrier whose threads are one too few: no one gets on.
template <bool right>
__global__ void one_short(int* y) {
  __shared__ Word b;
  if (threadIdx.x == 0) INIT(&b, right ? 32 : 33);
  __syncwarp();
  ARRIVE(&b);
  unsigned done = 0;
  while (!done) TEST(done, &b, 0);  // FAULT mbarrier_one_short synccheck endless_loop // HANGS mbarrier_one_short
  y[threadIdx.x] = 1;
}
PAIR(mbarrier_one_short) {
  one_short<right><<<1, 32>>>(zeros<int>(32));
  settle();
}
