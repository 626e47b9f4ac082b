// problem: vector_add
// technique: host C++: vectors, an exception that is caught, call_once, thread_local, a static initialiser, a thread that is joined
#include <cuda_runtime.h>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
struct Tuning { int block; Tuning() : block(64) { block *= 2; } };
static Tuning tuning;
static std::once_flag once;
static thread_local int calls;
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    std::call_once(once, [] { tuning.block = 160; });
    ++calls;
    int block = 0;
    try {
        if (n > 0) throw std::runtime_error(std::to_string(tuning.block));
    } catch (const std::exception& error) {
        block = std::stoi(error.what());
    }
    std::vector<int> chunks(3, n / 3);
    chunks.back() = n - std::accumulate(chunks.begin(), chunks.end() - 1, 0);
    long checked = 0;
    std::thread worker([&] { checked = std::accumulate(chunks.begin(), chunks.end(), 0L); });
    worker.join();
    if (checked != n) return 1;
    int first = 0;
    for (const int count : chunks) {
        if (count) add<<<(count + block - 1) / block, block, 0, stream>>>(a + first, b + first, out + first, count);
        first += count;
    }
    return 0;
}
