// problem: reduction
// technique: cub::DeviceScan::InclusiveSum (decoupled look-back) into the workspace; the last element is the sum
// headers: heavy
#include <cub/device/device_scan.cuh>
static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }
extern "C" size_t workspace_bytes(long n) {
    size_t bytes = 0;
    cub::DeviceScan::InclusiveSum(nullptr, bytes, static_cast<const float*>(nullptr), static_cast<float*>(nullptr), static_cast<int>(n));
    return aligned(n * sizeof(float)) + bytes;
}
extern "C" int solve(const float* x, float* out, int n, char* workspace, size_t bytes, cudaStream_t stream) {
    size_t rest = bytes - aligned(n * sizeof(float));
    float* scanned = reinterpret_cast<float*>(workspace);
    if (cudaError_t error = cub::DeviceScan::InclusiveSum(workspace + aligned(n * sizeof(float)), rest, x, scanned, n, stream)) return error;
    return cudaMemcpyAsync(out, scanned + n - 1, sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
