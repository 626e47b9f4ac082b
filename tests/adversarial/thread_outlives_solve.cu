// kind: host code: threads that outlive solve
// tries: leaves a thread behind
// replayed: passed |
#include <cuda_runtime.h>
#include <chrono>
#include <thread>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static bool started = false;
    if (!started) std::thread([] { for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(1)); }).detach();
    started = true;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
