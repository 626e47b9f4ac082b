// The executor's own device kernels. Built for the device's architecture and loaded by `kernels PATH`.

extern "C" __global__ void empty() {}

// Uniform f32 in [-1, 1) from a hash of index and seed.
extern "C" __global__ void random_values(float* to, long long elements, unsigned seed) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < elements; i += (long long)gridDim.x * blockDim.x) {
    unsigned x = (unsigned)i * 2654435761u + (unsigned)(i >> 32) * 40503u + seed;
    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; x ^= x >> 16;
    to[i] = (float)(int)(x >> 8) * (1.0f / 8388608.0f) - 1.0f;
  }
}

// Holds the stream until the host writes the ticket; gives up after `nanoseconds` and counts that.
extern "C" __global__ void gate(volatile unsigned* flag, unsigned ticket, long long nanoseconds) {
  unsigned long long started, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(started));
  while ((int)(flag[0] - ticket) < 0) {
    __nanosleep(200);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - started > (unsigned long long)nanoseconds) { flag[1] = flag[1] + 1; break; }
  }
}

// Reads through the L2 (not the L1): what was there before is evicted, and no dirty line is left behind.
extern "C" __global__ void flush_data(const float4* from, long long vectors, int passes, float* sink) {
  float sum = 0;
  for (int pass = 0; pass < passes; pass++)
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < vectors; i += (long long)gridDim.x * blockDim.x) {
      float4 v = __ldcg(from + i);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 12345.678f) *sink = sum;
}

// The clock that kernels can read, which is not the one behind events. In a stream it stands between what is before and what is after.
extern "C" __global__ void stamp(unsigned long long* to) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  *to = now;
}

extern "C" __global__ void burn(float* sink, int rounds) {
  float a = threadIdx.x, b = 1.0001f, c = 0.5f, d = a + 1;
  for (int i = 0; i < rounds; i++) { a = a * b + c; d = d * b + c; }
  if (a + d == 12345.678f) *sink = a;
}

// 16384 instructions of 16 bytes without a loop: 256 KiB of code, twice an SM's 128 KiB instruction cache.
#define TWO "fma.rn.f32 %0, %0, %2, %1;\n\tfma.rn.f32 %1, %1, %2, %0;\n\t"
#define EIGHT TWO TWO TWO TWO
#define SIXTY_FOUR EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT
#define STRETCH asm volatile(SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR : "+f"(a), "+f"(b) : "f"(c));
#define SIXTEEN STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH STRETCH
extern "C" __global__ void flush_code(float* sink) {
  float a = threadIdx.x, b = a + 1, c = 0.25f;
  SIXTEEN SIXTEEN SIXTEEN SIXTEEN
  if (a == 12345.678f) *sink = a + b;
}
