// How memory is laid out: neighbours, unions, padding, carving, transposition in place.
#include <cuda_fp16.h>

#include "../suite.cuh"

using suite::Array;

// Bytes side by side, each by a thread of its own, in shared and in global memory.
__global__ void bytes_kernel(unsigned char* y) {
  __shared__ unsigned char room[128];
  const int i = threadIdx.x;
  room[i] = i * 7;
  __syncthreads();
  y[i] = room[127 - i];
  y[i + 128] = room[i ^ 1];
}
CASE(neighbouring_bytes) {
  const Array<unsigned char> y(256);
  bytes_kernel<<<1, 128>>>(y);
  y.show("y");
}

// Half of a word by one thread, the other half by a thread of another block.
__global__ void halves_kernel(short* y, int n) {
  for (int i = threadIdx.x * 2 + blockIdx.x; i < n; i += blockDim.x * 2) y[i] = i * 3 - blockIdx.x;
}
CASE(halves_of_words_by_two_blocks) {
  const Array<short> y(333);
  halves_kernel<<<2, 64>>>(y, 333);
  y.show("y");
}

// Bits of one word by many threads, through atomics.
__global__ void bits_kernel(const int* x, unsigned* bits, unsigned* cleared) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] % 3 == 0) atomicOr(&bits[i / 32], 1u << i % 32);
  else atomicAnd(&cleared[i / 32], ~(1u << i % 32));
  atomicXor(&bits[i / 32 + 8], x[i] * 2654435761u);
}
CASE(bits_of_a_word_by_atomics) {
  const Array<int> x(suite::numbers(256, 100));
  const Array<unsigned> bits(16, 0), cleared(8, 255);
  bits_kernel<<<2, 128>>>(x, bits, cleared);
  bits.show("bits");
  cleared.show("cleared");
}

// A matrix transposed in place, tiles in pairs, through padded shared memory.
__global__ void transpose_kernel(float* a, int n) {
  __shared__ float left[16][17], right[16][17];
  if (blockIdx.x > blockIdx.y) return;
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16, column = blockIdx.x * 16;
  left[y][x] = a[(row + y) * n + column + x];
  right[y][x] = a[(column + y) * n + row + x];
  __syncthreads();
  a[(row + y) * n + column + x] = right[x][y];
  if (blockIdx.x != blockIdx.y) a[(column + y) * n + row + x] = left[x][y];
}
CASE(transpose_in_place) {
  const Array<float> a(suite::whole<float>(64 * 64, 4096));
  transpose_kernel<<<dim3(4, 4), dim3(16, 16)>>>(a, 64);
  a.show("a");
}

// Rows shifted by their number instead of padding.
__global__ void swizzle_kernel(const int* x, int* y) {
  __shared__ int room[32 * 32];
  const int a = threadIdx.x, b = threadIdx.y;
  for (int r = b; r < 32; r += 8) room[r * 32 + (a ^ r)] = x[r * 32 + a];
  __syncthreads();
  for (int r = b; r < 32; r += 8) y[r * 32 + a] = room[a * 32 + (r ^ a)];
}
CASE(transpose_with_swizzled_rows) {
  const Array<int> x(suite::numbers(1024, 100000)), y(1024);
  swizzle_kernel<<<1, dim3(32, 8)>>>(x, y);
  y.show("y");
}

// One piece of shared memory, seen as floats, then as integers, then as bytes.
union Views {
  float reals[64];
  unsigned words[64];
  unsigned char bytes[256];
};
__global__ void union_kernel(const float* x, unsigned* y) {
  __shared__ Views room;
  const int i = threadIdx.x;
  room.reals[i] = x[i] + 0.5f;
  __syncthreads();
  const unsigned word = room.words[63 - i];
  __syncthreads();
  for (int k = 0; k < 4; ++k) room.bytes[k * 64 + i] = word >> (8 * k);
  __syncthreads();
  y[i] = room.words[i] ^ __float_as_uint(room.reals[i ^ 1]);
}
CASE(union_of_three_types) {
  const Array<float> x(suite::whole<float>(64, 1000));
  const Array<unsigned> y(64);
  union_kernel<<<1, 64>>>(x, y);
  y.show("y");
}

// Several arrays carved out of dynamic shared memory, with what alignment each needs.
extern __shared__ __align__(16) unsigned char dynamic[];
__global__ void carved_kernel(const int* x, double* y, int n) {
  auto* reals = reinterpret_cast<double*>(dynamic);
  auto* words = reinterpret_cast<int*>(reals + n);
  auto* halves = reinterpret_cast<short*>(words + n);
  auto* bytes = reinterpret_cast<char*>(halves + n);
  const int i = threadIdx.x;
  reals[i] = x[i] * 0.25;
  words[i] = x[i] * 3;
  halves[i] = x[i];
  bytes[i] = x[i] % 100;
  __syncthreads();
  const int k = n - 1 - i;
  y[i] = reals[k] + words[k] + halves[k] + bytes[k];
}
CASE(dynamic_memory_carved_up) {
  const Array<int> x(suite::numbers(65, 1000));
  const Array<double> y(65);
  carved_kernel<<<1, 65, 65 * 15>>>(x, y, 65);
  y.show("y");
}

// More shared memory than 48 KB, after asking for it.
__global__ void large_kernel(int* y, int n) {
  auto* words = reinterpret_cast<int*>(dynamic);
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = i * 3;
  __syncthreads();
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += words[n - 1 - i] ^ i;
  y[threadIdx.x] = sum;
}
CASE(shared_memory_beyond_48_kilobytes) {
  const Array<int> y(128);
  cudaFuncSetAttribute(large_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 80 << 10);
  large_kernel<<<1, 128, 80 << 10>>>(y, 20 << 10);
  y.show("y");
}

// Vectors at offsets that look odd but are aligned, and a head and tail by elements.
__global__ void vectors_kernel(const float* x, float* y, int first, int n) {
  const int head = (4 - first % 4) % 4, body = (n - head) / 4;
  const float* from = x + first;
  float* to = y + first;
  const int i = threadIdx.x;
  if (i < head) to[i] = from[i] * 2;
  if (i < body) {
    float4 v = *reinterpret_cast<const float4*>(from + head + 4 * i);
    v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
    *reinterpret_cast<float4*>(to + head + 4 * i) = v;
  }
  const int tail = head + 4 * body + i;
  if (tail < n) to[tail] = from[tail] * 2;
}
CASE(vectors_with_head_and_tail) {
  const Array<float> x(suite::whole<float>(256, 1000)), y(256, 0);
  vectors_kernel<<<1, 64>>>(x, y, 7, 201);
  y.show("y");
}

// Structures with padding are copied whole; the padding was never written and is never used.
struct Padded {
  char tag;
  double value;
  short more;
};
__global__ void make_kernel(Padded* p) {
  const int i = threadIdx.x;
  p[i].tag = i;
  p[i].value = i * 0.5;
  p[i].more = i * 3;
}
__global__ void copy_kernel(const Padded* from, Padded* to) { to[threadIdx.x] = from[63 - threadIdx.x]; }
__global__ void use_kernel(const Padded* p, double* y) { y[threadIdx.x] = p[threadIdx.x].tag + p[threadIdx.x].value + p[threadIdx.x].more; }
CASE(structures_with_padding) {
  const Array<Padded> a(64), b(64);
  const Array<double> y(64);
  make_kernel<<<1, 64>>>(a);
  copy_kernel<<<1, 64>>>(a, b);
  use_kernel<<<1, 64>>>(b, y);
  y.show("y");
}

// Part of a structure is filled and the whole copied as words between spaces.
struct Record {
  int count;
  int values[7];
};
__global__ void record_kernel(const int* x, Record* out) {
  __shared__ Record room[32];
  const int i = threadIdx.x;
  room[i].count = x[i] % 7;
  for (int k = 0; k < 7; ++k) room[i].values[k] = k < room[i].count ? x[i] + k : 0;
  __syncwarp();
  auto* to = reinterpret_cast<int4*>(out);
  const auto* from = reinterpret_cast<const int4*>(room);
  for (int k = i; k < static_cast<int>(sizeof room / sizeof(int4)); k += 32) to[k] = from[k];
}
CASE(records_copied_as_vectors) {
  const Array<int> x(suite::numbers(32, 1000));
  const Array<Record> out(32);
  record_kernel<<<1, 32>>>(x, out);
  out.show("out");
}

// A window that slides over shared memory used as a ring.
__global__ void ring_kernel(const int* x, int* y, int n) {
  __shared__ int ring[64];
  const int i = threadIdx.x;
  ring[i] = x[i];
  __syncthreads();
  for (int at = 0; at + 64 <= n; at += 32) {
    const int sum = ring[(at + i) % 64] + ring[(at + i + 31) % 64];
    if (i < 32) y[at + i] = sum;
    __syncthreads();
    if (i < 32 && at + 64 + i < n) ring[at % 64 + i] = x[at + 64 + i];
    __syncthreads();
  }
}
CASE(ring_in_shared_memory) {
  const Array<int> x(suite::numbers(256, 1000)), y(224);
  ring_kernel<<<1, 64>>>(x, y, 256);
  y.show("y");
}
