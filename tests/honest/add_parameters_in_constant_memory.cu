// problem: vector_add
// technique: parameters uploaded to __constant__ memory in each call, ordered on the stream
#include <cuda_runtime.h>
struct Parameters { const float* a; const float* b; float* out; int n; };
__constant__ Parameters parameters;
__global__ void add() {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < parameters.n) parameters.out[i] = parameters.a[i] + parameters.b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const Parameters here{a, b, out, n};
    if (cudaMemcpyToSymbolAsync(parameters, &here, sizeof(here), 0, cudaMemcpyHostToDevice, stream)) return 1;
    add<<<(n + 255) / 256, 256, 0, stream>>>();
    return 0;
}
