// Kernels of known work for benchmarks/gpu_timing.py (rig.py, copying.py).

// c = a + b over `vectors` float4, `passes` times over: its time is that of its bytes. A thread's next pass is far from its last, so that no cache
// holds what it needs.
extern "C" __global__ void work(const float4* a, const float4* b, float4* c, long long vectors, int passes) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const long long step = passes > 1 ? vectors / passes : 0;
  for (int pass = 0; pass < passes; pass++, i = i + step < vectors ? i + step : i + step - vectors) {
    // Volatile: a pass must not be taken for the one before it.
    const float4 x = __ldcg(a + i), y = __ldcg(b + i);
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(c + i), "f"(x.x + y.x), "f"(x.y + y.y), "f"(x.z + y.z), "f"(x.w + y.w) : "memory");
  }
}

extern "C" __global__ void copy(const float4* from, float4* to, long long vectors) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < vectors) to[i] = from[i];
}
