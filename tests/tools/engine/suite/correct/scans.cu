// Scans, sorts, merges and reductions, with all that blocks do to work together.
#include "../suite.cuh"

using suite::Array;

__device__ int warp_scan(int v) {
  for (int step = 1; step < 32; step *= 2) {
    const int from = __shfl_up_sync(0xffffffffu, v, step);
    if (threadIdx.x % 32 >= step) v += from;
  }
  return v;
}
// Inclusive scan of a block of 128.
__device__ int block_scan(int v, int* room) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_scan(v);
  if (lane == 31) room[warp] = v;
  __syncthreads();
  for (int w = 0; w < warp; ++w) v += room[w];
  __syncthreads();
  return v;
}

// One pass over the data: each block publishes its sum, then its prefix, in one 64-bit word, and looks back over those before it.
__global__ void look_back_kernel(const int* x, int* y, int n, unsigned* ticket, unsigned long long* states) {
  __shared__ int room[4], tile, before;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const int at = tile * 128 + threadIdx.x;
  const int sum = block_scan(at < n ? x[at] : 0, room);
  if (threadIdx.x == 127) {
    atomicExch(&states[tile], (tile == 0 ? 2ull : 1ull) << 32 | static_cast<unsigned>(sum));
    int prefix = 0;
    for (int look = tile - 1; look >= 0;) {
      const unsigned long long state = atomicAdd(&states[look], 0ull);
      if (state >> 32 == 0) continue;
      prefix += static_cast<int>(state);
      if (state >> 32 == 2) break;
      --look;
    }
    if (tile > 0) atomicExch(&states[tile], 2ull << 32 | static_cast<unsigned>(prefix + sum));
    before = prefix;
  }
  __syncthreads();
  if (at < n) y[at] = before + sum;
}
CASE(scan_that_looks_back) {
  const auto host = suite::numbers(1500, 100);
  const Array<int> x(host), y(1500);
  const Array<unsigned> ticket(1, 0);
  const Array<unsigned long long> states(12, 0);
  look_back_kernel<<<12, 128>>>(x, y, 1500, ticket, states);
  std::vector<int> wanted;
  int sum = 0;
  for (const int v : host) wanted.push_back(sum += v);
  suite::expect_equal("y", y.host(), wanted);
}

// The last block to finish adds up what the others left, and sets the counter back for the next launch.
__global__ void last_block_kernel(const int* x, int n, int* parts, unsigned* finished, int* y) {
  __shared__ int room[4];
  __shared__ bool last;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = block_scan(sum, room);
  if (threadIdx.x == 127) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const int total = block_scan(threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0, room);
  if (threadIdx.x == 127) *y = total;
}
CASE(last_block_adds_up) {
  const Array<int> x(suite::numbers(5001, 100)), parts(7), y(2);
  const Array<unsigned> finished(1, 0);
  last_block_kernel<<<7, 128>>>(x, 5001, parts, finished, y);
  last_block_kernel<<<5, 128>>>(x, 333, parts, finished, y.get() + 1);
  y.show("y");
}

// Sums of segments that begin where a flag is set.
__global__ void segmented_kernel(const int* x, const int* flags, int* y) {
  const int i = threadIdx.x, lane = i % 32;
  int v = x[i];
  const unsigned heads = __ballot_sync(0xffffffffu, flags[i]) | 1u;
  const int head = 31 - __clz(heads & (0xffffffffu >> (31 - lane)));
  for (int step = 1; step < 32; step *= 2) {
    const int from = __shfl_up_sync(0xffffffffu, v, step);
    if (lane - step >= head) v += from;
  }
  y[i] = v;
}
CASE(segmented_scan) {
  const Array<int> x(suite::numbers(128, 100)), flags(suite::numbers(128, 2, 9)), y(128);
  segmented_kernel<<<1, 128>>>(x, flags, y);
  y.show("y");
}

// One pass of a radix sort: counts of each block and digit, their scan, a stable scatter.
__global__ void count_kernel(const unsigned* keys, int n, int shift, int* counts) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  const int at = blockIdx.x * 128 + threadIdx.x;
  if (at < n) atomicAdd(&bins[keys[at] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}
__global__ void offsets_kernel(int* counts, int n) {
  __shared__ int room[4];
  const int v = threadIdx.x < n ? counts[threadIdx.x] : 0, sum = block_scan(v, room);
  if (threadIdx.x < n) counts[threadIdx.x] = sum - v;
}
__global__ void scatter_kernel(const unsigned* keys, int n, int shift, const int* offsets, unsigned* out) {
  __shared__ int room[4];
  const int at = blockIdx.x * 128 + threadIdx.x;
  const unsigned key = at < n ? keys[at] : 0, digit = at < n ? key >> shift & 15 : 16;
  for (unsigned d = 0; d < 16; ++d) {
    const int rank = block_scan(digit == d, room);
    if (digit == d) out[offsets[d * gridDim.x + blockIdx.x] + rank - 1] = key;
  }
}
CASE(radix_sort) {
  const auto raw = suite::numbers(900, 65536);
  const Array<unsigned> a(std::vector<unsigned>(raw.begin(), raw.end())), b(900);
  const Array<int> counts(128);
  unsigned *from = a, *to = b;
  for (int shift = 0; shift < 16; shift += 4) {
    count_kernel<<<8, 128>>>(from, 900, shift, counts);
    offsets_kernel<<<1, 128>>>(counts, 128);
    scatter_kernel<<<8, 128>>>(from, 900, shift, counts, to);
    unsigned* t = from;
    from = to;
    to = t;
  }
  const auto got = a.host();
  bool sorted = true;
  for (size_t i = 1; i < got.size(); ++i) sorted &= got[i - 1] <= got[i];
  suite::expect("sorted", sorted);
  a.show("keys");
}

// A bitonic sort in shared memory; inner steps that stay within a warp need only __syncwarp.
__global__ void bitonic_kernel(int* x) {
  __shared__ int room[256];
  const int i = threadIdx.x;
  room[i] = x[i];
  __syncthreads();
  for (int size = 2; size <= 256; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      const int other = i ^ step;
      if (other > i && (room[i] > room[other]) == ((i & size) == 0)) {
        const int t = room[i];
        room[i] = room[other];
        room[other] = t;
      }
      if (step >= 32) __syncthreads();
      else __syncwarp();
    }
    __syncthreads();
  }
  x[i] = room[i];
}
CASE(bitonic_sort_with_warp_steps) {
  const Array<int> x(suite::numbers(256, 100000));
  bitonic_kernel<<<1, 256>>>(x);
  x.show("x");
}

// Merge path: every thread finds its diagonal by bisection and merges its part alone.
__global__ void merge_kernel(const int* a, int m, const int* b, int n, int* out, int each) {
  const int diagonal = min((blockIdx.x * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * each, m + n);
  int low = max(0, diagonal - n), high = min(diagonal, m);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = diagonal - low;
  for (int k = diagonal; k < min(diagonal + each, m + n); ++k) out[k] = j >= n || (i < m && a[i] <= b[j]) ? a[i++] : b[j++];
}
CASE(merge_path) {
  std::vector<int> a, b;
  suite::Random random{5};
  for (int i = 0, v = 0; i < 301; ++i) a.push_back(v += random.below(7));
  for (int i = 0, v = 0; i < 212; ++i) b.push_back(v += random.below(9));
  const Array<int> left(a), right(b), out(513);
  merge_kernel<<<3, 64>>>(left, 301, right, 212, out, 3);
  out.show("out");
}

// Sums over lengths that fit nothing, zero among them.
__global__ void odd_sums_kernel(const int* x, const int* lengths, int* y) {
  __shared__ int room[128];
  const int i = threadIdx.x, n = lengths[blockIdx.x];
  int sum = 0;
  for (int k = i; k < n; k += 128) sum += x[k];
  room[i] = sum;
  __syncthreads();
  for (int half = 64; half >= 32; half /= 2) {
    if (i < half) room[i] += room[i + half];
    __syncthreads();
  }
  if (i < 32) {
    sum = room[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (i == 0) y[blockIdx.x] = sum;
  }
}
CASE(sums_of_odd_lengths) {
  const Array<int> x(suite::numbers(1000, 100)), lengths(std::vector<int>{0, 1, 31, 32, 33, 127, 128, 129, 999, 1000}), y(10);
  odd_sums_kernel<<<10, 128>>>(x, lengths, y);
  y.show("y");
}
