// kind: work left pending
// tries: launch from a detached thread after `solve` has returned
// replayed: wrong/contract_violation |
#include <chrono>
#include <cuda_runtime.h>
#include <thread>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    }).detach();
    return 0;
}
