#include <cuda_runtime.h>

constexpr int THREADS = 128;

// One row per warp; every lane takes a contiguous chunk of it.
__global__ void byte_sums(const unsigned char* __restrict__ x, int* __restrict__ out, int rows, int cols) {
    const int row = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const int lane = threadIdx.x % 32;
    const int chunk = (cols + 31) / 32;
    const int first = lane * chunk;
    const int last = min(first + chunk, cols);
    const int step = 1;
    const unsigned char* source = x + (long)row * cols;
    int sum = 0;
    for (int c = first; c < last; c += step) {
        sum += source[c];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
        out[row] = sum;
    }
}

extern "C" int solve(const unsigned char* x, int* out, int rows, int cols, cudaStream_t stream) {
    constexpr int ROWS = THREADS / 32;
    byte_sums<<<(rows + ROWS - 1) / ROWS, THREADS, 0, stream>>>(x, out, rows, cols);
    return 0;
}
