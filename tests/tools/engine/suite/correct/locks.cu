// Threads that wait for each other through memory: locks, flags, messages.
#include <cuda/atomic>

#include "../suite.cuh"

using suite::Array;

// Each thread takes the lock in turn, in a loop that lets the other lanes go on.
__global__ void thread_lock_kernel(int* lock, int* sum) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *sum = *sum * 1 + static_cast<int>(threadIdx.x) + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
CASE(lock_taken_by_each_thread) {
  const Array<int> lock(1, 0), sum(1, 0);
  thread_lock_kernel<<<3, 64>>>(lock, sum);
  sum.show("sum");
}

// One lane takes the lock for its warp; all lanes use what it guards.
__global__ void warp_lock_kernel(int* lock, int* table) {
  const int lane = threadIdx.x % 32;
  if (lane == 0)
    while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  __syncwarp();
  table[lane] += lane;
  __threadfence();
  __syncwarp();
  if (lane == 0) atomicExch(lock, 0);
}
CASE(lock_taken_for_a_warp) {
  const Array<int> lock(1, 0), table(32, 0);
  warp_lock_kernel<<<4, 96>>>(lock, table);
  table.show("table");
}

// Tickets: first come, first served.
__global__ void ticket_kernel(unsigned* next, unsigned* serving, int* list, int* count) {
  if (threadIdx.x % 32 != 0) return;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> issue(*next), now(*serving);
  const unsigned mine = issue.fetch_add(1, cuda::memory_order_relaxed);
  while (now.load(cuda::memory_order_acquire) != mine) {}
  list[*count] = mine;
  *count += 1;
  now.store(mine + 1, cuda::memory_order_release);
}
CASE(ticket_lock) {
  const Array<unsigned> next(1, 0), serving(1, 0);
  const Array<int> list(12), count(1, 0);
  ticket_kernel<<<4, 96>>>(next, serving, list, count);
  list.show("list");
  count.show("count");
}

// Readers share, writers exclude.
__global__ void readers_writers_kernel(int* lock, int* pair, int* torn) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> word(*lock);  // readers, or -1 for a writer
  if (blockIdx.x % 3 == 0) {
    for (int free = 0; !word.compare_exchange_weak(free, -1, cuda::memory_order_acquire, cuda::memory_order_relaxed);) free = 0;
    pair[0] += 1;
    pair[1] += 1;
    word.store(0, cuda::memory_order_release);
  } else {
    for (int seen = word.load(cuda::memory_order_relaxed);;) {
      if (seen < 0) seen = word.load(cuda::memory_order_relaxed);
      else if (word.compare_exchange_weak(seen, seen + 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) break;
    }
    if (pair[0] != pair[1]) atomicAdd(torn, 1);
    word.fetch_sub(1, cuda::memory_order_release);
  }
}
CASE(readers_and_writers) {
  const Array<int> lock(1, 0), pair(2, 0), torn(1, 0);
  readers_writers_kernel<<<12, 32>>>(lock, pair, torn);
  pair.show("pair");
  torn.show("torn");
}

// A writer publishes; readers try again when they met it in the middle. All fields are atomic, so no read is a race.
__global__ void seqlock_kernel(unsigned* version, int* fields, int* bad) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> at(*version);
  cuda::atomic_ref<int, cuda::thread_scope_device> a(fields[0]), b(fields[1]);
  if (blockIdx.x == 0) {
    if (threadIdx.x != 0) return;
    for (int k = 1; k <= 20; ++k) {
      at.store(2 * k - 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      a.store(k, cuda::memory_order_relaxed);
      b.store(-k, cuda::memory_order_relaxed);
      at.store(2 * k, cuda::memory_order_release);
    }
    return;
  }
  for (int k = 0; k < 10; ++k) {
    unsigned before, after;
    int x, y;
    do {
      before = at.load(cuda::memory_order_acquire);
      x = a.load(cuda::memory_order_relaxed);
      y = b.load(cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      after = at.load(cuda::memory_order_relaxed);
    } while (before != after || before % 2 == 1);
    if (x != -y) atomicAdd(bad, 1);
  }
}
CASE(seqlock) {
  const Array<unsigned> version(1, 0);
  const Array<int> fields(2, 0), bad(1, 0);
  seqlock_kernel<<<3, 32>>>(version, fields, bad);
  fields.show("fields");
  bad.show("bad");
}

// A message with release and acquire, at the scope of the block, the device and the system.
template <cuda::thread_scope scope>
__device__ void send(int* data, int* flag, int value) {
  *data = value;
  cuda::atomic_ref<int, scope>(*flag).store(1, cuda::memory_order_release);
}
template <cuda::thread_scope scope>
__device__ int receive(const int* data, int* flag) {
  while (cuda::atomic_ref<int, scope>(*flag).load(cuda::memory_order_acquire) == 0) {}
  return *data;
}
__global__ void scopes_kernel(int* data, int* flags, int* y) {
  __shared__ int inside, inside_flag;
  if (threadIdx.x == 0) inside_flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    send<cuda::thread_scope_block>(&inside, &inside_flag, 10 + blockIdx.x);
  } else if (threadIdx.x == 32) {
    const int v = receive<cuda::thread_scope_block>(&inside, &inside_flag);
    send<cuda::thread_scope_device>(&data[blockIdx.x], &flags[blockIdx.x], v);
  } else if (threadIdx.x == 64) {
    const int other = blockIdx.x ^ 1;
    const int v = receive<cuda::thread_scope_device>(&data[other], &flags[other]);
    send<cuda::thread_scope_system>(&data[2 + blockIdx.x], &flags[2 + blockIdx.x], v * 3);
  } else if (threadIdx.x == 96) {
    y[blockIdx.x] = receive<cuda::thread_scope_system>(&data[2 + blockIdx.x], &flags[2 + blockIdx.x]);
  }
}
CASE(messages_at_every_scope) {
  const Array<int> data(4), flags(4, 0), y(2);
  scopes_kernel<<<2, 128>>>(data, flags, y);
  y.show("y");
}

// The older way: a volatile flag with fences on both sides.
__global__ void volatile_kernel(int* data, volatile int* flag, int* y) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x * 3;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0)
      while (*flag == 0) {}
    __syncthreads();
    __threadfence();
    y[(blockIdx.x - 1) * 64 + threadIdx.x] = data[63 - threadIdx.x];
  }
}
CASE(volatile_flag_across_blocks) {
  const Array<int> data(64), flag(1, 0), y(128);
  volatile_kernel<<<3, 64>>>(data, flag, y);
  y.show("y");
}

// Blocks go one after another, each waiting for the one before.
__global__ void chain_kernel(int* turn, int* total) {
  __shared__ int before;
  if (threadIdx.x == 0) {
    while (atomicAdd(turn, 0) != static_cast<int>(blockIdx.x)) {}
    __threadfence();
    before = *total;
  }
  __syncthreads();
  if (threadIdx.x == 33) *total = before * 2 + blockIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(turn, blockIdx.x + 1);
}
CASE(blocks_take_turns) {
  const Array<int> turn(1, 0), total(1, 0);
  chain_kernel<<<6, 64>>>(turn, total);
  total.show("total");
}

// A barrier of the grid made by hand: a counter that all blocks wait for.
__global__ void own_grid_barrier_kernel(const int* x, int* part, unsigned* arrived, int* y) {
  part[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x] * 2;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*static_cast<volatile unsigned*>(arrived) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  y[blockIdx.x * 32 + threadIdx.x] = part[(gridDim.x - 1 - blockIdx.x) * 32 + threadIdx.x];
}
CASE(barrier_of_the_grid_by_hand) {
  const Array<int> x(suite::numbers(160, 100)), part(160), y(160);
  const Array<unsigned> arrived(1, 0);
  own_grid_barrier_kernel<<<5, 32>>>(x, part, arrived, y);
  y.show("y");
}
