// Barriers of the block, plain and named, where not every thread takes the same way.
#include "../suite.cuh"

using suite::Array;

__device__ void named_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__device__ void named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// One warp produces, one consumes, through two named barriers.
__global__ void two_warps_kernel(const int* x, int* y, int rounds) {
  __shared__ int room[32];
  const int i = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; ++r) {
      if (r > 0) named_sync(2, 64);
      room[i] = x[r * 32 + i];
      named_arrive(1, 64);
    }
  } else {
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
      named_sync(1, 64);
      sum = sum * 3 + room[31 - i];
      if (r + 1 < rounds) named_arrive(2, 64);
    }
    y[i] = sum;
  }
}
CASE(named_barriers_hand_over) {
  const Array<int> x(suite::numbers(32 * 6, 100)), y(32);
  two_warps_kernel<<<1, 64>>>(x, y, 6);
  y.show("y");
}

// Pairs of warps use barriers of their own, at different paces.
__global__ void pairs_kernel(const int* x, int* y) {
  __shared__ int room[256];
  const int pair = threadIdx.x / 64, i = threadIdx.x;
  int v = x[i];
  for (int r = 0; r <= pair; ++r) {
    room[i] = v;
    named_sync(1 + pair, 64);
    v += room[pair * 64 + 63 - i % 64];
    named_sync(1 + pair, 64);
  }
  y[i] = v;
}
CASE(a_barrier_for_each_pair_of_warps) {
  const Array<int> x(suite::numbers(256, 100)), y(256);
  pairs_kernel<<<1, 256>>>(x, y);
  y.show("y");
}

// A barrier in a branch that the whole block takes or not.
__global__ void uniform_kernel(const int* x, int* y) {
  __shared__ int room[64];
  const int i = threadIdx.x;
  int v = x[blockIdx.x * 64 + i];
  if (x[blockIdx.x] % 2 == 0) {
    room[i] = v;
    __syncthreads();
    v += room[63 - i];
  } else {
    v = -v;
  }
  y[blockIdx.x * 64 + i] = v;
}
CASE(barrier_in_a_uniform_branch) {
  const Array<int> x(suite::numbers(64 * 8, 100)), y(64 * 8);
  uniform_kernel<<<8, 64>>>(x, y);
  y.show("y");
}

// Whole warps leave; the others go on with a named barrier that counts only them.
__global__ void leaving_kernel(const int* x, int* y, int n) {
  __shared__ int room[128];
  const int i = threadIdx.x, staying = (n + 31) / 32 * 32;
  if (i >= staying) return;
  room[i] = i < n ? x[i] : 0;
  named_sync(1, staying);
  if (i < n) y[i] = room[n - 1 - i];
}
CASE(warps_leave_before_a_named_barrier) {
  const Array<int> x(suite::numbers(128, 100)), y(75);
  leaving_kernel<<<1, 128>>>(x, y, 75);
  y.show("y");
}

// Barriers that count, and that combine a predicate.
__global__ void counting_kernel(const int* x, int* y) {
  const int i = threadIdx.x, v = x[i];
  const int many = __syncthreads_count(v % 3 == 0), all = __syncthreads_and(v < 90), any = __syncthreads_or(v == 5);
  y[i] = many * 4 + (all != 0) * 2 + (any != 0);
}
CASE(barriers_that_count) {
  const Array<int> x(suite::numbers(100, 100)), y(100);
  counting_kernel<<<1, 100>>>(x, y);
  y.show("y");
}

// The last warp is not full.
__global__ void partial_kernel(const int* x, int* y, int n) {
  __shared__ int room[77];
  const int i = threadIdx.x;
  room[i] = x[i];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (i < half && i + half < n) room[i] += room[i + half];
    __syncthreads();
  }
  y[i] = room[0] + i;
}
CASE(last_warp_not_full) {
  const Array<int> x(suite::numbers(77, 100)), y(77);
  partial_kernel<<<1, 77>>>(x, y, 77);
  y.show("y");
}

// The number of rounds is data, and the same for all threads of a block.
__global__ void rounds_kernel(const int* rounds, int* y) {
  __shared__ int room[96];
  const int i = threadIdx.x;
  room[i] = i;
  for (int r = 0; r < rounds[blockIdx.x]; ++r) {
    __syncthreads();
    const int v = room[(i + 1) % 96];
    __syncthreads();
    room[i] = v * 2 - r;
  }
  y[blockIdx.x * 96 + i] = room[i];
}
CASE(rounds_differ_between_blocks) {
  const Array<int> rounds(suite::numbers(5, 7)), y(96 * 5);
  rounds_kernel<<<5, 96>>>(rounds, y);
  y.show("y");
}

// Threads arrive at one barrier from different places of the program: warps as a whole may.
__global__ void places_kernel(int* y) {
  __shared__ int room[64];
  const int i = threadIdx.x;
  if (i < 32) {
    room[i] = i;
    asm volatile("barrier.sync 0;" ::: "memory");
    y[i] = room[63 - i];
  } else {
    room[i] = i * 2;
    asm volatile("barrier.sync 0;" ::: "memory");
    y[i] = room[63 - i] + 1;
  }
}
CASE(one_barrier_from_two_places) {
  const Array<int> y(64);
  places_kernel<<<1, 64>>>(y);
  y.show("y");
}

// Double buffering with one barrier a round is enough.
__global__ void double_kernel(const int* x, int* y, int rounds) {
  __shared__ int room[2][128];
  const int i = threadIdx.x;
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    room[r & 1][i] = x[r * 128 + i];
    __syncthreads();
    sum = sum * 3 + room[r & 1][127 - i];
  }
  y[i] = sum;
}
CASE(double_buffer_with_one_barrier) {
  const Array<int> x(suite::numbers(128 * 7, 100)), y(128);
  double_kernel<<<1, 128>>>(x, y, 7);
  y.show("y");
}

// A block of 1024 threads, three-dimensional, in a three-dimensional grid.
__global__ void cube_kernel(const int* x, int* y) {
  __shared__ int room[8][16][8];
  const int a = threadIdx.x, b = threadIdx.y, c = threadIdx.z;
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), at = block * 1024 + a + 8 * (b + 16 * c);
  room[c][b][a] = x[at];
  __syncthreads();
  y[at] = room[7 - c][15 - b][7 - a] + block;
}
CASE(blocks_and_grids_of_three_dimensions) {
  const Array<int> x(suite::numbers(1024 * 12, 1000)), y(1024 * 12);
  cube_kernel<<<dim3(2, 3, 2), dim3(8, 16, 8)>>>(x, y);
  y.show("y");
}
