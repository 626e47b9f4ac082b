// The usual numerical kernels, with their usual edges.
#include "../suite.cuh"

using suite::Array;

// A histogram private to each block, added up by atomics.
__global__ void histogram_kernel(const unsigned char* x, int n, unsigned* bins) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (own[i]) atomicAdd(&bins[i], own[i]);
}
CASE(histogram_private_to_blocks) {
  const auto raw = suite::numbers(3001, 256);
  const Array<unsigned char> x(std::vector<unsigned char>(raw.begin(), raw.end()));
  const Array<unsigned> bins(256, 0);
  histogram_kernel<<<5, 96>>>(x, 3001, bins);
  bins.show("bins");
}

// Sparse rows, a warp for each; some rows are empty.
__global__ void spmv_kernel(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}
CASE(sparse_rows_a_warp_each) {
  std::vector<int> starts{0};
  suite::Random random{3};
  for (int r = 0; r < 70; ++r) starts.push_back(starts.back() + random.below(90) * (r % 5 != 0));
  const size_t n = starts.back();
  const Array<int> at(starts), columns(suite::numbers(n, 200));
  const Array<float> values(suite::whole<float>(n, 16)), x(suite::whole<float>(200, 16)), y(70);
  spmv_kernel<<<18, 128>>>(at, columns, values, x, y, 70);
  y.show("y");
}

// A five-point stencil with a halo in shared memory, several steps.
__global__ void stencil_kernel(const float* in, float* out, int w, int h) {
  __shared__ float tile[10][34];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const auto at = [&](int a, int b) { return a >= 0 && a < w && b >= 0 && b < h ? in[b * w + a] : 0.0f; };
  tile[ty][tx] = at(x, y);
  if (threadIdx.x == 0) tile[ty][0] = at(x - 1, y);
  if (threadIdx.x == 31) tile[ty][33] = at(x + 1, y);
  if (threadIdx.y == 0) tile[0][tx] = at(x, y - 1);
  if (threadIdx.y == 7) tile[9][tx] = at(x, y + 1);
  __syncthreads();
  if (x < w && y < h) out[y * w + x] = 0.25f * (tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1]);
}
CASE(stencil_with_halo) {
  const Array<float> a(suite::whole<float>(75 * 21, 64)), b(75 * 21);
  for (int step = 0; step < 4; ++step) stencil_kernel<<<dim3(3, 3), dim3(32, 8)>>>(step % 2 ? b : a, step % 2 ? a : b, 75, 21);
  a.show("a");
}

// The game of life on a torus, cells as bytes.
__global__ void life_kernel(const unsigned char* from, unsigned char* to, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int count = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) count += from[(y + dy + h) % h * w + (x + dx + w) % w];
  to[y * w + x] = count == 3 || (count == 2 && from[y * w + x]);
}
CASE(game_of_life) {
  const auto raw = suite::numbers(45 * 37, 2, 77);
  const Array<unsigned char> a(std::vector<unsigned char>(raw.begin(), raw.end())), b(45 * 37);
  for (int step = 0; step < 6; ++step) life_kernel<<<dim3(3, 5), dim3(16, 8)>>>(step % 2 ? b : a, step % 2 ? a : b, 45, 37);
  a.show("a");
}

// Bodies that attract each other, tiles of positions through shared memory. Exact operations in a fixed order.
__global__ void bodies_kernel(const float4* bodies, float* forces, int n) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float force = 0;
  for (int first = 0; first < n; first += 64) {
    if (first + threadIdx.x < n) tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < min(64, n - first); ++k) {
      const float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      const float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1.0f)));
      force = fmaf(tile[k].w, __fdiv_rn(dx, __fmul_rn(square, __fsqrt_rn(square))), force);
    }
    __syncthreads();
  }
  if (i < n) forces[i] = force;
}
CASE(bodies_in_tiles) {
  const Array<float> bodies(suite::whole<float>(4 * 150, 32));
  const Array<float> forces(150);
  bodies_kernel<<<3, 64>>>(reinterpret_cast<const float4*>(bodies.get()), forces, 150);
  forces.show("forces");
}

// A butterfly network over shared memory, as in a transform; integers modulo a prime.
__global__ void butterfly_kernel(const unsigned* x, const unsigned* roots, unsigned* y) {
  constexpr unsigned long long prime = 7681;
  __shared__ unsigned room[256];
  const int i = threadIdx.x;
  room[__brev(i) >> 24] = x[i];
  room[__brev(i + 128) >> 24] = x[i + 128];
  __syncthreads();
  for (int half = 1; half < 256; half *= 2) {
    const int a = i / half * half * 2 + i % half, b = a + half;
    const unsigned long long u = room[a], v = room[b] * static_cast<unsigned long long>(roots[i % half * (128 / half)]) % prime;
    room[a] = (u + v) % prime;
    room[b] = (u + prime - v) % prime;
    __syncthreads();
  }
  y[i] = room[i];
  y[i + 128] = room[i + 128];
}
CASE(butterflies_modulo_a_prime) {
  const auto raw = suite::numbers(256, 7681);
  std::vector<unsigned> roots(128, 1);
  for (int i = 1; i < 128; ++i) roots[i] = roots[i - 1] * 198u % 7681;
  const Array<unsigned> x(std::vector<unsigned>(raw.begin(), raw.end())), table(roots), y(256);
  butterfly_kernel<<<1, 128>>>(x, table, y);
  y.show("y");
}

// Atomics of every type and kind, in shared and in global memory; results that no order changes.
__global__ void atomics_kernel(const int* x, int* words, unsigned long long* wide, float* reals, double* doubles) {
  __shared__ int own[4];
  __shared__ float sum;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) own[0] = 0, own[1] = -1000000, own[2] = 1000000, own[3] = 0, sum = 0;
  __syncthreads();
  atomicAdd(&own[0], x[i]);
  atomicMax(&own[1], x[i]);
  atomicMin(&own[2], x[i]);
  atomicXor(&own[3], x[i] * 7919);
  atomicAdd(&sum, static_cast<float>(x[i]));
  __syncthreads();
  if (threadIdx.x < 4) {
    if (threadIdx.x == 0) atomicAdd(&words[0], own[0]), atomicAdd(&reals[0], sum);
    else if (threadIdx.x == 1) atomicMax(&words[1], own[1]);
    else if (threadIdx.x == 2) atomicMin(&words[2], own[2]);
    else atomicXor(&words[3], own[3]);
  }
  atomicAdd(&wide[0], static_cast<unsigned long long>(x[i]) << 30);
  atomicMax(&wide[1], static_cast<unsigned long long>(x[i]) << 33);
  atomicAdd(&doubles[0], x[i] * 0.5);
  atomicInc(reinterpret_cast<unsigned*>(&words[4]), 99);
  atomicSub(&words[5], 2);
}
CASE(atomics_of_every_type) {
  const Array<int> x(suite::numbers(320, 1000)), words(8, 0);
  const Array<unsigned long long> wide(2, 0);
  const Array<float> reals(1, 0);
  const Array<double> doubles(1, 0);
  atomics_kernel<<<5, 64>>>(x, words, wide, reals, doubles);
  words.show("words");
  wide.show("wide");
  reals.show("reals");
  doubles.show("doubles");
}

// A maximum of floats by compare-and-swap on their bits.
__global__ void maximum_kernel(const float* x, int n, unsigned* most) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned seen = *static_cast<volatile unsigned*>(most);
  while (__uint_as_float(seen) < x[i]) {
    const unsigned before = atomicCAS(most, seen, __float_as_uint(x[i]));
    if (before == seen) break;
    seen = before;
  }
}
CASE(maximum_by_compare_and_swap) {
  const Array<float> x(suite::whole<float>(777, 1000000));
  const Array<unsigned> most(1, 0);
  maximum_kernel<<<7, 128>>>(x, 777, most);
  most.show("most");
}

// Indices of 64 bits, and a grid that strides far.
__global__ void far_kernel(const int* x, long long n, long long stride, long long* y) {
  long long sum = 0;
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < n; i += static_cast<long long>(gridDim.x) * blockDim.x)
    sum += x[i * stride % 1000] + (i * stride >> 31);
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
CASE(indices_of_64_bits) {
  const Array<int> x(suite::numbers(1000, 100));
  const Array<long long> y(96);
  far_kernel<<<3, 32>>>(x, 1000, 1ll << 29, y);
  y.show("y");
}

// A product with tiles, whose sizes fit nothing.
__global__ void product_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int t = 0; t < k; t += 16) {
    left[y][x] = row < m && t + x < k ? a[row * k + t + x] : 0;
    right[y][x] = column < n && t + y < k ? b[(t + y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int s = 0; s < 16; ++s) sum += left[y][s] * right[s][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
CASE(product_of_odd_sizes) {
  const Array<float> a(suite::whole<float>(37 * 29, 16)), b(suite::whole<float>(29 * 43, 16, 2)), c(37 * 43);
  product_kernel<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c, 37, 43, 29);
  c.show("c");
}
