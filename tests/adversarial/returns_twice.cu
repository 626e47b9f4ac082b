// kind: host code: threads that outlive solve
// tries: fork in `solve`, and let both processes return, with different work
// replayed: passed/wrong/contract_violation/crashed |
// because: two processes remove, write and overwrite one trace; the verdict is about the one that is there at the end, half of one, or none
#include <cuda_runtime.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (fork() != 0) add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
