// problem: reduction
// technique: cub::DeviceReduce::Sum with the workspace that it asks for
#include <cub/device/device_reduce.cuh>
extern "C" size_t workspace_bytes(long n) {
    size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const float*>(nullptr), static_cast<float*>(nullptr), static_cast<int>(n));
    return bytes;
}
extern "C" int solve(const float* x, float* out, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(workspace, bytes, x, out, n, stream);
}
