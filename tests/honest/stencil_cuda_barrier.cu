// problem: stencil2d
// technique: rows staged by cuda::memcpy_async on a cuda::barrier (libcu++)
// headers: heavy
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_runtime.h>
__global__ void stencil(const float* x, float* out, int rows, int cols, float alpha) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier barrier;
    extern __shared__ float lines[];
    const auto block = cooperative_groups::this_thread_block();
    const int r = blockIdx.x;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    block.sync();
    for (int k = 0; k < 3; ++k) {
        const int row = min(max(r + k - 1, 0), rows - 1);
        cuda::memcpy_async(block, lines + k * cols, x + row * cols, sizeof(float) * cols, barrier);
    }
    barrier.arrive_and_wait();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const float here = lines[cols + c];
        const bool inner = r > 0 && r < rows - 1 && c > 0 && c < cols - 1;
        out[r * cols + c] = inner ? here + alpha * (lines[c] + lines[2 * cols + c] + lines[cols + c - 1] + lines[cols + c + 1] - 4 * here) : here;
    }
}
extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, cudaStream_t stream) {
    stencil<<<rows, 64, 3 * cols * sizeof(float), stream>>>(x, out, rows, cols, alpha);
    return 0;
}
