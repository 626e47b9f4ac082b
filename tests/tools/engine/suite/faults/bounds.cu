// Global memory outside every allocation: before, behind, far away, by plain, vector, atomic and asynchronous accesses.
#include <cuda_pipeline.h>

#include "pair.cuh"

// `<=` for `<`: one thread writes just past the end.
template <bool right>
__global__ void guard(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (right ? i < n : i <= n) x[i] = 1;  // FAULT past_the_end memcheck invalid_global_write
}
PAIR(past_the_end) {
  guard<right><<<1, 128>>>(zeros<float>(100), 100);
  settle();
}

// The left neighbour of the first element.
template <bool right>
__global__ void left_neighbour(const int* x, int* y) {
  const int i = threadIdx.x;
  y[i] = x[right && i == 0 ? 0 : i - 1];  // FAULT before_the_start memcheck invalid_global_read
}
PAIR(before_the_start) {
  left_neighbour<right><<<1, 64>>>(zeros<int>(64), zeros<int>(64));
  settle();
}

// A row index from a damaged table: an address far from everything.
template <bool right>
__global__ void gather(const double* x, const long long* index, double* y) {
  const int i = threadIdx.x;
  y[i] = x[index[i]];  // FAULT far_away memcheck invalid_global_read
}
PAIR(far_away) {
  long long* index = zeros<long long>(32);
  const long long wild = right ? 31 : 1ll << 40;
  cudaMemcpy(index + 7, &wild, sizeof wild, cudaMemcpyHostToDevice);
  gather<right><<<1, 32>>>(zeros<double>(32), index, zeros<double>(32));
  settle();
}

// The last float4 of an array whose length is no multiple of four.
template <bool right>
__global__ void by_four(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (right ? 4 * i + 3 < n : 4 * i < n) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];  // FAULT ragged_vector memcheck invalid_global_read
    y[i] = v.x + v.y + v.z + v.w;
  }
}
PAIR(ragged_vector) {
  by_four<right><<<1, 32>>>(zeros<float>(30), zeros<float>(32), 30);
  settle();
}

// A histogram without a check of the value.
template <bool right>
__global__ void count(const unsigned char* bytes, unsigned* bins) {
  const unsigned char b = bytes[threadIdx.x];
  if (!right || b < 64) atomicAdd(&bins[b], 1u);  // FAULT bin_out_of_range memcheck invalid_global_atomic
}
PAIR(bin_out_of_range) {
  unsigned char* bytes = zeros<unsigned char>(128);
  cudaMemset(bytes + 100, 200, 1);
  count<right><<<1, 128>>>(bytes, zeros<unsigned>(64));
  settle();
}

// An atomic whose result is used, on a slot that a counter hands out without looking at the capacity.
template <bool right>
__global__ void append(int* count, unsigned long long* list, int capacity) {
  const int at = atomicAdd(count, 1);
  if (!right || at < capacity) atomicMax(&list[at], static_cast<unsigned long long>(threadIdx.x));  // FAULT full_list memcheck invalid_global_atomic
}
PAIR(full_list) {
  append<right><<<1, 64>>>(zeros<int>(1), zeros<unsigned long long>(40), 40);
  settle();
}

// A null pointer, and a member behind one.
struct Node {
  int pad[10];
  int value;
};
template <bool right>
__global__ void member(const Node* node, int* y) {
  if (!right || node) y[threadIdx.x] = node->value;  // FAULT null_member memcheck invalid_global_read
}
PAIR(null_member) {
  member<right><<<1, 32>>>(nullptr, zeros<int>(32));
  settle();
}

// The address of a host variable.
__global__ void increment(int* x) { x[threadIdx.x] += 1; }
template <bool right>
__global__ void store_through(int* x) {
  x[threadIdx.x] = 1;  // FAULT host_pointer memcheck invalid_global_write
}
PAIR(host_pointer) {
  static int on_host[32];
  store_through<right><<<1, 32>>>(right ? zeros<int>(32) : on_host);
  settle();
}

// An index of 32 bits in a matrix of more than 2^31 elements.
template <bool right>
__global__ void last_row(unsigned char* x, int rows, int columns) {
  const int row = rows - 1, column = threadIdx.x;
  if (right) x[static_cast<size_t>(row) * columns + column] = 1;
  else x[row * columns + column] = 1;  // FAULT index_overflow memcheck invalid_global_write
}
PAIR(index_overflow) {
  unsigned char* x = nullptr;
  const int rows = 50000, columns = 50000;
  cudaMalloc(&x, static_cast<size_t>(rows) * columns);
  last_row<right><<<1, 64>>>(x, rows, columns);
  settle();
}

// Subtraction of unsigned sizes that wraps around.
template <bool right>
__global__ void window(const float* x, float* y, unsigned radius) {
  const unsigned i = threadIdx.x;
  const unsigned from = right && i < radius ? 0 : i - radius;
  y[i] = x[from];  // FAULT unsigned_wrap memcheck invalid_global_read
}
PAIR(unsigned_wrap) {
  window<right><<<1, 64>>>(zeros<float>(64), zeros<float>(64), 3);
  settle();
}

// A pointer that steps past the end in a loop with too many rounds.
template <bool right>
__global__ void strided(const int* x, int* y, int n) {
  int sum = 0;
  for (int i = threadIdx.x; i < (right ? n : n + 32); i += 32)
    sum += x[i];  // FAULT loop_too_long memcheck invalid_global_read
  y[threadIdx.x] = sum;
}
PAIR(loop_too_long) {
  strided<right><<<1, 32>>>(zeros<int>(256), zeros<int>(32), 256);
  settle();
}

// Rows of a pitched allocation taken with the width in place of the pitch is fine memory, but the last row with a doubled pitch is not.
template <bool right>
__global__ void pitched(char* base, size_t pitch, int rows) {
  reinterpret_cast<float*>(base + (right ? 1 : 2) * pitch * (rows - 1))[threadIdx.x] = 1;  // FAULT wrong_pitch memcheck invalid_global_write
}
PAIR(wrong_pitch) {
  char* base = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&base, &pitch, 32 * sizeof(float), 8);
  pitched<right><<<1, 32>>>(base, pitch, 8);
  settle();
}

// The source of an asynchronous copy runs past the end.
template <bool right>
__global__ void copy_in(const float* x, float* y) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  if (!right || i < 12) __pipeline_memcpy_async(&tile[4 * i], &x[4 * i], 16);  // FAULT async_source memcheck invalid_global_read
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i < 12) y[i] = tile[4 * i];
}
PAIR(async_source) {
  copy_in<right><<<1, 16>>>(zeros<float>(48), zeros<float>(16));
  settle();
}

// Two-dimensional blocks: the guard tests only one of the two coordinates.
template <bool right>
__global__ void transpose(const float* x, float* y, int w, int h) {
  const int cx = blockIdx.x * blockDim.x + threadIdx.x, cy = blockIdx.y * blockDim.y + threadIdx.y;
  if (cx < w && (!right || cy < h)) y[cx * h + cy] = x[cy * w + cx];  // FAULT half_a_guard memcheck invalid_global_read // FAULT-OR half_a_guard memcheck invalid_global_write // FAULT-OR half_a_guard racecheck global_race_waw
}
PAIR(half_a_guard) {
  transpose<right><<<dim3(2, 2), dim3(16, 16)>>>(zeros<float>(32 * 20), zeros<float>(32 * 20), 32, 20);
  settle();
}

// A small access that straddles the end: eight bytes where four are left, aligned.
template <bool right>
__global__ void straddle(const char* x, long long* y) {
  y[0] = *reinterpret_cast<const long long*>(x + (right ? 88 : 96));  // FAULT straddles_the_end memcheck invalid_global_read
}
PAIR(straddles_the_end) {
  straddle<right><<<1, 1>>>(zeros<char>(100), zeros<long long>(1));
  settle();
}
