// Structures that many threads change at once without locks.
#include <cuda/atomic>

#include "../suite.cuh"

using suite::Array;

// A stack of indices; pushes and pops exchange its head by compare-and-swap, with a counter against reuse.
struct Node {
  unsigned next;
  int value;
};
__global__ void push_kernel(Node* nodes, unsigned long long* head) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  nodes[i].value = i * 3;
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> top(*head);
  unsigned long long seen = top.load(cuda::memory_order_relaxed);
  do {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(nodes[i].next).store(static_cast<unsigned>(seen), cuda::memory_order_relaxed);
  } while (!top.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | (i + 1), cuda::memory_order_release, cuda::memory_order_relaxed));
}
__global__ void pop_kernel(Node* nodes, unsigned long long* head, unsigned long long* sum) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> top(*head);
  unsigned long long seen = top.load(cuda::memory_order_acquire);
  while (static_cast<unsigned>(seen) != 0) {
    Node& node = nodes[static_cast<unsigned>(seen) - 1];
    const unsigned next = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(node.next).load(cuda::memory_order_relaxed);
    if (top.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | next, cuda::memory_order_acq_rel, cuda::memory_order_acquire)) {
      atomicAdd(sum, node.value + 1);
      return;
    }
  }
}
CASE(stack_of_indices) {
  const Array<Node> nodes(256);
  const Array<unsigned long long> head(1, 0), sum(1, 0);
  push_kernel<<<4, 64>>>(nodes, head);
  pop_kernel<<<4, 64>>>(nodes, head, sum);
  sum.show("sum");
  suite::expect("empty", static_cast<unsigned>(head.host()[0]) == 0);
}

// Pushing and popping at the same time.
__global__ void churn_kernel(Node* nodes, unsigned long long* head, unsigned long long* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> top(*head);
  nodes[i].value = i;
  unsigned long long seen = top.load(cuda::memory_order_relaxed);
  do {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(nodes[i].next).store(static_cast<unsigned>(seen), cuda::memory_order_relaxed);
  } while (!top.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | (i + 1), cuda::memory_order_acq_rel, cuda::memory_order_relaxed));
  seen = top.load(cuda::memory_order_acquire);
  for (;;) {
    if (static_cast<unsigned>(seen) == 0) {
      seen = top.load(cuda::memory_order_acquire);
      continue;
    }
    Node& node = nodes[static_cast<unsigned>(seen) - 1];
    const unsigned next = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(node.next).load(cuda::memory_order_relaxed);
    if (top.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | next, cuda::memory_order_acq_rel, cuda::memory_order_acquire)) break;
  }
  atomicAdd(sum, nodes[static_cast<unsigned>(seen) - 1].value);
}
CASE(stack_pushed_and_popped_at_once) {
  const Array<Node> nodes(128);
  const Array<unsigned long long> head(1, 0), sum(1, 0);
  churn_kernel<<<2, 64>>>(nodes, head, sum);
  sum.show("sum");
}

// A queue of fixed size: tickets for places, a flag for each place.
__global__ void queue_kernel(int* places, int* ready, unsigned* in, unsigned* out, int* y, unsigned long long* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x % 2 == 0) {
    const unsigned at = atomicAdd(in, 1u);
    places[at] = i * 7;
    __threadfence();
    atomicExch(&ready[at], 1);
  } else {
    const unsigned at = atomicAdd(out, 1u);
    while (atomicAdd(&ready[at], 0) == 0) {}
    __threadfence();
    atomicAdd(sum, static_cast<unsigned long long>(places[at]));
    y[at] = 1;
  }
}
CASE(queue_with_a_flag_for_each_place) {
  const Array<int> places(128), ready(128, 0), y(128);
  const Array<unsigned> in(1, 0), out(1, 0);
  const Array<unsigned long long> sum(1, 0);
  queue_kernel<<<4, 64>>>(places, ready, in, out, y, sum);
  y.show("y");
  sum.show("sum");
}

// A hash table with open addressing: keys are claimed by compare-and-swap, values added by atomics.
__global__ void insert_kernel(const int* keys, int n, int* slots, int* counts, int capacity) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    for (int at = keys[i] * 31 % capacity;; at = (at + 1) % capacity) {
      const int before = atomicCAS(&slots[at], -1, keys[i]);
      if (before == -1 || before == keys[i]) {
        atomicAdd(&counts[at], 1);
        break;
      }
    }
  }
}
__global__ void look_up_kernel(const int* slots, const int* counts, int capacity, int* y, int keys) {
  const int key = threadIdx.x;
  if (key >= keys) return;
  int found = 0;
  for (int at = key * 31 % capacity; slots[at] != -1; at = (at + 1) % capacity) {
    if (slots[at] == key) {
      found = counts[at];
      break;
    }
  }
  y[key] = found;
}
CASE(hash_table_with_open_addressing) {
  const Array<int> keys(suite::numbers(1000, 50)), slots(97, 255), counts(97, 0), y(64);
  insert_kernel<<<4, 64>>>(keys, 1000, slots, counts, 97);
  look_up_kernel<<<1, 64>>>(slots, counts, 97, y, 64);
  y.show("y");
}

// Chains in device memory: each thread prepends its own node to a bucket.
__global__ void chains_kernel(int* heads, int2* nodes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int before = atomicExch(&heads[i % 7], i);
  nodes[i] = make_int2(i * 5, before);
}
__global__ void walk_kernel(const int* heads, const int2* nodes, int* y) {
  int sum = 0, count = 0;
  for (int at = heads[threadIdx.x]; at >= 0; at = nodes[at].y) sum += nodes[at].x, ++count;
  y[threadIdx.x] = sum * 1000 + count;
}
CASE(chains_in_buckets) {
  const Array<int> heads(7, 255), y(7);
  const Array<int2> nodes(192);
  chains_kernel<<<3, 64>>>(heads, nodes);
  walk_kernel<<<1, 7>>>(heads, nodes, y);
  y.show("y");
}

// Union-find: roots are joined by atomics, paths read while others change them.
__device__ int root_of(int* parent, int i) {
  cuda::atomic_ref<int, cuda::thread_scope_device> first(parent[i]);
  int at = i, up = first.load(cuda::memory_order_relaxed);
  while (up != at) {
    at = up;
    up = cuda::atomic_ref<int, cuda::thread_scope_device>(parent[at]).load(cuda::memory_order_relaxed);
  }
  return at;
}
__global__ void join_kernel(const int* from, const int* to, int n, int* parent) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = root_of(parent, from[i]), b = root_of(parent, to[i]);
  while (a != b) {
    const int high = max(a, b), low = min(a, b);
    const int seen = atomicCAS(&parent[high], high, low);
    if (seen == high) break;
    a = root_of(parent, seen);
    b = root_of(parent, low);
  }
}
__global__ void flatten_kernel(int* parent, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int top = root_of(parent, i);
  cuda::atomic_ref<int, cuda::thread_scope_device>(parent[i]).store(top, cuda::memory_order_relaxed);
}
CASE(union_find) {
  std::vector<int> own(300);
  for (int i = 0; i < 300; ++i) own[i] = i;
  const Array<int> from(suite::numbers(200, 300, 5)), to(suite::numbers(200, 300, 6)), parent(own);
  join_kernel<<<4, 64>>>(from, to, 200, parent);
  flatten_kernel<<<5, 64>>>(parent, 300);
  parent.show("parent");
}

// Persistent blocks take work from a counter until there is none.
__global__ void persistent_kernel(const int* work, int items, unsigned* next, int* y) {
  __shared__ unsigned item;
  for (;;) {
    if (threadIdx.x == 0) item = atomicAdd(next, 1u);
    __syncthreads();
    const unsigned mine = item;
    __syncthreads();
    if (mine >= items) return;
    for (int i = threadIdx.x; i < 32; i += blockDim.x) y[mine * 32 + i] = work[mine] * i;
  }
}
CASE(persistent_blocks_with_a_work_counter) {
  const Array<int> work(suite::numbers(37, 100)), y(37 * 32);
  const Array<unsigned> next(1, 0);
  persistent_kernel<<<4, 64>>>(work, 37, next, y);
  y.show("y");
}

// Each block has a list of its own and steals from the others when it is through.
__global__ void stealing_kernel(const int* amounts, unsigned* taken, int each, unsigned long long* sum, int* y) {
  for (unsigned k = 0; k < gridDim.x; ++k) {
    const unsigned victim = (blockIdx.x + k) % gridDim.x;
    for (;;) {
      const unsigned at = atomicAdd(&taken[victim], 1u);
      if (at >= each) break;
      const int item = victim * each + at;
      int work = 0;
      for (int r = 0; r < amounts[item]; ++r) work += r ^ item;
      atomicAdd(sum, static_cast<unsigned long long>(work));
      y[item] = work;
    }
  }
}
CASE(work_stealing) {
  const Array<int> amounts(suite::numbers(80, 20)), y(80);
  const Array<unsigned> taken(4, 0);
  const Array<unsigned long long> sum(1, 0);
  stealing_kernel<<<4, 16>>>(amounts, taken, 20, sum, y);
  y.show("y");
  sum.show("sum");
}

// Tasks that make tasks: a queue that grows while it is worked off, until no task is open.
__global__ void growing_kernel(int* tasks, int* ready, unsigned* tail, unsigned* head, int* open, unsigned long long* sum) {
  for (;;) {
    if (atomicAdd(open, 0) == 0) return;
    unsigned at = atomicAdd(head, 0u);
    if (at >= atomicAdd(tail, 0u) || atomicCAS(head, at, at + 1) != at) continue;
    while (atomicAdd(&ready[at], 0) == 0) {}
    __threadfence();
    const int size = tasks[at];
    atomicAdd(sum, static_cast<unsigned long long>(size));
    if (size > 1) {
      atomicAdd(open, 2);
      const unsigned to = atomicAdd(tail, 2u);
      tasks[to] = size / 2;
      tasks[to + 1] = size - size / 2 - 1;
      __threadfence();
      atomicExch(&ready[to], 1);
      atomicExch(&ready[to + 1], 1);
    }
    atomicSub(open, 1);
  }
}
CASE(tasks_that_make_tasks) {
  const Array<int> tasks(200), ready(200, 0), open(1, 0);
  const Array<unsigned> tail(1, 0), head(1, 0);
  const Array<unsigned long long> sum(1, 0);
  const int first = 60, one = 1;
  cudaMemcpy(tasks.get(), &first, 4, cudaMemcpyHostToDevice);
  cudaMemcpy(ready.get(), &one, 4, cudaMemcpyHostToDevice);
  cudaMemcpy(open.get(), &one, 4, cudaMemcpyHostToDevice);
  cudaMemcpy(tail.get(), &one, 4, cudaMemcpyHostToDevice);
  growing_kernel<<<2, 8>>>(tasks, ready, tail, head, open, sum);
  sum.show("sum");
  tail.show("tail");
}
