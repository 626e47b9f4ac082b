// problem: reduction
// technique: a small table of offsets made on the host in each call and uploaded, each block sums its range
#include <array>
#include <cuda_runtime.h>
__global__ void sum(const float* x, const int* ranges, float* out) {
    float value = 0;
    for (int i = ranges[blockIdx.x] + threadIdx.x; i < ranges[blockIdx.x + 1]; i += 64) value += x[i];
    for (int d = 16; d; d /= 2) value += __shfl_xor_sync(~0u, value, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}
extern "C" size_t workspace_bytes(long) { return 17 * sizeof(int); }
extern "C" int solve(const float* x, float* out, int n, int* workspace, size_t, cudaStream_t stream) {
    std::array<int, 17> ranges;
    for (int i = 0; i <= 16; ++i) ranges[i] = static_cast<int>(static_cast<long>(n) * i / 16);
    cudaMemcpyAsync(workspace, ranges.data(), sizeof(ranges), cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(out, 0, sizeof(float), stream);
    sum<<<16, 64, 0, stream>>>(x, workspace, out);
    return 0;
}
