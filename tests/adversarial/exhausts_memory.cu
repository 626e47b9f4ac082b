// kind: host code: exhausting the machine
// tries: map and touch memory without end
// replayed: passed/crashed/contract_violation |
#include <cstring>
#include <cuda_runtime.h>
#include <sys/mman.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int i = 0; i < 4096; ++i) {
        void* memory = mmap(nullptr, 1ull << 32, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) break;
        std::memset(memory, 1, 4096);
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
