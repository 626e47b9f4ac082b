#include <cuda_runtime.h>

constexpr int THREADS = 128;

// One row per warp; every lane takes a contiguous chunk of it.
__global__ void softmax(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int row = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const int lane = threadIdx.x % 32;
    const int chunk = (cols + 31) / 32;
    const int first = lane * chunk;
    const int last = min(first + chunk, cols);
    const int step = 1;
    const float* source = x + (long)row * cols;
    float* target = out + (long)row * cols;
    float largest = -INFINITY;
    for (int c = first; c < last; c += step) {
        largest = fmaxf(largest, source[c]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    }
    float sum = 0.0f;
    for (int c = first; c < last; c += step) {
        sum += expf(source[c] - largest);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    const float scale = 1.0f / sum;
    for (int c = first; c < last; c += step) {
        target[c] = expf(source[c] - largest) * scale;
    }
}

extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    constexpr int ROWS = THREADS / 32;
    softmax<<<(rows + ROWS - 1) / ROWS, THREADS, 0, stream>>>(x, out, rows, cols);
    return 0;
}
